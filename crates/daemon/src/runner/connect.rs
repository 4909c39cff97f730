//! Reaches the cluster, however long it takes.

mod place;
mod sharing;

use std::time::Duration;

use lilt_cluster::{Cluster, ConnectOptions};
use lilt_engine::Event;
use lilt_model::Failure;
use lilt_model::cluster::ClusterInfo;
use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId};

use crate::context::Context;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(3);

pub(crate) async fn run(context: Context) {
    let mut delay = FIRST_DELAY;
    let mut told: Option<Failure> = None;
    loop {
        let attempt = tokio::select! {
            attempt = attempt(&context) => attempt,
            () = context.cancel.cancelled() => return,
        };
        match attempt {
            Ok((cluster, info, warnings)) => {
                announce(&context, &info, told.is_some());
                warnings.iter().for_each(|words| {
                    span(&context).print(Level::Warn, &format!("WARNING: {words}"));
                });
                context.edges.cluster.send_replace(Some(cluster));
                context.tell(Event::ClusterConnected { info: Box::new(info) }).await;
                return;
            }
            Err(failure) => {
                if told.as_ref() != Some(&failure) {
                    span(&context)
                        .print(Level::Error, &format!("ERROR: {failure}\nTrying again until it answers."));
                    context.tell(Event::ClusterFailed { failure: failure.clone() }).await;
                    told = Some(failure);
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => delay = (delay * 2).min(LONGEST_DELAY),
            () = context.cancel.cancelled() => return,
        }
    }
}

async fn attempt(context: &Context) -> Result<(Cluster, ClusterInfo, place::Warnings), Failure> {
    let options = ConnectOptions {
        kubeconfig: Vec::new(),
        context: context.settings.context.clone(),
        namespace: context.settings.namespace.clone(),
    };
    let cluster = Cluster::connect(options).await?;
    let mut info = cluster.probe().await?;
    info.config_path.clone_from(&context.settings.kubeconfig);
    let warnings = place::complete(context, &mut info).await?;
    Ok((cluster, info, warnings))
}

fn span(context: &Context) -> lilt_store::Span {
    context.logs.span(SpanId::new("cluster"), Some(ResourceName::tiltfile()), Source::Build)
}

fn announce(context: &Context, info: &ClusterInfo, after_failure: bool) {
    let mut span = span(context);
    if after_failure {
        span.info(&format!("Connected to the cluster of context {}", info.context));
    }
    if let Some(registry) = &info.registry {
        span.info(&format!("Auto-detected local registry from environment: {}", registry.host));
    }
}
