//! What readers see of log streams.

use lilt_api::fields::Fields;
use lilt_api::{ObjectKey, specs};
use lilt_model::cluster::{Container, ContainerState, Pod};
use serde_json::{Map, Value, json};

use super::ContainerFilter;
use crate::objects::named_pod;
use crate::state::State;

/// Writes the status of a `PodLogStream`; `trouble` is why it cannot work.
pub(crate) fn status(
    state: &State,
    key: &ObjectKey,
    trouble: Option<String>,
    status: &mut Map<String, Value>,
) {
    let Some(object) = state.objects.made.get(key).map(|made| &made.object) else { return };
    match (trouble, named_pod(state, key, object, "/spec/pod")) {
        (None, Some(pod)) => {
            let statuses = container_statuses(pod, &ContainerFilter::of(object));
            status.insert("containerStatuses".to_owned(), json!(statuses));
        }
        (trouble, _) => {
            let error = trouble.unwrap_or_else(|| format!("pod not found: {}", object.text("/spec/pod")));
            status.insert("error".to_owned(), json!(error));
        }
    }
}

/// How far the log of each container is.
pub(crate) fn container_statuses(pod: &Pod, filter: &ContainerFilter) -> Vec<Value> {
    let is_shown = |name: &str| !specs::QUIET_CONTAINERS.contains(&name) && filter.matches(name);
    let shown = pod.containers.iter().filter(|container| is_shown(&container.name));
    let status = |container: &Container| {
        let active = matches!(container.state, ContainerState::Running { .. });
        let ended = matches!(container.state, ContainerState::Terminated { .. });
        Fields::new()
            .put("name", container.name.as_str())
            .put_unless_empty("active", active)
            .put_unless_empty("terminated", ended)
            .value()
    };
    shown.map(status).collect()
}
