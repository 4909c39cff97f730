//! Reaches a cluster beside the session's own, for a `Cluster`, and looks now and then whether it still answers.

use std::time::Duration;

use lilt_cluster::{Cluster, ConnectOptions, PluginOutput};
use lilt_engine::{ClusterSource, Event, FoundCluster};
use lilt_host::environment;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId};

use super::connect::{KubeconfigChanges, kubeconfig_changed, next_attempt, plugin_output};
use crate::context::Context;

const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Between two looks at one that does not answer, and at one that does.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

pub(crate) async fn run(context: Context, name: String, run: u64, source: ClusterSource) {
    let mut delay = FIRST_DELAY;
    let mut told: Option<Result<FoundCluster, Failure>> = None;
    let mut changes: KubeconfigChanges = None;
    let kube_context = match &source {
        ClusterSource::Kubernetes { context, .. } => context.as_deref(),
        ClusterSource::Docker { .. } => None,
    };
    let output = plugin_output(&context.logs, span_id(&name));
    loop {
        let attempt = tokio::select! {
            attempt = connect(&source, &output) => attempt,
            () = context.cancel.cancelled() => return,
        };
        let (outcome, is_misconfigured) = match attempt {
            Ok(found) => (Ok(found), false),
            Err(ConnectError::Kubeconfig(failure)) => (Err(failure), true),
            Err(ConnectError::Unreachable(failure)) => (Err(failure), false),
        };
        delay = if outcome.is_ok() { LONGEST_DELAY } else { (delay * 2).min(LONGEST_DELAY) };
        if told.as_ref() != Some(&outcome) {
            if let Err(failure) = &outcome {
                let mut span =
                    context.logs.span(span_id(&name), Some(ResourceName::tiltfile()), Source::Build);
                let next = next_attempt(is_misconfigured);
                span.print(Level::Error, &format!("ERROR: cluster {name}: {failure}\n{next}"));
            }
            told = Some(outcome.clone());
            context.tell(Event::ClusterLooked { name: name.clone(), run, outcome }).await;
        }
        tokio::select! {
            () = kubeconfig_changed(&context, kube_context, &mut changes), if is_misconfigured => {}
            () = tokio::time::sleep(delay), if !is_misconfigured => {}
            () = context.cancel.cancelled() => return,
        }
    }
}

fn span_id(name: &str) -> SpanId {
    SpanId::from(format!("cluster:{name}"))
}

enum ConnectError {
    /// Fails in the same way until the kubeconfig changes.
    Kubeconfig(Failure),
    Unreachable(Failure),
}

async fn connect(source: &ClusterSource, output: &PluginOutput) -> Result<FoundCluster, ConnectError> {
    match source {
        ClusterSource::Kubernetes { context, namespace } => {
            let options = ConnectOptions {
                context: context.clone(),
                namespace: namespace.clone(),
                plugin_output: output.clone(),
                ..ConnectOptions::default()
            };
            let cluster = Cluster::connect(options).await.map_err(ConnectError::Kubeconfig)?;
            let info = cluster.probe().await.map_err(ConnectError::Unreachable)?;
            Ok(FoundCluster::Kubernetes(Box::new(info)))
        }
        ClusterSource::Docker { host } => {
            let variable = |name: &str| match (name, host) {
                ("DOCKER_HOST", Some(host)) => Some(host.clone()),
                _ => environment::variable(name),
            };
            let engine = lilt_docker::Engine::connect(&variable, environment::home().as_deref())
                .map_err(ConnectError::Unreachable)?;
            let info = engine.info().await.map_err(ConnectError::Unreachable)?;
            Ok(FoundCluster::Docker { version: info.version, arch: info.arch })
        }
    }
}
