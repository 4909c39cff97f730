//! Reaches a cluster beside the session's own, for a `Cluster`, and looks now and then whether it still answers.

use std::time::Duration;

use lilt_cluster::{Cluster, ConnectOptions};
use lilt_engine::{ClusterSource, Event, FoundCluster};
use lilt_host::environment;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId};

use crate::context::Context;

const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Between two looks at one that does not answer, and at one that does.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

pub(crate) async fn run(context: Context, name: String, run: u64, source: ClusterSource) {
    let mut delay = FIRST_DELAY;
    let mut told: Option<Result<FoundCluster, Failure>> = None;
    loop {
        let outcome = tokio::select! {
            outcome = look(&source) => outcome,
            () = context.cancel.cancelled() => return,
        };
        delay = if outcome.is_ok() { LONGEST_DELAY } else { (delay * 2).min(LONGEST_DELAY) };
        if told.as_ref() != Some(&outcome) {
            if let Err(failure) = &outcome {
                let id = SpanId::from(format!("cluster:{name}"));
                let mut span = context.logs.span(id, Some(ResourceName::tiltfile()), Source::Build);
                span.print(
                    Level::Error,
                    &format!("ERROR: cluster {name}: {failure}\nTrying again until it answers."),
                );
            }
            told = Some(outcome.clone());
            context.tell(Event::ClusterLooked { name: name.clone(), run, outcome }).await;
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = context.cancel.cancelled() => return,
        }
    }
}

async fn look(source: &ClusterSource) -> Result<FoundCluster, Failure> {
    match source {
        ClusterSource::Kubernetes { context, namespace } => {
            let (context, namespace) = (context.clone(), namespace.clone());
            let cluster =
                Cluster::connect(ConnectOptions { context, namespace, ..ConnectOptions::default() }).await?;
            Ok(FoundCluster::Kubernetes(Box::new(cluster.probe().await?)))
        }
        ClusterSource::Docker { host } => {
            let variable = |name: &str| match (name, host) {
                ("DOCKER_HOST", Some(host)) => Some(host.clone()),
                _ => environment::variable(name),
            };
            let engine = lilt_docker::Engine::connect(&variable, environment::home().as_deref())?;
            let info = engine.info().await?;
            Ok(FoundCluster::Docker { version: info.version, arch: info.arch })
        }
    }
}
