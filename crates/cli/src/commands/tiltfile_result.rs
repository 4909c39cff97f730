//! `lilt alpha tiltfile-result`: prints only JSON on stdout, for other programs.

use std::mem::ManuallyDrop;
use std::process::ExitCode;
use std::time::Duration;

use lilt_daemon::{CommandEnvironment, HostSystem};
use lilt_host::clock;
use lilt_host::process::Guardian;
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use lilt_model::{Failure, duration};
use lilt_tiltfile::{BuiltinCall, LoadMessage, LoadRequest, Loaded};
use tokio_util::sync::CancellationToken;

use crate::arguments::{Project, TiltfileResult};
use crate::diagnostics::Verbosity;
use crate::session;
use crate::signals::Signals;

/// The exit code for an error of the Tiltfile itself.
const TILTFILE_ERROR: u8 = 5;
/// How long an interrupted evaluation may take to stop its commands.
const STOP_TIMEOUT: Duration = Duration::from_millis(1500);

pub(crate) async fn run(command: TiltfileResult, verbosity: Verbosity) -> anyhow::Result<ExitCode> {
    let cancel = CancellationToken::new();
    let _signals = Signals::cancel(cancel.clone())?;
    let started = clock::now();
    // Files for the commands of the Tiltfile, deleted at the end.
    let folder = SessionDir::create()?;
    let (request, system) = prepare(command.project, command.builtin_timings, &folder)?;
    let interrupted = cancel.clone();
    let shown = verbosity.verbose || verbosity.debug;
    let load = move || evaluate(&request, &system, &interrupted, shown);
    let evaluation = tokio::task::spawn_blocking(load);
    // A stuck evaluation must not delay the exit.
    let stuck = async {
        cancel.cancelled().await;
        tokio::time::sleep(STOP_TIMEOUT).await;
    };
    let ended = tokio::select! {
        ended = evaluation => Some(ended?),
        () = stuck => None,
    };
    let Some((loaded, unseen)) = ended.filter(|_| !cancel.is_cancelled()) else {
        return Err(Failure::user("interrupted before the Tiltfile was done").into());
    };
    // Not dropped: the process ends, and deallocation would delay the reader.
    let loaded = ManuallyDrop::new(loaded);
    match lilt_tiltfile::tiltfile_result(&loaded, started) {
        Ok(_) if command.builtin_timings => {
            let took = clock::now().since(started);
            print_timings(&loaded.calls, command.dur_threshold, took)?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(result) => {
            terminal::json(&result)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => {
            // Its output may explain the error.
            unseen.iter().for_each(|line| terminal::aside(line));
            terminal::aside(&failure.to_string());
            Ok(ExitCode::from(TILTFILE_ERROR))
        }
    }
}

fn prepare(
    project: Project,
    with_timings: bool,
    folder: &SessionDir,
) -> anyhow::Result<(LoadRequest, HostSystem)> {
    let project = project.absolute()?;
    let CommandEnvironment { variables, programs, kubeconfig } =
        session::environment_without_session(&project, folder)?;
    let request = LoadRequest {
        path: project.tiltfile,
        args: project.args,
        subcommand: "alpha tiltfile-result".to_owned(),
        variables,
        programs,
        with_timings,
        ..LoadRequest::default()
    };
    let system = HostSystem::new(Guardian::of_this_program()?, kubeconfig);
    Ok((request, system))
}

fn print_timings(calls: &[BuiltinCall], threshold: Duration, took: Duration) -> anyhow::Result<()> {
    if calls.is_empty() {
        anyhow::bail!("executed Tiltfile, but recorded no Builtin calls");
    }
    for call in calls.iter().filter(|call| call.took >= threshold) {
        let arguments = on_one_line(&call.arguments);
        terminal::line(&format!("- {}{arguments} took {}", call.name, duration::display(call.took)));
    }
    terminal::line(&format!("Tiltfile execution took {}", duration::display(took)));
    Ok(())
}

/// Shortens arguments to one line: one may be the YAML of a whole chart.
fn on_one_line(arguments: &str) -> String {
    const LONGEST: usize = 120;
    let begin: String = arguments.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    if begin.len() == arguments.len() { begin } else { begin + "…)" }
}

/// Returns the result and the lines that were not printed.
fn evaluate(
    request: &LoadRequest,
    system: &HostSystem,
    cancel: &CancellationToken,
    verbose: bool,
) -> (Loaded, Vec<String>) {
    let started = clock::now();
    let mut unseen = Vec::new();
    let mut print = |message: LoadMessage<'_>| {
        // Progress explains what an interactive user waits for.
        if verbose || matches!(message, LoadMessage::Progress(_)) {
            terminal::aside(&message.to_string());
        } else {
            unseen.push(message.to_string());
        }
    };
    let loaded = lilt_tiltfile::load(request, system, &|| cancel.is_cancelled(), &mut print);
    if loaded.project.is_ok() {
        let took = duration::display(clock::now().since(started));
        print(LoadMessage::Line(&format!("Successfully loaded Tiltfile ({took})")));
    }
    (loaded, unseen)
}
