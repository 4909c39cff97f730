//! Connects to the cluster of a `Cluster` object, and probes now and then whether it still responds.

use std::time::Duration;

use lilt_cluster::{Cluster, ConnectOptions, PluginOutput};
use lilt_engine::{ClusterSource, Event, FoundCluster};
use lilt_host::environment;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId};

use super::connect::{KubeconfigChanges, Retry};
use crate::context::Context;
use crate::plugin_log::PluginLog;
use crate::runner::FileWatcher;

const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Between two probes, whether the cluster responds or not.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

pub(crate) async fn run(
    context: Context,
    watcher: FileWatcher,
    plugin_log: PluginLog,
    name: String,
    run: u64,
    source: ClusterSource,
) {
    let mut delay = FIRST_DELAY;
    let mut reported: Option<Result<FoundCluster, Failure>> = None;
    let mut changes: KubeconfigChanges = None;
    let kube_context = match &source {
        ClusterSource::Kubernetes { context, .. } => context.as_deref(),
        ClusterSource::Docker { .. } => None,
    };
    let output = plugin_log.log_to(span_id(&name), &context.settings.plugin_output);
    loop {
        let attempt = tokio::select! {
            attempt = connect(&source, &output) => attempt,
            () = context.cancel.cancelled() => return,
        };
        let (outcome, retry) = match attempt {
            Ok(found) => (Ok(found), Retry::Soon),
            Err(ConnectError { failure, is_unaddressed }) => {
                let retry = Retry::after(&failure, is_unaddressed);
                (Err(failure), retry)
            }
        };
        delay = match outcome.is_ok() {
            true => LONGEST_DELAY,
            false => retry.delay(delay * 2, LONGEST_DELAY),
        };
        if reported.as_ref() != Some(&outcome) {
            if let Err(failure) = &outcome {
                let mut span =
                    context.logs.span(span_id(&name), Some(ResourceName::tiltfile()), Source::Build);
                let next = retry.announcement();
                span.print(Level::Error, &format!("ERROR: cluster {name}: {failure}\n{next}"));
            }
            reported = Some(outcome.clone());
            context.send(Event::ClusterLooked { name: name.clone(), run, outcome }).await;
        }
        tokio::select! {
            () = retry.kubeconfig_changed(&watcher, kube_context, &mut changes) => {}
            () = tokio::time::sleep(delay), if retry != Retry::OnChange => {}
            () = context.cancel.cancelled() => return,
        }
    }
}

fn span_id(name: &str) -> SpanId {
    SpanId::from(format!("cluster:{name}"))
}

struct ConnectError {
    failure: Failure,
    /// Whether it failed before the cluster's address was known.
    is_unaddressed: bool,
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
            let cluster = Cluster::connect(options)
                .await
                .map_err(|failure| ConnectError { failure, is_unaddressed: true })?;
            let info = cluster.probe().await.map_err(unreachable)?;
            Ok(FoundCluster::Kubernetes(Box::new(info)))
        }
        ClusterSource::Docker { host } => {
            let variable = |name: &str| match (name, host) {
                ("DOCKER_HOST", Some(host)) => Some(host.clone()),
                _ => environment::variable(name),
            };
            let engine = lilt_docker::Engine::connect(&variable, environment::home().as_deref())
                .map_err(unreachable)?;
            let info = engine.info().await.map_err(unreachable)?;
            Ok(FoundCluster::Docker { version: info.version, arch: info.arch })
        }
    }
}

fn unreachable(failure: Failure) -> ConnectError {
    ConnectError { failure, is_unaddressed: false }
}
