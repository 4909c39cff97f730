//! Unreachable dependencies of the session: clusters, Docker engines, registries.
//!
//! A resource whose cluster is unreachable counts as failing, whatever was last known of its pods. Only readers see
//! that: scheduling and the verdict of `ci` go by [`runtime`], so that a short outage restarts nothing.

use lilt_api::{RuntimeStatus, UnreachableService};
use lilt_model::resource::Body;
use lilt_model::{ClusterName, Failure, Timestamp, Unreachable};

use crate::runtime::{Runtime, runtime};
use crate::state::{ResourceState, State};

/// Returns everything that is unreachable, clusters first.
pub(super) fn services(state: &State) -> Vec<UnreachableService> {
    let mut services = Vec::new();
    for (name, cluster) in state.clusters.iter().filter(|(_, cluster)| cluster.wanted) {
        if let Some(failure) = &cluster.failure {
            let since = cluster.failing_since.unwrap_or(state.now);
            services.push(cluster_service(state, name, failure, since));
        }
    }
    for (outage, awaited) in &state.outages {
        let (failure, since) = (&awaited.failure, awaited.since);
        services.push(match &outage.unreachable {
            // Its watch has reported it already.
            Unreachable::Cluster if state.clusters.get(&outage.cluster).failure.is_some() => continue,
            Unreachable::Cluster => cluster_service(state, &outage.cluster, failure, since),
            Unreachable::DockerEngine => {
                service("The Docker engine is unreachable".to_owned(), failure, since)
            }
            Unreachable::Registry(_) => service(
                format!("The {} is unreachable", bare(&outage.unreachable.to_string())),
                failure,
                since,
            ),
            Unreachable::Machine => {
                service("This machine is short of files, memory or disk space".to_owned(), failure, since)
            }
        });
    }
    services
}

fn service(title: String, failure: &Failure, since: Timestamp) -> UnreachableService {
    let Failure { message, hint, .. } = failure.clone();
    UnreachableService { title, message, server: None, hint, since }
}

fn cluster_service(
    state: &State,
    name: &ClusterName,
    failure: &Failure,
    since: Timestamp,
) -> UnreachableService {
    // A cluster that refuses the login does respond.
    let word =
        if failure.unreachable() == Some(&Unreachable::Cluster) { "unreachable" } else { "unavailable" };
    let cluster = state.clusters.get(name);
    let (context, server) = match (&cluster.info, &cluster.address) {
        (Some(info), _) => (Some(info.context.clone()), Some(info.server.clone())),
        (None, Some(address)) => (Some(address.context.clone()), Some(address.server.clone())),
        (None, None) if name.is_session() => (state.options.context.clone(), None),
        (None, None) => (Some(name.to_string()), None),
    };
    let title = match context {
        Some(context) => format!("Cluster {context} is {word}"),
        None => format!("The cluster is {word}"),
    };
    let server = server.filter(|server| !server.is_empty());
    UnreachableService { server, ..service(title, failure, since) }
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
