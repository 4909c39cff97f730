//! `lilt alpha tiltfile-result`: only JSON goes to stdout, so that it can be read by other programs.

use std::process::ExitCode;

use lilt_model::Failure;
use lilt_tiltfile::{LoadRequest, Loaded, RealOutside, Said};
use tokio_util::sync::CancellationToken;

use crate::arguments::TiltfileResult;
use crate::diagnostics::Verbosity;
use crate::signals::Signals;
use crate::{session, terminal};

/// The Tiltfile is wrong, and not something around it.
const TILTFILE_ERROR: u8 = 5;

pub(crate) async fn run(command: TiltfileResult, verbosity: Verbosity) -> anyhow::Result<ExitCode> {
    let cancel = CancellationToken::new();
    let _signals = Signals::cancel(cancel.clone())?;
    let started = lilt_host::clock::now();
    let project = command.project;
    let request = LoadRequest {
        path: session::absolute(project.file)?,
        args: project.args,
        subcommand: "alpha tiltfile-result".to_owned(),
        ..LoadRequest::default()
    };
    let outside = RealOutside { starter: None, context: project.context, namespace: project.namespace };
    let interrupted = cancel.clone();
    let shown = verbosity.verbose || verbosity.debug;
    let load = move || evaluate(&request, &outside, &interrupted, shown);
    let (loaded, unseen) = tokio::task::spawn_blocking(load).await?;
    if cancel.is_cancelled() {
        return Err(Failure::user("interrupted before the Tiltfile was done").into());
    }
    match lilt_tiltfile::tiltfile_result(&loaded, started) {
        Ok(result) => {
            terminal::line(&serde_json::to_string_pretty(&result)?);
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => {
            // What it printed on its way may tell why.
            unseen.iter().for_each(|line| terminal::aside(line));
            terminal::aside(&failure.to_string());
            Ok(ExitCode::from(TILTFILE_ERROR))
        }
    }
}

/// Also the lines that were not shown.
fn evaluate(
    request: &LoadRequest,
    outside: &RealOutside,
    cancel: &CancellationToken,
    verbose: bool,
) -> (Loaded, Vec<String>) {
    let mut unseen = Vec::new();
    let mut print = |said: Said<'_>| {
        if verbose {
            terminal::aside(&said.to_string());
        } else {
            unseen.push(said.to_string());
        }
    };
    let loaded = lilt_tiltfile::load(request, outside, &|| cancel.is_cancelled(), &mut print);
    (loaded, unseen)
}
