//! A node of a cluster, as far as images go: something that does what `ctr` does beside the node's containerd.

use bytes::Bytes;
use lilt_docker::Engine;
use lilt_host::process::{Launch, Process, Stream};
use lilt_model::Failure;
use lilt_model::command::Command;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::context::Context;
use crate::runner::local;

/// The namespace of containerd that a kubelet uses.
const NAMESPACE: &str = "k8s.io";

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A container of the engine, in which `ctr` is.
    Container { id: String, name: String },
    /// A line of shell to which `ctr`'s arguments are added.
    Command(String),
}

impl Node {
    pub(super) fn name(&self) -> &str {
        match self {
            Node::Container { name, .. } => name,
            Node::Command(line) => line,
        }
    }

    /// Runs `ctr` on the node, with what comes from the channel as its input: what it printed.
    pub(super) async fn ctr(
        &self,
        context: &Context,
        engine: &Engine,
        arguments: &[&str],
        input: Option<mpsc::Receiver<Bytes>>,
    ) -> Result<String, Failure> {
        let all = ["--namespace", NAMESPACE].into_iter().chain(arguments.iter().copied()).map(str::to_owned);
        let (succeeded, output, errors) = match self {
            Node::Container { id, .. } => {
                let argv: Vec<String> = std::iter::once("ctr".to_owned()).chain(all).collect();
                let executed = engine.execute(id, &argv, input).await?;
                (executed.code == 0, executed.output, executed.errors)
            }
            Node::Command(line) => run(context, line, all, input).await?,
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if succeeded {
            return Ok(text(output));
        }
        let words = format!("the node {} refused `ctr {}`", self.name(), arguments.join(" "));
        let said = format!("{}{}", text(errors), text(output));
        Err(match said.trim() {
            "" => Failure::environment(words),
            said => Failure::environment(words).detail(said.to_owned()),
        })
    }
}

type Ran = (bool, Vec<u8>, Vec<u8>);

async fn run(
    context: &Context,
    line: &str,
    arguments: impl Iterator<Item = String>,
    input: Option<mpsc::Receiver<Bytes>>,
) -> Result<Ran, Failure> {
    let folder = context.settings.tiltfile.parent().unwrap_or(std::path::Path::new("/"));
    let mut command = Command::shell(format!("{line} \"$@\""), folder);
    command.argv.push("lilt".to_owned());
    command.argv.extend(arguments);
    let launch: Launch = local::launch(context, &command);
    // Unbounded: all of it is wanted, and it is read when the command has ended.
    let (sender, mut written) = mpsc::unbounded_channel();
    let tell = move |stream: Stream, bytes: &[u8]| drop(sender.send((stream, bytes.to_vec())));
    let (mut process, mut theirs) = Process::spawn_fed(&context.edges.guardian, &launch, tell).await?;
    let feed = async move {
        let Some(mut input) = input else { return };
        while let Some(bytes) = input.recv().await {
            // One that reads no further has its reasons, which it says.
            if theirs.write_all(&bytes).await.is_err() {
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
    while let Ok((stream, bytes)) = written.try_recv() {
        match stream {
            Stream::Output => output.extend(bytes),
            Stream::Errors => errors.extend(bytes),
        }
    }
    Ok((exit.success(), output, errors))
}
