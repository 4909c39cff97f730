//! Derives the tasks that should be running from the state.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use lilt_model::files::WatchOptions;
use lilt_model::kubernetes::{KubernetesResource, ObjectScope};
use lilt_model::resource::Body;
use lilt_model::settings::DriftPolicy;
use lilt_model::{ClusterName, ImageName, ResourceName};

use crate::controllers::{command, file_watch, live_update, log_stream, port_forward};
use crate::event::WatchId;
use crate::objects::plan_object;
use crate::outage::{self, OutageState};
use crate::owner::Owner;
use crate::state::{
    BodyState, Cleanup, ClusterState, ImageState, KubernetesState, ResourceState, RunningUpdate, State,
    TiltfileState, UpdateKind,
};
use crate::task::{Inspection, Task, TaskId};
use crate::telemetry;

/// The tasks that should be running, each in its slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan(BTreeMap<TaskId, Task>);

impl Plan {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn insert(&mut self, task: Task) {
        self.0.insert(task.id(), task);
    }

    /// Removes a task.
    pub fn remove(&mut self, id: &TaskId) -> Option<Task> {
        self.0.remove(id)
    }

    pub fn into_keys(self) -> impl Iterator<Item = TaskId> {
        self.0.into_keys()
    }

    pub fn into_values(self) -> impl Iterator<Item = Task> {
        self.0.into_values()
    }
}

impl Deref for Plan {
    type Target = BTreeMap<TaskId, Task>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Extend<Task> for Plan {
    fn extend<T: IntoIterator<Item = Task>>(&mut self, tasks: T) {
        self.0.extend(tasks.into_iter().map(|task| (task.id(), task)));
    }
}

impl FromIterator<Task> for Plan {
    fn from_iter<T: IntoIterator<Item = Task>>(tasks: T) -> Self {
        let mut plan = Self::new();
        plan.extend(tasks);
        plan
    }
}

impl<const N: usize> From<[Task; N]> for Plan {
    fn from(tasks: [Task; N]) -> Self {
        tasks.into_iter().collect()
    }
}

impl IntoIterator for Plan {
    type Item = (TaskId, Task);
    type IntoIter = std::collections::btree_map::IntoIter<TaskId, Task>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Returns the whole plan: that of the session, of every resource and of every object.
pub fn plan(state: &State) -> Plan {
    let mut plan = plan_session(state);
    for name in state.resources.keys() {
        plan.extend(plan_resource(state, name).into_values());
    }
    for key in state.objects.records.keys() {
        plan.extend(plan_object(state, key).into_values());
    }
    plan
}

/// Returns the tasks that belong to no resource.
pub fn plan_session(state: &State) -> Plan {
    let mut plan = Plan::new();
    for (name, tiltfile) in state.all_tiltfiles() {
        plan.extend(load_task(state, &name, tiltfile));
        if !tiltfile.watch.files().is_empty() {
            plan.insert(file_watch::task(WatchId::Tiltfile(name), &tiltfile.watch, WatchOptions::default()));
        }
    }
    for (name, cluster) in state.clusters.iter() {
        plan.extend(cluster_tasks(state, name, cluster).into_values());
    }
    if let Some((at, _)) = state.alarms.first() {
        plan.insert(Task::Wake { at: *at });
    }
    if let Some(job) = &state.prune.running {
        plan.insert(Task::Prune(Box::new(job.clone())));
    }
    plan.extend(telemetry::task(state));
    for (outage, awaited) in &state.outages {
        let OutageState { id, attempts, immediate, .. } = *awaited;
        let (outage, limit) = (outage.clone(), outage::probe_limit(state, outage));
        plan.insert(Task::Outage { outage, id, attempts, immediate, limit });
    }
    for (id, cleanup) in &state.cleanups {
        let Cleanup { resource, leftovers, reason } = cleanup.clone();
        plan.insert(Task::Cleanup { cleanup: *id, resource, leftovers, reason });
    }
    plan
}

fn cluster_tasks(state: &State, name: &ClusterName, cluster: &ClusterState) -> Plan {
    if cluster.info.is_none() {
        let connect = Task::Connect { cluster: name.clone(), reconnect: cluster.reconnect };
        return cluster.wanted.then_some(connect).into_iter().collect();
    }
    let namespace = |namespace: &String| Task::Namespace {
        cluster: name.clone(),
        namespace: namespace.clone(),
        reconnect: cluster.reconnect,
    };
    let scope = |scope: &ObjectScope| Task::Objects { scope: scope.clone() };
    let finds_drift = state.settings.drift != DriftPolicy::Ignore;
    let scopes = cluster.scopes.keys().filter(|_| finds_drift);
    let tasks = cluster.namespaces.iter().map(namespace).chain(scopes.map(scope));
    tasks.chain([Task::Kubeconfig { cluster: name.clone() }]).collect()
}

fn load_task(state: &State, name: &ResourceName, tiltfile: &TiltfileState) -> Option<Task> {
    let load = tiltfile.loading.as_ref()?;
    let others = state.all_tiltfiles().filter(|(other, _)| other != name);
    Some(Task::Load {
        tiltfile: name.clone(),
        load: load.id,
        cause: load.cause.clone(),
        path: tiltfile.path.clone(),
        args: tiltfile.args.clone(),
        secrets: others.flat_map(|(_, other)| other.secrets.clone()).collect(),
    })
}

/// Returns the tasks of one resource; none if there is no such resource.
pub fn plan_resource(state: &State, name: &ResourceName) -> Plan {
    let mut plan = Plan::new();
    let Some(resource) = state.resources.get(name).filter(|resource| !resource.disabled) else {
        return plan;
    };
    plan.extend(file_watch::plan(state, &Owner::from(name)).into_values());
    plan.extend(resource.update.as_ref().and_then(|update| update_task(name, update)));
    match (&resource.spec.body, &resource.body) {
        (Body::Local(_), BodyState::Local(_)) => {
            plan.extend(command::plan(state, &Owner::from(name)).into_values());
        }
        (Body::Kubernetes(spec), BodyState::Kubernetes(kubernetes)) => {
            plan_kubernetes(state, resource, spec, kubernetes, &mut plan);
        }
        _ => {}
    }
    plan
}

fn update_task(name: &ResourceName, update: &RunningUpdate) -> Option<Task> {
    let UpdateKind::Job(job) = &update.kind else { return None };
    let (resource, cause, job) = (name.clone(), update.cause.clone(), Arc::clone(job));
    Some(Task::Update { resource, update: update.id, cause, job })
}

fn plan_kubernetes(
    state: &State,
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
    plan: &mut Plan,
) {
    let name = &resource.spec.name;
    if state.clusters.get(&spec.cluster).info.is_none() {
        return;
    }
    let owner = Owner::from(name);
    plan.extend(log_stream::plan(state, &owner).into_values());
    plan.extend(port_forward::plan(state, &owner).into_values());
    plan.extend(inspection(state, resource, spec, kubernetes));
    plan.extend(live_update::plan(state, &owner).into_values());
}

/// Returns the task that compares changed objects with their manifests.
fn inspection(
    state: &State,
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
) -> Option<Task> {
    let drifting = &kubernetes.drifting;
    if drifting.suspects.is_empty() || resource.update.is_some() {
        return None;
    }
    let reference = |(name, image): (&ImageName, &ImageState)| Some((name.clone(), image.reference.clone()?));
    let inspection = Inspection {
        id: drifting.inspection,
        kubernetes: spec.clone(),
        images: kubernetes.images.iter().filter_map(reference).collect(),
        suspects: drifting.suspects.keys().cloned().collect(),
        manifests: kubernetes.deployed.as_ref().map(|it| it.manifests.clone()).unwrap_or_default(),
        namespace: state
            .clusters
            .get(&spec.cluster)
            .info
            .as_ref()
            .map(|info| info.namespace.clone())
            .unwrap_or_default(),
        merge: state.settings.server_side_apply,
    };
    Some(Task::Inspect { resource: resource.spec.name.clone(), inspection: Box::new(inspection) })
}
