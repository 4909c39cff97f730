//! `KubernetesApply`: objects that are applied as long as they are wanted.

use std::sync::Arc;

use lilt_api::{
    Content, KubernetesApplySpec, KubernetesApplyStatus, KubernetesDiscoverySpec, KubernetesWatchRef, Object,
    ObjectKey, ObjectKind,
};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::locator::ImageLocator;
use lilt_model::resource::Body;
use lilt_model::settings::ServerSideApply;
use lilt_model::{ClusterName, Failure, ResourceName, Timestamp, Uid};
use serde::Serialize;
use serde_json::{Value, json};

use super::pods::cluster_named;
use super::trigger::Triggers;
use super::{ANNOTATION_RESOURCE, ObjectRecord, Origin, Run, delete, disable, images, log_resource, put};
use crate::apply::clean_up;
use crate::event::AppliedObjects;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{ApplyJob, ApplySource, CleanupReason, Leftovers, Task};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ApplyRun {
    /// The number of the current apply.
    run: u64,
    /// The current job; none while the object is disabled or cannot be applied.
    job: Option<Arc<ApplyJob>>,
    followed: Triggers,
    started: Timestamp,
    /// The reason why it is not applied.
    refused: Option<String>,
    /// The time of the last apply, with the objects returned by the cluster or the error.
    outcome: Option<(Timestamp, Result<String, String>)>,
    /// The objects as last applied. They are deleted with this object.
    objects: Vec<Value>,
    /// Objects being applied: they may or may not exist in the cluster yet.
    coming: Vec<Value>,
    /// An apply command has run, so the delete command is needed.
    by_command: bool,
}

/// Contexts are allowed by loading a Tiltfile that deploys to them; nothing else is written to.
pub(super) fn is_allowed(state: &State, cluster: &ClusterName) -> bool {
    let deploys = |body: &Body| matches!(body, Body::Kubernetes(spec) if spec.cluster == *cluster);
    state.resources.values().any(|resource| deploys(&resource.spec.body))
}

/// Returns the job of an object, or the reason why it cannot run now.
fn job(state: &State, resource: ResourceName, spec: &KubernetesApplySpec) -> Result<ApplyJob, String> {
    let cluster = cluster_named(state, &spec.cluster);
    if !is_allowed(state, &cluster) {
        return Err("no resource of the Tiltfile deploys to this cluster, so that nothing says that it may be written to"
            .to_owned());
    }
    let source = match &spec.apply_cmd {
        Some(command) => ApplySource::Command(command.command(state.folder())),
        None => ApplySource::Text(spec.yaml.clone()),
    };
    Ok(ApplyJob {
        cluster,
        source,
        images: images::built(state, &spec.image_maps)?,
        locators: spec.image_locators.iter().map(ImageLocator::from).collect(),
        timeout: spec.timeout.map(|timeout| timeout.0).filter(|timeout| !timeout.is_zero()),
        merge: match spec.server_side_apply {
            true => ServerSideApply::Always,
            false => state.settings.server_side_apply,
        },
        resource,
        unattended: state.is_unattended(),
    })
}

pub(super) fn reconcile(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { object, content: Content::KubernetesApply(apply), .. }) =
        state.objects.records.get(key)
    else {
        return;
    };
    let (resource, spec) = (log_resource(object), apply.spec.clone());
    let is_off = disable::is_off(state, key, spec.disable_source.as_ref());
    let number = state.next_sequence();
    let now = state.now;
    let asked = Triggers::new(state, None, spec.restart_on.as_ref());
    let job = if is_off { None } else { Some(job(state, resource, &spec)) };
    let (wanted, refused) = match job.transpose() {
        Ok(wanted) => (wanted, None),
        Err(why) => (None, Some(why)),
    };
    let Some(ObjectRecord { run: Run::Apply(run), .. }) = state.objects.records.get_mut(key) else { return };
    // Applied objects stay while a new image is built.
    let waits = refused.is_some() && run.outcome.is_some();
    run.refused = refused;
    let again = wanted.is_some() && asked.is_newer(&run.followed);
    if !waits && (run.job.as_deref() != wanted.as_ref() || again) {
        run.run = number;
        run.started = now;
        run.job = wanted.map(Arc::new);
        run.outcome = None;
    }
    if !waits {
        run.followed = asked;
    }
    state.objects.touch(key);
    if is_off {
        forget(state, key);
    }
}

/// Deletes what was applied.
fn forget(state: &mut State, key: &ObjectKey) {
    let Some(record) = state.objects.records.get(key) else { return };
    let (resource, leftovers) = (log_resource(&record.object), leftovers(state, record));
    if let Some(ObjectRecord { run: Run::Apply(run), .. }) = state.objects.records.get_mut(key) {
        run.objects = Vec::new();
        run.coming = Vec::new();
        run.by_command = false;
    }
    clean_up_for(state, key, &resource, leftovers);
    delete(state, &ObjectKey::new(ObjectKind::KubernetesDiscovery, &key.name), false);
}

/// Starts a deletion, which must end before an object of this name applies again.
fn clean_up_for(state: &mut State, key: &ObjectKey, resource: &ResourceName, leftovers: Leftovers) {
    if let Some(cleanup) = clean_up(state, resource, leftovers, CleanupReason::Deleted) {
        state.objects.cleaning.insert(key.clone(), cleanup);
    }
}

/// Returns what an object has created in the cluster. What a command has deployed is deleted by a command.
fn leftovers(state: &State, record: &ObjectRecord) -> Leftovers {
    let (Run::Apply(run), Content::KubernetesApply(apply)) = (&record.run, &record.content) else {
        return Leftovers::default();
    };
    let undo = apply.spec.delete_cmd.as_ref().map(|command| command.command(state.folder()));
    // A cancelled apply may have done a part of its work.
    let is_command = run.job.as_ref().is_some_and(|job| job.is_command());
    let cluster = cluster_named(state, &apply.spec.cluster);
    let runs = is_command && run.outcome.is_none() && state.clusters.get(&cluster).info.is_some();
    match undo.filter(|_| run.by_command || runs) {
        Some(command) => Leftovers { cluster, objects: Vec::new(), command: Some(command) },
        None => Leftovers::objects(cluster, run.objects.iter().chain(&run.coming).cloned().collect()),
    }
}

/// Cleans up after the deletion of an object.
pub(super) fn gone(state: &mut State, key: &ObjectKey, record: &ObjectRecord) {
    let leftovers = leftovers(state, record);
    clean_up_for(state, key, &log_resource(&record.object), leftovers);
}

/// Records the objects of an apply that starts, so that a deletion during the first apply finds them.
pub(crate) fn coming(
    state: &mut State,
    name: &str,
    number: u64,
    resource: &ResourceName,
    mut coming: Leftovers,
) {
    let key = ObjectKey::new(ObjectKind::KubernetesApply, name);
    let run = match state.objects.records.get_mut(&key) {
        Some(ObjectRecord { run: Run::Apply(run), .. }) => run,
        _ => &mut ApplyRun::default(),
    };
    if run.job.is_none() && run.run != number {
        // The object was deleted or disabled at this moment.
        clean_up(state, resource, coming, CleanupReason::Deleted);
        return;
    }
    let known: Vec<ObjectRef> = run.objects.iter().chain(&run.coming).filter_map(ObjectRef::of).collect();
    coming.objects.retain(|object| ObjectRef::of(object).is_some_and(|object| !known.contains(&object)));
    run.coming.append(&mut coming.objects);
}

pub(crate) fn applied(state: &mut State, name: &str, number: u64, outcome: Result<AppliedObjects, Failure>) {
    let key = ObjectKey::new(ObjectKind::KubernetesApply, name);
    let now = state.now;
    let Some(ObjectRecord {
        object,
        content: Content::KubernetesApply(apply),
        run: Run::Apply(run),
        uid,
        ..
    }) = state.objects.records.get_mut(&key)
    else {
        return;
    };
    if run.run != number {
        return;
    }
    let coming = std::mem::take(&mut run.coming);
    let applied = match outcome {
        Ok(applied) => applied,
        Err(failure) => {
            run.by_command |= run.job.as_ref().is_some_and(|job| job.is_command());
            run.outcome = Some((now, Err(failure.to_string())));
            return state.objects.touch(&key);
        }
    };
    let AppliedObjects { objects, uids, result } = applied;
    let named: Vec<ObjectRef> = objects.iter().filter_map(ObjectRef::of).collect();
    let is_named = |object: &Value| ObjectRef::of(object).is_some_and(|object| named.contains(&object));
    // A deploy command itself deletes objects that it no longer wants.
    run.by_command = run.job.as_ref().is_some_and(|job| job.is_command());
    let keeps_all = run.by_command && apply.spec.delete_cmd.is_some();
    let dropped: Vec<Value> =
        run.objects.iter().chain(&coming).filter(|object| !keeps_all && !is_named(object)).cloned().collect();
    run.objects = objects;
    run.outcome = Some((now, Ok(result)));
    let (resource, spec, uid) = (log_resource(object), apply.spec.clone(), uid.clone());
    state.objects.touch(&key);
    let dropped = Leftovers::objects(cluster_named(state, &spec.cluster), dropped);
    clean_up(state, &resource, dropped, CleanupReason::Deleted);
    let mut discovery = Object::named(&key.name);
    discovery.annotate_if_absent(ANNOTATION_RESOURCE, resource.as_str());
    discovery.set_owner(&key, &uid);
    discovery.set_spec(&discovery_spec(state, &spec, &uids));
    discover(state, discovery, &key.name);
}

/// Creates the `KubernetesDiscovery` that finds the resulting pods.
fn discover(state: &mut State, discovery: Object, name: &str) {
    let key = ObjectKey::new(ObjectKind::KubernetesDiscovery, name);
    if state.objects.records.get(&key).is_none_or(|record| record.object != discovery) {
        let sequence = state.next_sequence();
        put(state, key, discovery, format!("apply-{sequence}"), Origin::Object);
    }
}

fn discovery_spec(
    state: &State,
    spec: &KubernetesApplySpec,
    applied: &[(ObjectRef, Uid)],
) -> KubernetesDiscoverySpec {
    let by_owner = spec.discovery_strategy != "selectors-only";
    let namespaced = applied.iter().filter(|(object, _)| !object.namespace.is_empty());
    let watch = |(object, uid): &(ObjectRef, Uid)| KubernetesWatchRef {
        uid: if by_owner { uid.to_string() } else { String::new() },
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    };
    let template = spec.kubernetes_discovery_template_spec.clone().unwrap_or_default();
    KubernetesDiscoverySpec {
        watches: namespaced.map(watch).collect(),
        extra_selectors: template.extra_selectors,
        port_forward_template_spec: spec.port_forward_template_spec.clone(),
        pod_log_stream_template_spec: spec.pod_log_stream_template_spec.clone(),
        cluster: cluster_named(state, &spec.cluster).object_name(),
    }
}

/// Handles a runner that failed because of a bug.
pub(crate) fn apply_broke(state: &mut State, name: &str, failure: Failure) {
    if let Some(Run::Apply(run)) =
        state.objects.get(ObjectKind::KubernetesApply, name).map(|record| &record.run)
    {
        let number = run.run;
        applied(state, name, number, Err(failure));
    }
}

/// Records the end of a deletion, and evaluates the object that waited for it.
pub(crate) fn cleaned_up(state: &mut State, cleanup: u64) {
    let ended = |(_, waited): &(&ObjectKey, &u64)| **waited == cleanup;
    let waiting: Vec<ObjectKey> =
        state.objects.cleaning.iter().filter(ended).map(|(key, _)| key.clone()).collect();
    for key in waiting {
        state.objects.cleaning.remove(&key);
        state.objects.touch(&key);
    }
}

pub(super) fn plan(state: &State, key: &ObjectKey, run: &ApplyRun) -> Plan {
    let may_begin = |job: &Arc<ApplyJob>| {
        state.clusters.get(&job.cluster).info.is_some() && !state.objects.cleaning.contains_key(key)
    };
    match run.job.clone().filter(|job| run.outcome.is_none() && may_begin(job)) {
        Some(job) => Plan::from([Task::Apply { name: key.name.clone(), run: run.run, job }]),
        None => Plan::new(),
    }
}

pub(super) fn status(run: &ApplyRun) -> KubernetesApplyStatus {
    let status =
        KubernetesApplyStatus { error: run.refused.clone().unwrap_or_default(), ..Default::default() };
    let Some((at, outcome)) = &run.outcome else { return status };
    let status = KubernetesApplyStatus {
        last_apply_start_time: Some(run.started),
        last_apply_time: Some(*at),
        ..status
    };
    match outcome {
        Err(error) => KubernetesApplyStatus { error: error.clone(), ..status },
        Ok(result) => KubernetesApplyStatus {
            result_yaml: result.clone(),
            applied_input_hash: input_hash(run),
            ..status
        },
    }
}

/// Returns a hash of all inputs of the apply.
fn input_hash(run: &ApplyRun) -> String {
    crate::project::text_hash(&json!(run.job.as_deref()).to_string())
}
