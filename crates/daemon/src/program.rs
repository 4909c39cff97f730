//! Runs programs that lilt itself needs, such as `ctr` and `minikube`, and captures their output.

use bytes::Bytes;
use lilt_host::process::{Exit, Guardian, Launch, Process, Stream};
use lilt_model::Failure;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

/// How a program exited, and what it wrote to stdout and stderr.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) exit: Exit,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Runs a program to its end. Its stdin is fed from the channel. Dropping the future kills it.
pub(crate) async fn run(
    guardian: &Guardian,
    launch: &Launch,
    input: Option<mpsc::Receiver<Bytes>>,
) -> Result<ProgramOutput, Failure> {
    // Unbounded: all output is needed, and it is read when the program has exited.
    let (sender, mut received) = mpsc::unbounded_channel();
    let collect = move |stream: Stream, bytes: &[u8]| drop(sender.send((stream, bytes.to_vec())));
    let (mut process, mut stdin) = Process::spawn_with_input(guardian, launch, collect).await?;
    let feed = async move {
        let Some(mut input) = input else { return };
        while let Some(bytes) = input.recv().await {
            // A program that closes its stdin early reports why on stderr.
            if stdin.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::pin!(feed);
    let exit = tokio::select! {
        exit = process.wait() => exit,
        () = &mut feed => process.wait().await,
    };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    while let Ok((stream, bytes)) = received.try_recv() {
        match stream {
            Stream::Output => output.extend(bytes),
            Stream::Errors => errors.extend(bytes),
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(ProgramOutput { exit, output: text(output), errors: text(errors) })
}
