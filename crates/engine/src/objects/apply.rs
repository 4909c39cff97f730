//! `KubernetesApply`: objects that are applied as long as they are wanted.

use std::sync::Arc;

use lilt_api::fields::Fields;
use lilt_api::{Object, ObjectKey, owner_reference, reading};
use lilt_model::command::Command;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::resource::Body;
use lilt_model::settings::ServerSideApply;
use lilt_model::{ClusterName, Failure, ResourceName, Timestamp, Uid};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::pods::cluster_of;
use super::trigger::Triggers;
use super::{ANNOTATION_RESOURCE, ObjectRecord, Origin, Run, delete, disable, images, log_resource, put};
use crate::apply::clean_up;
use crate::event::AppliedObjects;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{ApplyJob, ApplySource, CleanupReason, Leftovers, Task};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ApplyRun {
    /// Every apply has its own number.
    run: u64,
    /// What is applied; none while it is switched off or cannot be.
    job: Option<Arc<ApplyJob>>,
    followed: Triggers,
    started: Timestamp,
    /// Why it is not applied.
    refused: Option<String>,
    /// When it was applied and what the cluster made of it, or why it was not.
    outcome: Option<(Timestamp, Result<String, String>)>,
    /// As they were last applied; they go with the object.
    objects: Vec<Value>,
    /// On their way: they may be in the cluster already, or come there yet.
    coming: Vec<Value>,
    /// A command has been run, and left what its other one deletes.
    by_command: bool,
}

/// Contexts are allowed by loading a Tiltfile that deploys to them; nothing else is written to.
pub(super) fn is_allowed(state: &State, cluster: &ClusterName) -> bool {
    let deploys = |body: &Body| matches!(body, Body::Kubernetes(spec) if spec.cluster == *cluster);
    state.resources.values().any(|resource| deploys(&resource.spec.body))
}

/// What its object asks for, or why that cannot be done now.
fn job(state: &State, object: &Object) -> Result<ApplyJob, String> {
    let cluster = cluster_of(state, object);
    if !is_allowed(state, &cluster) {
        return Err("no resource of the Tiltfile deploys to this cluster, so that nothing says that it may be written to"
            .to_owned());
    }
    let source = match command(state, object, "applyCmd") {
        Some(command) => ApplySource::Command(command),
        None => ApplySource::Text(object.text("/spec/yaml").to_owned()),
    };
    let locators = object.get("/spec/imageLocators").and_then(Value::as_array);
    Ok(ApplyJob {
        cluster,
        source,
        images: images::built(state, &object.texts("/spec/imageMaps"))?,
        locators: locators.into_iter().flatten().map(reading::locator).collect(),
        timeout: lilt_model::duration::parse(object.text("/spec/timeout")).ok().filter(|it| !it.is_zero()),
        merge: match object.get("/spec/serverSideApply").and_then(Value::as_bool) {
            Some(true) => ServerSideApply::Always,
            _ => state.settings.server_side_apply,
        },
        resource: log_resource(object),
    })
}

fn command(state: &State, object: &Object, field: &str) -> Option<Command> {
    let command = object.get(&format!("/spec/{field}")).filter(|command| command.is_object())?;
    Some(reading::command(command, state.folder()))
}

pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let is_off = disable::is_off(state, key);
    let number = state.next_sequence();
    let now = state.now;
    let Some(made) = state.objects.made.get(key) else { return };
    let asked = Triggers::of(state, &made.object);
    let job = if is_off { None } else { Some(job(state, &made.object)) };
    let (wanted, refused) = match job.transpose() {
        Ok(wanted) => (wanted, None),
        Err(why) => (None, Some(why)),
    };
    let Some(ObjectRecord { run: Run::Apply(run), .. }) = state.objects.made.get_mut(key) else { return };
    // What is applied stays so while a new image is built.
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
    let Some(made) = state.objects.made.get(key) else { return };
    let (resource, leftovers) = (log_resource(&made.object), leftovers(state, made));
    if let Some(ObjectRecord { run: Run::Apply(run), .. }) = state.objects.made.get_mut(key) {
        run.objects = Vec::new();
        run.coming = Vec::new();
        run.by_command = false;
    }
    clean_up_for(state, key, &resource, leftovers);
    delete(state, &ObjectKey::new("KubernetesDiscovery", &key.name), false);
}

/// What is being deleted must be gone before an object of this name applies it again.
fn clean_up_for(state: &mut State, key: &ObjectKey, resource: &ResourceName, leftovers: Leftovers) {
    if let Some(cleanup) = clean_up(state, resource, leftovers, CleanupReason::Deleted) {
        state.objects.cleaning.insert(key.clone(), cleanup);
    }
}

/// What is in the cluster because of an object. A command deletes what a command has deployed, all of it.
fn leftovers(state: &State, made: &ObjectRecord) -> Leftovers {
    let Run::Apply(run) = &made.run else { return Leftovers::default() };
    let undo = command(state, &made.object, "deleteCmd");
    // One that is cut off may have done a part of its work.
    let is_command = run.job.as_ref().is_some_and(|job| job.is_command());
    let cluster = cluster_of(state, &made.object);
    let runs = is_command && run.outcome.is_none() && state.clusters.get(&cluster).info.is_some();
    match undo.filter(|_| run.by_command || runs) {
        Some(command) => Leftovers { cluster, objects: Vec::new(), command: Some(command) },
        None => Leftovers::objects(cluster, run.objects.iter().chain(&run.coming).cloned().collect()),
    }
}

/// Its object is gone.
pub(super) fn gone(state: &mut State, key: &ObjectKey, made: &ObjectRecord) {
    let leftovers = leftovers(state, made);
    clean_up_for(state, key, &log_resource(&made.object), leftovers);
}

/// Who deletes its object in the middle of its first apply must find what that brings.
pub(crate) fn coming(
    state: &mut State,
    name: &str,
    number: u64,
    resource: &ResourceName,
    mut coming: Leftovers,
) {
    let key = ObjectKey::new("KubernetesApply", name);
    let run = match state.objects.made.get_mut(&key) {
        Some(ObjectRecord { run: Run::Apply(run), .. }) => run,
        _ => &mut ApplyRun::default(),
    };
    if run.job.is_none() && run.run != number {
        // Too late: it was deleted, or switched off, in this very moment.
        clean_up(state, resource, coming, CleanupReason::Deleted);
        return;
    }
    let known: Vec<ObjectRef> = run.objects.iter().chain(&run.coming).filter_map(ObjectRef::of).collect();
    coming.objects.retain(|object| ObjectRef::of(object).is_some_and(|object| !known.contains(&object)));
    run.coming.append(&mut coming.objects);
}

pub(crate) fn applied(state: &mut State, name: &str, number: u64, outcome: Result<AppliedObjects, Failure>) {
    let key = ObjectKey::new("KubernetesApply", name);
    let now = state.now;
    let Some(ObjectRecord { object, run: Run::Apply(run), uid, .. }) = state.objects.made.get_mut(&key)
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
    // What a command has deployed is its own: it deletes what it no longer wants.
    run.by_command = run.job.as_ref().is_some_and(|job| job.is_command());
    let keeps_all = run.by_command && object.get("/spec/deleteCmd").is_some_and(Value::is_object);
    let dropped: Vec<Value> =
        run.objects.iter().chain(&coming).filter(|object| !keeps_all && !is_named(object)).cloned().collect();
    run.objects = objects;
    run.outcome = Some((now, Ok(result)));
    let (object, uid) = (object.clone(), uid.clone());
    state.objects.touch(&key);
    let dropped = Leftovers::objects(cluster_of(state, &object), dropped);
    clean_up(state, &log_resource(&object), dropped, CleanupReason::Deleted);
    discover(state, &key, &object, &uid, &uids);
}

/// The pods that come of it are looked for by an object of its own.
fn discover(state: &mut State, owner: &ObjectKey, apply: &Object, uid: &str, applied: &[(ObjectRef, Uid)]) {
    let key = ObjectKey::new("KubernetesDiscovery", &owner.name);
    let by_owner = apply.text("/spec/discoveryStrategy") != "selectors-only";
    let namespaced = applied.iter().filter(|(object, _)| !object.namespace.is_empty());
    let watch = |(object, uid): &(ObjectRef, Uid)| {
        let uid = if by_owner { uid.as_str() } else { "" };
        json!({"uid": uid, "namespace": object.namespace, "name": object.name})
    };
    let mut spec = json!({"watches": namespaced.map(watch).collect::<Vec<_>>(), "cluster": cluster_of(state, apply).object_name()});
    let templates = [
        ("extraSelectors", "kubernetesDiscoveryTemplateSpec/extraSelectors"),
        ("podLogStreamTemplateSpec", "podLogStreamTemplateSpec"),
        ("portForwardTemplateSpec", "portForwardTemplateSpec"),
    ];
    for (field, from) in templates {
        if let Some(value) = apply.get(&format!("/spec/{from}")).filter(|value| !value.is_null()) {
            spec[field] = value.clone();
        }
    }
    let mut object = Object::named(&owner.name);
    object.annotate_unless_said(ANNOTATION_RESOURCE, log_resource(apply).as_str());
    object.metadata.insert("ownerReferences".to_owned(), json!([owner_reference(owner, uid)]));
    object.content.insert("spec".to_owned(), spec);
    if state.objects.made.get(&key).is_none_or(|made| made.object != object) {
        let sequence = state.next_sequence();
        put(state, key, object, format!("apply-{sequence}"), Origin::Object);
    }
}

/// A runner broke: a bug of ours.
pub(crate) fn apply_broke(state: &mut State, name: &str, failure: Failure) {
    if let Some(Run::Apply(run)) = state.objects.get("KubernetesApply", name).map(|made| &made.run) {
        let number = run.run;
        applied(state, name, number, Err(failure));
    }
}

/// A deletion has ended: what waited for it goes on.
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

pub(super) fn tell(run: &ApplyRun, status: &mut Map<String, Value>) {
    let mut fields = Fields::new().put_unless_empty("error", run.refused.clone().unwrap_or_default());
    if let Some((at, outcome)) = &run.outcome {
        fields = fields.put("lastApplyStartTime", json!(run.started)).put("lastApplyTime", json!(at));
        fields = match outcome {
            Err(error) => fields.put("error", error.as_str()),
            Ok(result) => fields.put("resultYAML", result.as_str()).put("appliedInputHash", input_hash(run)),
        };
    }
    status.extend(fields.value().as_object().cloned().unwrap_or_default());
}

/// Another one if anything that goes into the apply is another.
fn input_hash(run: &ApplyRun) -> String {
    crate::project::text_hash(&json!(run.job.as_deref()).to_string())
}
