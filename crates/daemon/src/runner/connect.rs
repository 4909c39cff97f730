//! Reaches a cluster, however long it takes.

mod place;
mod sharing;

use std::time::Duration;

use lilt_cluster::Cluster;
use lilt_docker::Engine;
use lilt_engine::Event;
use lilt_host::process::Guardian;
use lilt_model::cluster::ClusterInfo;
use lilt_model::log::{Level, Source};
use lilt_model::{ClusterName, Failure, ResourceName, SpanId};

use crate::context::{Connection, Context};
use crate::settings::Settings;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(3);

pub(crate) async fn run(context: Context, name: ClusterName) {
    let mut delay = FIRST_DELAY;
    let mut told: Option<Failure> = None;
    let docker = context.edges.docker.as_deref().ok();
    loop {
        let attempt = tokio::select! {
            attempt = reach(&context.settings, &context.edges.guardian, docker, &name) => attempt,
            () = context.cancel.cancelled() => return,
        };
        match attempt {
            Ok((connection, info, warnings)) => {
                announce(&context, &name, &info, told.is_some());
                warnings.iter().for_each(|words| {
                    span(&context, &name).print(Level::Warn, &format!("WARNING: {words}"));
                });
                context.edges.clusters.send_modify(|clusters| {
                    clusters.insert(name.clone(), connection);
                });
                context.tell(Event::ClusterConnected { cluster: name, info: Box::new(info) }).await;
                return;
            }
            Err(failure) => {
                if told.as_ref() != Some(&failure) {
                    span(&context, &name)
                        .print(Level::Error, &format!("ERROR: {failure}\nTrying again until it answers."));
                    let (cluster, failure) = (name.clone(), failure.clone());
                    context.tell(Event::ClusterFailed { cluster, failure }).await;
                }
                told = Some(failure);
            }
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => delay = (delay * 2).min(LONGEST_DELAY),
            () = context.cancel.cancelled() => return,
        }
    }
}

pub(crate) type Reached = (Connection, ClusterInfo, place::Warnings);

/// Connects, and finds out what the cluster is and how images come there. `docker` is the engine of this machine.
pub(crate) async fn reach(
    settings: &Settings,
    guardian: &Guardian,
    docker: Option<&Engine>,
    name: &ClusterName,
) -> Result<Reached, Failure> {
    let cluster = Cluster::connect(settings.connection(name)).await?;
    let mut info = cluster.probe().await?;
    let kubeconfig = if name.is_session() { None } else { settings.kubeconfig.of(name.as_str())? };
    let pinned = settings.kubeconfig.known().filter(|_| name.is_session());
    info.config_path = kubeconfig.clone().or_else(|| pinned.map(|pinned| pinned.path.clone()));
    info.node_commands = settings.habits.node_commands_of(name, &info.context);
    let place::Found { engine, warnings } = place::complete(guardian, docker, &mut info).await?;
    Ok((Connection { cluster, engine, kubeconfig }, info, warnings))
}

fn span(context: &Context, name: &ClusterName) -> lilt_store::Span {
    let id = if name.is_session() { "cluster".to_owned() } else { format!("cluster:{name}") };
    context.logs.span(SpanId::from(id), Some(ResourceName::tiltfile()), Source::Build)
}

fn announce(context: &Context, name: &ClusterName, info: &ClusterInfo, after_failure: bool) {
    let mut span = span(context, name);
    if after_failure {
        span.info(&format!("Connected to the cluster of context {}", info.context));
    }
    if let Some(registry) = &info.registry {
        span.info(&format!("Auto-detected local registry from environment: {}", registry.host));
    }
}
