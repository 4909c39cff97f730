//! The status of log streams.

use lilt_api::{ContainerLogStreamStatus, Content, ObjectKey, PodLogStreamStatus, QUIET_CONTAINERS};
use lilt_model::cluster::{Container, ContainerState, Pod};

use super::ContainerFilter;
use crate::objects::{cluster_named, cluster_trouble, named_pod};
use crate::state::State;

/// Returns the status of a `PodLogStream`.
pub(crate) fn status(state: &State, key: &ObjectKey) -> PodLogStreamStatus {
    let Some(Content::PodLogStream(stream)) = state.objects.records.get(key).map(|record| &record.content)
    else {
        return PodLogStreamStatus::default();
    };
    let spec = &stream.spec;
    let trouble = cluster_trouble(state, &cluster_named(state, &spec.cluster));
    match (trouble, named_pod(state, &spec.cluster, &spec.namespace, &spec.pod)) {
        (None, Some(pod)) => PodLogStreamStatus {
            container_statuses: container_statuses(pod, &ContainerFilter::from(spec)),
            error: String::new(),
        },
        (trouble, _) => PodLogStreamStatus {
            container_statuses: Vec::new(),
            error: trouble.unwrap_or_else(|| format!("pod not found: {}", spec.pod)),
        },
    }
}

/// Returns the status of the log of each container.
pub(crate) fn container_statuses(pod: &Pod, filter: &ContainerFilter) -> Vec<ContainerLogStreamStatus> {
    let is_shown = |name: &str| !QUIET_CONTAINERS.contains(&name) && filter.matches(name);
    let shown = pod.containers.iter().filter(|container| is_shown(&container.name));
    let status = |container: &Container| ContainerLogStreamStatus {
        active: matches!(container.state, ContainerState::Running { .. }),
        error: String::new(),
        name: container.name.clone(),
        terminated: matches!(container.state, ContainerState::Terminated { .. }),
    };
    shown.map(status).collect()
}
