//! Commands whose output is wanted.

use std::time::Duration;

use lilt_host::process::{Daemons, Exit, Process, Stream};
use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_store::Span;
use tokio::sync::mpsc;

use super::local;
use crate::context::Context;

/// Runs a command to its end and gives what it printed; only its errors go to the log. One that takes longer is ended:
/// none. While it runs it is in `running`, so that it can be ended after the work was given up.
pub(crate) async fn run(
    context: &Context,
    command: &Command,
    mut errors: Span,
    limit: Duration,
    running: &mut Option<Process>,
) -> Result<(Option<Exit>, Vec<u8>), Failure> {
    // Unbounded: all of it is wanted, and it is read when the command has ended.
    let (sender, mut written) = mpsc::unbounded_channel();
    let launch = local::launch(context, command);
    let process =
        Process::spawn_with_streams(&context.edges.guardian, &launch, move |stream, bytes| match stream {
            Stream::Errors => errors.write(bytes),
            // The receiver lives as long as the process is waited for.
            Stream::Output => drop(sender.send(bytes.to_vec())),
        });
    let process = process.await?;
    let ended = tokio::time::timeout(limit, running.insert(process).wait()).await.ok();
    if ended.is_none() {
        stop(context, running).await;
    }
    *running = None;
    let mut output = Vec::new();
    while let Ok(bytes) = written.try_recv() {
        output.extend(bytes);
    }
    Ok((ended, output))
}

/// Ends the command that runs, if one does.
pub(crate) async fn stop(context: &Context, running: &mut Option<Process>) {
    if let Some(mut process) = running.take() {
        context.stop_process(&mut process, Daemons::Leave).await;
    }
}
