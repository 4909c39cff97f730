//! Finds out how images come to the cluster: completes what the cluster says of itself by what is known of the engine.

use lilt_docker::{Engine, ImageStore};
use lilt_host::environment;
use lilt_host::process::{Exit, Launch, Process, Stream};
use lilt_model::Failure;
use lilt_model::cluster::{ClusterInfo, Product, Runtime};
use lilt_model::command::Command;
use tokio::sync::mpsc;

use super::sharing::{Sharing, sharing};
use crate::context::Context;
use crate::runner::local;

/// What was found out besides, for the log.
pub(super) type Warnings = Vec<String>;

pub(super) async fn complete(context: &Context, info: &mut ClusterInfo) -> Result<Warnings, Failure> {
    info.node_commands.clone_from(&context.settings.habits.node_commands);
    let mut warnings = Warnings::new();
    if info.product == Product::Minikube && info.runtime == Runtime::Docker {
        info.shares_engine = use_minikubes(context, &info.cluster).await?;
    }
    // An engine that cannot be used is told of when something is to be built.
    if let Ok(engine) = &*context.edges.docker {
        match sharing(info, &engine.address()) {
            Sharing::Yes => info.shares_engine = true,
            Sharing::No => {}
            Sharing::Mismatch(words) => warnings.push(words.to_owned()),
        }
        check_desktop(info, engine, &mut warnings).await;
    }
    if let Some(help) = &info.registry_help {
        warnings.push(format!(
            "there is no local image registry, which would speed up builds. Instructions: {help}"
        ));
    }
    Ok(warnings)
}

/// Docker Desktop's cluster sees its engine's images only if both keep them in containerd.
async fn check_desktop(info: &ClusterInfo, engine: &Engine, warnings: &mut Warnings) {
    if !(info.shares_engine && info.product == Product::DockerDesktop && info.runtime == Runtime::Containerd)
    {
        return;
    }
    // One that does not answer is told of elsewhere.
    if engine.info().await.is_ok_and(|found| found.image_store == ImageStore::GraphDriver) {
        warnings.push(
            "Docker Desktop's Kubernetes runs on containerd and does not see the images of this engine: switch \
             \"Use containerd for pulling and storing images\" on in its settings"
                .to_owned(),
        );
    }
}

/// minikube's own engine builds where its nodes run what that one has; unless the user names another engine.
async fn use_minikubes(context: &Context, profile: &str) -> Result<bool, Failure> {
    let Some(variables) = docker_env(context, profile).await? else { return Ok(false) };
    let said = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let lookup = |name: &str| said(name).or_else(|| environment::variable(name));
    let engine = Engine::connect(&lookup, environment::home().as_deref()).map_err(|failure| Failure {
        message: format!("cannot use minikube's engine: {}", failure.message),
        ..failure
    })?;
    let named = environment::variable(environment::DOCKER_HOST);
    let is_other =
        |named: &str| named.trim_end_matches('/') != said(environment::DOCKER_HOST).unwrap_or_default();
    if named.as_deref().is_some_and(is_other) {
        return Ok(false);
    }
    // Connected once in a session, and found again under the same address.
    let _ = context.edges.cluster_engine.set(engine);
    let _ = context.edges.cluster_engine_variables.set(variables);
    Ok(true)
}

/// What a minikube says that has no such engine, or several.
const HAS_NONE: [&str; 4] = [
    "ENV_DRIVER_CONFLICT",
    "ENV_MULTINODE_CONFLICT",
    "ENV_DOCKER_UNAVAILABLE",
    "The docker-env command is only compatible",
];

/// The variables by which minikube's engine is reached; none if it has none.
async fn docker_env(context: &Context, profile: &str) -> Result<Option<Vec<(String, String)>>, Failure> {
    let argv = ["minikube", "-p", profile, "docker-env", "--shell", "sh"].map(str::to_owned).to_vec();
    let folder = context.settings.tiltfile.parent().unwrap_or(std::path::Path::new("/"));
    let launch: Launch = local::launch(context, &Command { argv, ..Command::shell("", folder) });
    // Unbounded: it prints a few lines.
    let (sender, mut written) = mpsc::unbounded_channel();
    let tell = move |stream: Stream, bytes: &[u8]| drop(sender.send((stream, bytes.to_vec())));
    let mut process = Process::spawn_apart(&context.edges.guardian, &launch, tell).await?;
    let exit = process.wait().await;
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    while let Ok((stream, bytes)) = written.try_recv() {
        match stream {
            Stream::Output => output.extend(bytes),
            Stream::Errors => errors.extend(bytes),
        }
    }
    let (output, errors) = (String::from_utf8_lossy(&output), String::from_utf8_lossy(&errors));
    match exit {
        Exit::Code(0) => Ok(Some(exports(&output))),
        _ if HAS_NONE.iter().any(|words| errors.contains(words)) => Ok(None),
        _ => Err(Failure::environment(
            "cannot read the variables of minikube's engine (`minikube docker-env`)",
        )
        .detail(errors.trim().to_owned())
        .hint("is it running? `minikube start` starts it")),
    }
}

/// From lines as `export DOCKER_HOST="tcp://192.168.49.2:2376"`.
fn exports(text: &str) -> Vec<(String, String)> {
    let export = |line: &str| {
        let (name, value) = line.trim().strip_prefix("export ")?.split_once('=')?;
        let value = value.strip_prefix('"')?.strip_suffix('"')?;
        Some((name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(export).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_minikube_exports_is_read() {
        let text = "export DOCKER_TLS_VERIFY=\"1\"\nexport DOCKER_HOST=\"tcp://192.168.49.2:2376\"\n\
                    # To point your shell to minikube's docker-daemon, run:\n# eval $(minikube -p x docker-env)\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            exports(text),
            [pair("DOCKER_TLS_VERIFY", "1"), pair("DOCKER_HOST", "tcp://192.168.49.2:2376")]
        );
    }
}
