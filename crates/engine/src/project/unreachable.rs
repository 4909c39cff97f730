//! What the session needs and cannot reach: clusters, Docker engines, registries.
//!
//! A resource whose cluster is unreachable counts as failing, whatever was last known of its pods. Only readers see
//! that: scheduling and the verdict of `ci` go by [`runtime`], so that a short outage restarts nothing.

use lilt_model::api::{RuntimeStatus, UnreachableService};
use lilt_model::resource::Body;
use lilt_model::{Away, ClusterName, Failure, Timestamp};

use crate::runtime::{Runtime, runtime};
use crate::state::{ResourceState, State};

/// Returns everything that is unreachable, clusters first.
pub(super) fn services(state: &State) -> Vec<UnreachableService> {
    let mut services = Vec::new();
    for (name, cluster) in state.clusters.iter().filter(|(_, cluster)| cluster.wanted) {
        if let Some(failure) = &cluster.failure {
            let since = cluster.failing_since.unwrap_or(state.now);
            services.push(service(cluster_title(state, name, failure), failure, since));
        }
    }
    for (outage, awaited) in &state.outages {
        let title = match &outage.away {
            // Its watch has reported it already.
            Away::Cluster if state.clusters.get(&outage.cluster).failure.is_some() => continue,
            Away::Cluster => cluster_title(state, &outage.cluster, &awaited.failure),
            Away::Engine => "The Docker engine is unreachable".to_owned(),
            Away::Registry(_) => format!("The {} is unreachable", bare(&outage.away.to_string())),
        };
        services.push(service(title, &awaited.failure, awaited.since));
    }
    services
}

fn service(title: String, failure: &Failure, since: Timestamp) -> UnreachableService {
    let Failure { message, hint, .. } = failure.clone();
    UnreachableService { title, message, hint, since }
}

/// A cluster that refuses the login does respond.
fn cluster_title(state: &State, name: &ClusterName, failure: &Failure) -> String {
    let word = if failure.away == Some(Away::Cluster) { "unreachable" } else { "unavailable" };
    let connected = state.clusters.get(name).info.as_ref().map(|info| info.context.clone());
    let named = if name.is_session() { state.options.context.clone() } else { Some(name.to_string()) };
    match connected.or(named) {
        Some(context) => format!("Cluster {context} is {word}"),
        None => format!("The cluster is {word}"),
    }
}

fn bare(name: &str) -> &str {
    name.strip_prefix("the ").unwrap_or(name)
}

/// Returns why the cluster of a resource is unreachable, if it is.
pub(super) fn cluster_failure<'s>(state: &'s State, resource: &ResourceState) -> Option<&'s Failure> {
    let Body::Kubernetes(spec) = &resource.spec.body else { return None };
    state.clusters.get(&spec.cluster).failure.as_ref()
}

/// Returns the runtime status that readers see.
pub(crate) fn shown_runtime(state: &State, resource: &ResourceState) -> Runtime {
    let known = runtime(state, resource);
    match cluster_failure(state, resource) {
        Some(failure) if known.status != RuntimeStatus::None => {
            Runtime::because(RuntimeStatus::Error, failure.message.clone())
        }
        _ => known,
    }
}
