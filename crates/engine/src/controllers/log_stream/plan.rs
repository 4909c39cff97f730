//! One task per pod.

use std::sync::Arc;

use lilt_api::Content;

use super::ContainerFilter;
use crate::objects::{ObjectRecord, cluster_named, log_resource, named_pod};
use crate::owner::Owner;
use crate::plan::Plan;
use crate::state::State;
use crate::task::Task;

/// Returns the tasks of the log streams of one owner.
pub(crate) fn plan(state: &State, owner: &Owner) -> Plan {
    match owner {
        Owner::Resource(name) => {
            let cluster = state.cluster_of(name);
            let kubernetes = state.resources.get(name).and_then(|resource| resource.kubernetes());
            let pods = kubernetes.into_iter().flat_map(|kubernetes| &kubernetes.pods);
            let pods = pods.filter_map(|pod| state.pods.known.get(pod));
            let task = |pod: &Arc<_>| Task::LogStream {
                owner: owner.clone(),
                resource: name.clone(),
                pod: Arc::clone(pod),
                containers: ContainerFilter::default(),
                since: None,
                // Besides its logs, its startup and the notices about it.
                notices: Some(state.pods.notices.get(&pod.reference()).cloned().unwrap_or_default()),
                read_to_end: state.is_unattended(),
            };
            pods.filter(|_| state.clusters.get(&cluster).info.is_some()).map(task).collect()
        }
        Owner::Object(key) => {
            let Some(ObjectRecord { object, content: Content::PodLogStream(stream), .. }) =
                state.objects.records.get(key)
            else {
                return Plan::new();
            };
            let spec = &stream.spec;
            let is_reached = state.clusters.get(&cluster_named(state, &spec.cluster)).info.is_some();
            let pod = named_pod(state, &spec.cluster, &spec.namespace, &spec.pod).filter(|_| is_reached);
            let task = |pod: &Arc<_>| Task::LogStream {
                owner: owner.clone(),
                resource: log_resource(object),
                pod: Arc::clone(pod),
                containers: ContainerFilter::from(spec),
                since: spec.since_time.map(|time| time.0),
                notices: None,
                read_to_end: state.is_unattended(),
            };
            pod.map(task).into_iter().collect()
        }
    }
}
