//! `Cluster`: a cluster besides those of the session, and whether it can be reached.

use lilt_api::{ClusterSpec, ClusterStatus, Content, ObjectKey, ObjectKind};
use lilt_model::{Failure, Timestamp};
use serde::Serialize;

use super::{ObjectRecord, Run};
use crate::event::FoundCluster;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{ClusterSource, Task};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ClusterRun {
    /// The number of the current probe.
    run: u64,
    sought: Option<ClusterSource>,
    /// The time since which it is reachable, and its details.
    found: Option<(Timestamp, FoundCluster)>,
    /// The reason why it is unreachable.
    error: Option<String>,
}

fn source(spec: &ClusterSpec) -> Option<ClusterSource> {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let connection = spec.connection.as_ref()?;
    if let Some(kubernetes) = &connection.kubernetes {
        let (context, namespace) = (given(&kubernetes.context), given(&kubernetes.namespace));
        return Some(ClusterSource::Kubernetes { context, namespace });
    }
    let docker = connection.docker.as_ref()?;
    Some(ClusterSource::Docker { host: given(&docker.host) })
}

pub(super) fn reconcile(state: &mut State, key: &ObjectKey) {
    let number = state.next_sequence();
    let Some(ObjectRecord { content: Content::Cluster(cluster), run: Run::Cluster(run), .. }) =
        state.objects.records.get_mut(key)
    else {
        return;
    };
    let sought = source(&cluster.spec);
    if run.run == 0 || run.sought != sought {
        let error = sought.is_none().then(|| "spec.connection says neither kubernetes nor docker".to_owned());
        **run = ClusterRun { run: number, sought, found: None, error };
        state.objects.touch(key);
    }
}

pub(crate) fn looked(state: &mut State, name: &str, number: u64, outcome: Result<FoundCluster, Failure>) {
    let now = state.now;
    let key = ObjectKey::new(ObjectKind::Cluster, name);
    let Some(ObjectRecord { run: Run::Cluster(run), .. }) = state.objects.records.get_mut(&key) else {
        return;
    };
    if run.run != number {
        return;
    }
    match outcome {
        Ok(found) => {
            let since = run.found.as_ref().filter(|_| run.error.is_none()).map_or(now, |(since, _)| *since);
            (run.found, run.error) = (Some((since, found)), None);
        }
        Err(failure) => run.error = Some(failure.to_string()),
    }
    state.objects.touch(&key);
}

/// Handles a runner that failed because of a bug.
pub(crate) fn broke(state: &mut State, name: &str, failure: Failure) {
    if let Some(ObjectRecord { run: Run::Cluster(run), .. }) = state.objects.get(ObjectKind::Cluster, name) {
        let number = run.run;
        looked(state, name, number, Err(failure));
    }
}

pub(super) fn plan(key: &ObjectKey, run: &ClusterRun) -> Plan {
    let Some(source) = run.sought.clone() else { return Plan::new() };
    Plan::from([Task::Cluster { name: key.name.clone(), run: run.run, source }])
}

pub(super) fn status(run: &ClusterRun) -> ClusterStatus {
    let status = match &run.found {
        Some((since, FoundCluster::Kubernetes(info))) => {
            ClusterStatus { connected_at: Some(*since), ..ClusterStatus::from(&**info) }
        }
        Some((since, FoundCluster::Docker { version, arch })) => ClusterStatus {
            version: version.clone(),
            arch: arch.clone(),
            connected_at: Some(*since),
            ..ClusterStatus::default()
        },
        None => ClusterStatus::default(),
    };
    ClusterStatus { error: run.error.clone().unwrap_or_default(), ..status }
}
