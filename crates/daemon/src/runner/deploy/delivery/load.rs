//! Loads an image into the nodes of a cluster without a registry, sending only blobs that a node lacks.
//!
//! If nodes are not accessible, the program that created the cluster does it, as in Tilt.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use lilt_docker::{Engine, Exported, RunningContainer};
use lilt_host::environment;
use lilt_model::cluster::Nodes;
use lilt_model::command::Command;
use lilt_model::reference::Reference;
use lilt_model::{Failure, size};
use tokio::sync::mpsc;

use super::node::Node;
use crate::context::Context;
use crate::runner::deploy::steps::Steps;
use crate::runner::local;

/// Buffered chunks of an image: the engine is read no faster than the node imports.
const CHUNKS: usize = 16;

pub(super) async fn load(
    context: &Context,
    engine: &Engine,
    nodes: &Nodes,
    reference: &str,
    steps: &mut Steps,
) -> Result<(), Failure> {
    steps.detail(match nodes {
        // Scripts look for this line.
        Nodes::Kind(_) => "Loading image to KIND",
        Nodes::K3d(_) => "Loading image to k3d",
        Nodes::Minikube { .. } => "Loading image to minikube",
        Nodes::Microk8s => "Loading image to MicroK8s",
        Nodes::Commands(_) => "Loading image to the cluster's nodes",
    });
    let reachable = reachable_nodes(engine, nodes).await?;
    if !reachable.is_empty() {
        match load_into(context, engine, &reachable, reference, steps).await {
            Ok(()) => return Ok(()),
            Err(failure) => match program(nodes, reference) {
                Some(_) => steps.detail(&format!("Not possible directly: {failure}")),
                None => return Err(failure),
            },
        }
    }
    run_program(context, nodes, reference, steps).await
}

/// Returns the nodes that are accessible without the program that created them.
async fn reachable_nodes(engine: &Engine, nodes: &Nodes) -> Result<Vec<Node>, Failure> {
    let container = |running: RunningContainer| Node::Container { id: running.id, name: running.name };
    let labelled = |label: String| async move { engine.containers(&[&label]).await };
    Ok(match nodes {
        Nodes::Commands(lines) => lines.iter().cloned().map(Node::Command).collect(),
        Nodes::Microk8s => vec![Node::Command("microk8s ctr".to_owned())],
        Nodes::Kind(_) if other_provider() => Vec::new(),
        Nodes::Kind(name) => {
            let found = labelled(format!("io.x-k8s.kind.cluster={name}")).await?;
            let runs_pods =
                |it: &RunningContainer| has_role(it, "io.x-k8s.kind.role", &["control-plane", "worker"]);
            found.into_iter().filter(runs_pods).map(container).collect()
        }
        Nodes::K3d(name) => {
            let found = labelled(format!("k3d.cluster={name}")).await?;
            let runs_pods = |it: &RunningContainer| has_role(it, "k3d.role", &["server", "agent"]);
            found.into_iter().filter(runs_pods).map(container).collect()
        }
        Nodes::Minikube { containerd: false, .. } => Vec::new(),
        Nodes::Minikube { profile, containerd: true } => {
            let found = labelled(format!("name.minikube.sigs.k8s.io={profile}")).await?;
            found.into_iter().map(container).collect()
        }
    })
}

/// Returns whether a container is a node: clusters may have load balancers and registries, too.
fn has_role(running: &RunningContainer, label: &str, roles: &[&str]) -> bool {
    running.labels.get(label).is_some_and(|role| roles.contains(&role.as_str()))
}

/// Returns whether kind's nodes are containers of Podman or nerdctl: only kind finds them.
fn other_provider() -> bool {
    environment::variable(environment::KIND_EXPERIMENTAL_PROVIDER).is_some_and(|it| it != "docker")
}

async fn load_into(
    context: &Context,
    engine: &Engine,
    nodes: &[Node],
    reference: &str,
    steps: &mut Steps,
) -> Result<(), Failure> {
    let loads = nodes.iter().map(|node| load_one(context, engine, node, reference));
    for (node, loaded) in nodes.iter().zip(try_join_all(loads).await?) {
        steps.detail(&format!("{}: {}", node.name(), describe(loaded)));
    }
    Ok(())
}

fn describe(loaded: Option<Exported>) -> String {
    match loaded {
        None => "has it already".to_owned(),
        Some(Exported { sent, skipped }) if skipped.count == 0 => {
            format!("sent all {} parts ({})", sent.count, size::display(sent.bytes))
        }
        Some(Exported { sent, skipped }) => format!(
            "sent {} of {} parts ({}), it has the others ({})",
            sent.count,
            sent.count + skipped.count,
            size::display(sent.bytes),
            size::display(skipped.bytes)
        ),
    }
}

/// Loads an image into one node. Returns none if the node has it already.
async fn load_one(
    context: &Context,
    engine: &Engine,
    node: &Node,
    reference: &str,
) -> Result<Option<Exported>, Failure> {
    let name = Reference::parse(reference)?.to_string();
    let filter = format!("name=={name}");
    let of_name = ["images", "ls", "-q", &filter];
    let (images, content) = tokio::join!(
        node.ctr(context, engine, &of_name, None),
        node.ctr(context, engine, &["content", "ls", "-q"], None),
    );
    if images?.lines().any(|line| line.trim() == name) {
        return Ok(None);
    }
    let known: BTreeSet<String> = content?.lines().map(|line| line.trim().to_owned()).collect();
    match import(context, engine, node, reference, &known).await {
        // The node may have removed blobs since it was queried.
        Err(_) if !known.is_empty() => import(context, engine, node, reference, &BTreeSet::new()).await,
        result => result,
    }
    .map(Some)
}

async fn import(
    context: &Context,
    engine: &Engine,
    node: &Node,
    reference: &str,
    known: &BTreeSet<String>,
) -> Result<Exported, Failure> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let (exported, imported) = tokio::join!(
        engine.export(reference, known, sender),
        node.ctr(context, engine, &["images", "import", "-"], Some(receiver)),
    );
    // The node's failure is the cause: without a receiver the export fails, too.
    imported.and(exported)
}

/// Returns the command that loads an image, and its program.
fn program(nodes: &Nodes, reference: &str) -> Option<(Vec<String>, &'static str)> {
    let argv = |arguments: &[&str]| arguments.iter().map(|argument| (*argument).to_owned()).collect();
    Some(match nodes {
        Nodes::Kind(name) => (argv(&["kind", "load", "docker-image", reference, "--name", name]), "kind"),
        Nodes::K3d(name) => (argv(&["k3d", "image", "import", reference, "--cluster", name]), "k3d"),
        Nodes::Minikube { profile, .. } => {
            (argv(&["minikube", "-p", profile, "image", "load", reference]), "minikube")
        }
        Nodes::Microk8s | Nodes::Commands(_) => return None,
    })
}

async fn run_program(
    context: &Context,
    nodes: &Nodes,
    reference: &str,
    steps: &mut Steps,
) -> Result<(), Failure> {
    let Some((argv, maker)) = program(nodes, reference) else {
        return Err(Failure::internal(format!("{nodes:?} are reached without a program")));
    };
    let folder = context.settings.folder();
    let command = Command { argv, ..Command::shell("", folder) };
    let hint = format!(
        "lilt puts images into {maker}'s nodes itself where they are containers of the engine it builds with, and else \
         calls `{maker}`; a registry that the cluster announces (kube-public/local-registry-hosting) needs neither"
    );
    let exit = steps.run(&command, None).await.map_err(|failure| failure.hint(hint.clone()))?;
    match local::exit_failure(exit) {
        None => Ok(()),
        Some(how) => {
            let message =
                format!("cannot load {reference} into {maker}: {:?} failed: {how}", command.display());
            Err(Failure::environment(message).hint(hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use lilt_docker::Parts;

    use super::*;

    #[test]
    fn load_commands_of_cluster_programs() {
        let called = |nodes: Nodes| program(&nodes, "web:tilt-1").map(|(argv, _)| argv.join(" "));
        assert_eq!(
            called(Nodes::Kind("dev".into())).as_deref(),
            Some("kind load docker-image web:tilt-1 --name dev")
        );
        assert_eq!(
            called(Nodes::K3d("dev".into())).as_deref(),
            Some("k3d image import web:tilt-1 --cluster dev")
        );
        let minikube = Nodes::Minikube { profile: "minikube".into(), containerd: false };
        assert_eq!(called(minikube).as_deref(), Some("minikube -p minikube image load web:tilt-1"));
        assert_eq!(called(Nodes::Microk8s), None);
    }

    #[test]
    fn load_describes_sent_and_kept_parts() {
        let parts = |count, bytes| Parts { count, bytes };
        let loaded = |sent, skipped| describe(Some(Exported { sent, skipped }));
        assert_eq!(describe(None), "has it already");
        assert_eq!(loaded(parts(4, 1_234_567), parts(0, 0)), "sent all 4 parts (1.235MB)");
        assert_eq!(
            loaded(parts(1, 900), parts(3, 4_000_000)),
            "sent 1 of 4 parts (900B), it has the others (4MB)"
        );
    }
}
