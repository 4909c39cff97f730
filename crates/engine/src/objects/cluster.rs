//! `Cluster`: one beside those of the session is reached, and told of.

use lilt_api::{Object, ObjectKey};
use lilt_model::{Failure, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{ObjectRecord, Run};
use crate::event::FoundCluster;
use crate::plan::Plan;
use crate::project::tell_cluster;
use crate::state::State;
use crate::task::{ClusterSource, Task};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ClusterRun {
    /// Every look has its own number.
    run: u64,
    sought: Option<ClusterSource>,
    /// What it is, and since when it answers.
    found: Option<(Timestamp, FoundCluster)>,
    /// Why it does not answer.
    error: Option<String>,
}

fn source(object: &Object) -> Option<ClusterSource> {
    let text = |path: &str| Some(object.text(path).to_owned()).filter(|text| !text.is_empty());
    let is_there = |path: &str| object.get(path).is_some_and(Value::is_object);
    if is_there("/spec/connection/kubernetes") {
        let context = text("/spec/connection/kubernetes/context");
        return Some(ClusterSource::Kubernetes {
            context,
            namespace: text("/spec/connection/kubernetes/namespace"),
        });
    }
    is_there("/spec/connection/docker")
        .then(|| ClusterSource::Docker { host: text("/spec/connection/docker/host") })
}

pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let number = state.next_sequence();
    let Some(ObjectRecord { object, run: Run::Cluster(run), .. }) = state.objects.made.get_mut(key) else {
        return;
    };
    let sought = source(object);
    if run.run == 0 || run.sought != sought {
        let error = sought.is_none().then(|| "spec.connection says neither kubernetes nor docker".to_owned());
        **run = ClusterRun { run: number, sought, found: None, error };
        state.objects.touch(key);
    }
}

pub(crate) fn looked(state: &mut State, name: &str, number: u64, outcome: Result<FoundCluster, Failure>) {
    let now = state.now;
    let key = ObjectKey::new("Cluster", name);
    let Some(ObjectRecord { run: Run::Cluster(run), .. }) = state.objects.made.get_mut(&key) else { return };
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

/// A runner broke: a bug of ours.
pub(crate) fn broke(state: &mut State, name: &str, failure: Failure) {
    if let Some(ObjectRecord { run: Run::Cluster(run), .. }) = state.objects.get("Cluster", name) {
        let number = run.run;
        looked(state, name, number, Err(failure));
    }
}

pub(super) fn plan(key: &ObjectKey, run: &ClusterRun) -> Plan {
    let Some(source) = run.sought.clone() else { return Plan::new() };
    Plan::from([Task::Cluster { name: key.name.clone(), run: run.run, source }])
}

pub(super) fn tell(run: &ClusterRun, status: &mut Map<String, Value>) {
    match &run.found {
        Some((since, FoundCluster::Kubernetes(info))) => tell_cluster(info, Some(*since), status),
        Some((since, FoundCluster::Docker { version, arch })) => {
            status.insert("version".to_owned(), json!(version));
            status.insert("arch".to_owned(), json!(arch));
            status.insert("connectedAt".to_owned(), json!(since));
        }
        None => {}
    }
    if let Some(error) = &run.error {
        status.insert("error".to_owned(), json!(error));
    }
}
