//! Runs `ctr` on a node of a cluster, to load images into its containerd.

use bytes::Bytes;
use lilt_docker::Engine;
use lilt_model::Failure;
use lilt_model::command::Command;
use tokio::sync::mpsc;

use crate::context::Context;
use crate::program;
use crate::runner::local;

/// The containerd namespace of the kubelet.
const NAMESPACE: &str = "k8s.io";

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A container of the Docker engine that contains `ctr`.
    Container { id: String, name: String },
    /// A shell command to which `ctr`'s arguments are appended.
    Command(String),
}

impl Node {
    pub(super) fn name(&self) -> &str {
        match self {
            Node::Container { name, .. } => name,
            Node::Command(line) => line,
        }
    }

    /// Runs `ctr` on the node and returns its output. Its stdin is fed from the channel.
    pub(super) async fn ctr(
        &self,
        context: &Context,
        engine: &Engine,
        arguments: &[&str],
        input: Option<mpsc::Receiver<Bytes>>,
    ) -> Result<String, Failure> {
        let all = ["--namespace", NAMESPACE].into_iter().chain(arguments.iter().copied()).map(str::to_owned);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (succeeded, output, errors) = match self {
            Node::Container { id, .. } => {
                let argv: Vec<String> = std::iter::once("ctr".to_owned()).chain(all).collect();
                let executed = engine.execute(id, &argv, input).await?;
                (executed.code == 0, text(&executed.stdout), text(&executed.stderr))
            }
            Node::Command(line) => {
                let ran = run(context, line, all, input).await?;
                (ran.exit.success(), ran.output, ran.errors)
            }
        };
        if succeeded {
            return Ok(output);
        }
        let message = format!("the node {} refused `ctr {}`", self.name(), arguments.join(" "));
        Err(match format!("{errors}{output}").trim() {
            "" => Failure::environment(message),
            said => Failure::environment(message).detail(said.to_owned()),
        })
    }
}

async fn run(
    context: &Context,
    line: &str,
    arguments: impl Iterator<Item = String>,
    input: Option<mpsc::Receiver<Bytes>>,
) -> Result<program::ProgramOutput, Failure> {
    let folder = context.settings.folder();
    let mut command = Command::shell(format!("{line} \"$@\""), folder);
    command.argv.push("lilt".to_owned());
    command.argv.extend(arguments);
    program::run(&context.guardian, &local::launch(context, &command), input).await
}
