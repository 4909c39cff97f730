//! `KubernetesApply`: objects that are applied as long as they are wanted.

use lilt_model::api::fields::Fields;
use lilt_model::api::{Object, ObjectKey, owner_reference};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::resource::Body;
use lilt_model::{Failure, ResourceName, Timestamp, Uid};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::trigger::Triggers;
use super::{Made, Origin, RESOURCE, Run, delete, disable, put};
use crate::apply::clean_up;
use crate::event::AppliedObjects;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{CleanupReason, TaskId, TaskSpec};

/// What the cluster calls what was applied, or why it was not.
type Outcome = Result<Vec<(ObjectRef, Uid)>, String>;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ApplyRun {
    /// Every apply has its own number.
    run: u64,
    /// What is applied; none while it is switched off or cannot be.
    yaml: Option<String>,
    followed: Triggers,
    started: Timestamp,
    /// Why it is not applied.
    refused: Option<String>,
    outcome: Option<(Timestamp, Outcome)>,
    /// As they were last applied; they go with the object.
    objects: Vec<Value>,
}

/// What of the specification lilt cannot do.
fn missing(object: &Object) -> Option<&'static str> {
    let is_there = |pointer: &str| object.get(pointer).is_some_and(|value| !value.is_null());
    if is_there("/spec/applyCmd") {
        return Some("not supported yet: applyCmd");
    }
    let images = !object.texts("/spec/imageMaps").is_empty();
    images.then_some("not supported yet: imageMaps of an object that no Tiltfile's resource stands for")
}

/// Contexts are allowed by loading a Tiltfile that deploys to them; nothing else is written to.
fn is_allowed(state: &State) -> bool {
    state.resources.values().any(|resource| matches!(resource.spec.body, Body::Kubernetes(_)))
}

fn resource(object: &Object) -> ResourceName {
    object.annotation(RESOURCE).map_or_else(ResourceName::tiltfile, ResourceName::new)
}

pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let is_off = disable::is_off(state, key);
    let number = state.next_sequence();
    let now = state.now;
    let Some(made) = state.objects.made.get(key) else { return };
    let refused = missing(&made.object).map(str::to_owned).or_else(|| {
        let words = "no resource of the Tiltfile deploys to this cluster, so that nothing says that it may be written to";
        (!is_allowed(state)).then(|| words.to_owned())
    });
    let asked = Triggers::of(state, &made.object);
    let wanted = made.object.text("/spec/yaml").to_owned();
    let wanted = Some(wanted).filter(|_| !is_off && refused.is_none());
    let Some(Made { run: Run::Apply(run), .. }) = state.objects.made.get_mut(key) else { return };
    run.refused = refused.filter(|_| !is_off);
    let again = wanted.is_some() && asked.is_newer(&run.followed);
    if run.yaml != wanted || again {
        run.run = number;
        run.started = now;
        run.yaml = wanted;
        run.outcome = None;
    }
    run.followed = asked;
    let gone = if run.yaml.is_none() { std::mem::take(&mut run.objects) } else { Vec::new() };
    state.objects.touch(key);
    if !gone.is_empty() {
        forget(state, key, gone);
    }
}

/// Deletes what was applied.
fn forget(state: &mut State, key: &ObjectKey, objects: Vec<Value>) {
    let resource =
        state.objects.made.get(key).map_or_else(ResourceName::tiltfile, |made| resource(&made.object));
    clean_up(state, &resource, objects, CleanupReason::Deleted);
    delete(state, &ObjectKey::new("KubernetesDiscovery", &key.name), false);
}

/// Its object is gone.
pub(super) fn gone(state: &mut State, made: &Made) {
    if let Run::Apply(run) = &made.run {
        clean_up(state, &resource(&made.object), run.objects.clone(), CleanupReason::Deleted);
    }
}

pub(crate) fn applied(state: &mut State, name: &str, number: u64, outcome: Result<AppliedObjects, Failure>) {
    let key = ObjectKey::new("KubernetesApply", name);
    let now = state.now;
    let Some(Made { object, run: Run::Apply(run), uid, .. }) = state.objects.made.get_mut(&key) else {
        return;
    };
    if run.run != number {
        return;
    }
    let (resource, uid) = (resource(object), uid.clone());
    let applied = match outcome {
        Ok(applied) => applied,
        Err(failure) => {
            run.outcome = Some((now, Err(failure.to_string())));
            return state.objects.touch(&key);
        }
    };
    let named: Vec<ObjectRef> = applied.objects.iter().filter_map(ObjectRef::of).collect();
    let is_named = |object: &Value| ObjectRef::of(object).is_some_and(|object| named.contains(&object));
    let dropped: Vec<Value> = run.objects.iter().filter(|object| !is_named(object)).cloned().collect();
    run.objects = applied.objects;
    run.outcome = Some((now, Ok(applied.uids.clone())));
    state.objects.touch(&key);
    clean_up(state, &resource, dropped, CleanupReason::Deleted);
    discover(state, &key, &uid, &resource, &applied.uids);
}

/// The pods that come of it are looked for by an object of its own.
fn discover(
    state: &mut State,
    owner: &ObjectKey,
    uid: &str,
    resource: &ResourceName,
    applied: &[(ObjectRef, Uid)],
) {
    let key = ObjectKey::new("KubernetesDiscovery", &owner.name);
    let namespaced = applied.iter().filter(|(object, _)| !object.namespace.is_empty());
    let watches: Vec<Value> = namespaced
        .map(|(object, uid)| json!({"uid": uid, "namespace": object.namespace, "name": object.name}))
        .collect();
    let mut object = Object::named(&owner.name);
    object.annotate_unless_said(RESOURCE, resource.as_str());
    object.metadata.insert("ownerReferences".to_owned(), json!([owner_reference(owner, uid)]));
    object.content.insert("spec".to_owned(), json!({"watches": watches, "cluster": "default"}));
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

pub(super) fn plan(state: &State, key: &ObjectKey, object: &Object, run: &ApplyRun) -> Plan {
    let wanted = run.yaml.clone().filter(|_| run.outcome.is_none() && state.cluster.info.is_some());
    let Some(yaml) = wanted else { return Plan::new() };
    let timeout = lilt_model::duration::parse(object.text("/spec/timeout")).ok();
    let spec = TaskSpec::Apply { run: run.run, yaml, timeout, resource: resource(object) };
    Plan::from([(TaskId::Apply(key.name.clone()), spec)])
}

pub(super) fn tell(run: &ApplyRun, status: &mut Map<String, Value>) {
    let mut fields = Fields::new().put_unless_empty("error", run.refused.clone().unwrap_or_default());
    if let Some((at, outcome)) = &run.outcome {
        fields = fields.put("lastApplyStartTime", json!(run.started)).put("lastApplyTime", json!(at));
        fields = match outcome {
            Err(error) => fields.put("error", error.as_str()),
            Ok(uids) => fields
                .put("resultYAML", crate::project::result_yaml(uids))
                .put("appliedInputHash", crate::project::text_hash(run.yaml.as_deref().unwrap_or_default())),
        };
    }
    status.extend(fields.value().as_object().cloned().unwrap_or_default());
}
