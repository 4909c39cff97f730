//! Runs commands and captures their output.

use std::time::Duration;

use lilt_host::process::{Daemons, Exit, Process, Stream};
use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_store::Span;
use tokio::sync::mpsc;

use super::local;
use crate::context::Context;

/// Runs a command to its end and returns its stdout; stderr goes to the log.
///
/// A command that exceeds the limit is ended, and has no exit status. While it runs it is in `running`, so that it can be
/// ended after this future was dropped.
pub(crate) async fn run(
    context: &Context,
    command: &Command,
    mut errors: Span,
    limit: Duration,
    running: &mut Option<Process>,
) -> Result<(Option<Exit>, Vec<u8>), Failure> {
    // Unbounded: all output is needed, and it is read when the command has exited.
    let (sender, mut written) = mpsc::unbounded_channel();
    let launch = local::launch(context, command);
    let process =
        Process::spawn_with_streams(&context.guardian, &launch, move |stream, bytes| match stream {
            Stream::Errors => errors.write(bytes),
            // The receiver lives until the process has exited.
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

/// Ends the running command, if there is one.
pub(crate) async fn stop(context: &Context, running: &mut Option<Process>) {
    if let Some(mut process) = running.take() {
        context.stop_process(&mut process, Daemons::Leave).await;
    }
}
