//! Drift: applied objects that somebody else deleted or changed.
//!
//! An object whose fingerprint differs from the one after its apply becomes a suspect. `Task::Inspect` then
//! compares it with its manifest. Fields that the manifest does not set are no drift.

use lilt_model::kubernetes::{ObjectRef, ObjectScope};
use lilt_model::log::Level;
use lilt_model::settings::DriftPolicy;
use lilt_model::{ClusterName, ResourceName};

use crate::event::{Deployed, Drift};
use crate::state::{KubernetesState, ResourceState, State};

/// Objects deployed by a command carry no label of lilt, so each needs a watch of its own. With more objects
/// than this, only workloads are watched.
const MAX_SINGLE_OBJECT_WATCHES: usize = 50;
/// The maximum number of corrections in a row: another controller may keep reverting them.
const MAX_CORRECTIONS: u32 = 5;

/// Handles the list of all objects of a scope. Applied objects that are not in the list are gone.
pub(super) fn listed(state: &mut State, scope: &ObjectScope, objects: Vec<(String, String)>) {
    let missing: Vec<ObjectRef> = state
        .clusters
        .get(&scope.cluster)
        .applied
        .keys()
        .filter(|object| is_in(scope, object) && objects.iter().all(|(name, _)| *name != object.name))
        .cloned()
        .collect();
    for object in missing {
        record_observed(state, &scope.cluster, object, None);
    }
    for (name, fingerprint) in objects {
        record_observed(state, &scope.cluster, scope.object(&name), Some(fingerprint));
    }
}

fn is_in(scope: &ObjectScope, object: &ObjectRef) -> bool {
    scope.object(&object.name) == *object && scope.name.as_ref().is_none_or(|name| *name == object.name)
}

pub(super) fn changed(state: &mut State, scope: &ObjectScope, name: &str, fingerprint: String) {
    record_observed(state, &scope.cluster, scope.object(name), Some(fingerprint));
}

pub(super) fn gone(state: &mut State, scope: &ObjectScope, name: &str, fingerprint: &str) {
    let object = scope.object(name);
    // The deletion of an object that was replaced may be reported after its replacement.
    let uid = fingerprint.split(':').next().unwrap_or_default();
    let applied = &state.clusters.get(&scope.cluster).applied;
    let known = applied.get(&object).and_then(|name| state.resources.get(name));
    let known = known.and_then(ResourceState::kubernetes).and_then(|it| it.deployed.as_ref());
    let ours = known.into_iter().flat_map(|deployed| &deployed.objects).find(|(it, _)| *it == object);
    if ours.is_some_and(|(_, known)| known.as_str() == uid) {
        record_observed(state, &scope.cluster, object, None);
    }
}

/// Records the observed fingerprint of an applied object; none if the object does not exist.
fn record_observed(state: &mut State, cluster: &ClusterName, object: ObjectRef, fingerprint: Option<String>) {
    if state.settings.drift == DriftPolicy::Ignore {
        return;
    }
    let Some(name) = state.clusters.get(cluster).applied.get(&object).cloned() else { return };
    let Some(resource) = state.resources.get_mut(&name) else { return };
    let updating = resource.update.is_some();
    let failed = resource.last().is_some_and(|last| last.failure.is_some());
    let Some(kubernetes) = resource.kubernetes_mut() else { return };
    if updating {
        kubernetes.drifting.meanwhile.insert(object, fingerprint);
        return;
    }
    match fingerprint {
        None if object.kind == "Job" => {} // Done, and tidied up.
        None => record_drift(state, &name, object, Some(Drift::Deleted)),
        Some(fingerprint)
            if known_fingerprint(kubernetes, &object).is_none_or(|known| *known == fingerprint) =>
        {
            kubernetes.drifting.suspects.remove(&object);
            record_drift(state, &name, object, None);
        }
        // Objects of a failed update may differ from their manifests, and the failure was reported already.
        Some(_) if failed => {}
        Some(fingerprint) => {
            let inspection = state.next_sequence();
            if let Some(kubernetes) = state.resources.get_mut(&name).and_then(ResourceState::kubernetes_mut) {
                kubernetes.drifting.suspects.insert(object, fingerprint);
                kubernetes.drifting.inspection = inspection;
            }
            state.touch(&name);
        }
    }
}

fn known_fingerprint<'k>(kubernetes: &'k KubernetesState, object: &ObjectRef) -> Option<&'k String> {
    let deployed = kubernetes.deployed.as_ref()?;
    let at = deployed.objects.iter().position(|(known, _)| known == object)?;
    deployed.marks.get(at)
}

/// Records the drift of an object, or that there is none, and logs a change.
fn record_drift(state: &mut State, name: &ResourceName, object: ObjectRef, drift: Option<Drift>) {
    let correct = state.settings.drift == DriftPolicy::Correct;
    let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) else {
        return;
    };
    let found = &mut kubernetes.drifting.found;
    let before = found.get(&object).cloned();
    if before == drift {
        return;
    }
    let words = match &drift {
        None => format!("{object} is again as it was applied"),
        Some(drift) => {
            let then = match kubernetes.drifting.corrections {
                MAX_CORRECTIONS.. if correct => {
                    "; somebody keeps doing that, so it is left until the next update"
                }
                _ if correct => "; it is put right now",
                _ => "; the next update puts it right",
            };
            format!("WARNING: {}{then}", drift.words(&object))
        }
    };
    let level = if drift.is_some() { Level::Warn } else { Level::Info };
    match drift {
        Some(drift) => found.insert(object, drift),
        None => found.remove(&object),
    };
    state.note(name, level, words);
    state.touch(name);
}

pub(super) fn inspected(
    state: &mut State,
    name: &ResourceName,
    inspection: u64,
    found: Vec<(ObjectRef, Option<Drift>)>,
) {
    let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) else {
        return;
    };
    if kubernetes.drifting.inspection != inspection {
        return;
    }
    let suspects = std::mem::take(&mut kubernetes.drifting.suspects);
    for (object, drift) in found {
        // A new version without drift: its fingerprint becomes the known one.
        if let (None, Some(fingerprint)) = (&drift, suspects.get(&object))
            && let Some(deployed) = state.resources.get_mut(name).and_then(deployed_mut)
            && let Some(at) = deployed.objects.iter().position(|(known, _)| *known == object)
            && let Some(known) = deployed.marks.get_mut(at)
        {
            known.clone_from(fingerprint);
        }
        record_drift(state, name, object, drift);
    }
    state.touch(name);
}

fn deployed_mut(resource: &mut ResourceState) -> Option<&mut Deployed> {
    resource.kubernetes_mut()?.deployed.as_mut()
}

/// Evaluates what was observed during an update that has ended against the objects applied now.
pub(super) fn update_ended(state: &mut State, name: &ResourceName) {
    let cluster = state.cluster_of(name);
    let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) else {
        return;
    };
    kubernetes.drifting.needed = false;
    for (object, fingerprint) in std::mem::take(&mut kubernetes.drifting.meanwhile) {
        // Deletions are ignored: the update itself recreated the object, or no longer contains it.
        if fingerprint.is_some() {
            record_observed(state, &cluster, object, fingerprint);
        }
    }
}

/// Registers the applied objects of a resource, and the scopes to watch them in.
pub(super) fn record_applied(state: &mut State, name: &ResourceName, deployed: &Deployed) {
    let labelled = deployed.is_labelled();
    let cluster_name = state.cluster_of(name);
    let cluster = state.clusters.get_mut(&cluster_name);
    let before = cluster.scopes.len();
    let all = labelled || deployed.objects.len() <= MAX_SINGLE_OBJECT_WATCHES;
    for (object, _) in deployed.objects.iter().filter(|(object, _)| all || is_workload(object)) {
        if cluster.applied.insert(object.clone(), name.clone()).is_none() {
            *cluster.scopes.entry(ObjectScope::of(&cluster_name, object, labelled)).or_default() += 1;
        }
    }
    if cluster.scopes.len() > before {
        state.touch_session();
    }
}

/// Returns whether an object runs pods. Of many objects, only these are watched.
fn is_workload(object: &ObjectRef) -> bool {
    matches!(object.kind.as_str(), "Deployment" | "StatefulSet" | "DaemonSet" | "Pod")
}

/// Unregisters the applied objects of a resource and forgets their drift.
pub(super) fn forget_applied(state: &mut State, name: &ResourceName) {
    let cluster_name = state.cluster_of(name);
    let State { resources, clusters, .. } = state;
    let cluster = clusters.get_mut(&cluster_name);
    let Some(kubernetes) = resources.get_mut(name).and_then(ResourceState::kubernetes_mut) else { return };
    kubernetes.drifting.found.clear();
    kubernetes.drifting.suspects.clear();
    let Some(deployed) = &kubernetes.deployed else { return };
    let labelled = deployed.is_labelled();
    let mut emptied = false;
    for (object, _) in &deployed.objects {
        if cluster.applied.get(object) != Some(name) {
            continue;
        }
        cluster.applied.remove(object);
        let scope = ObjectScope::of(&cluster_name, object, labelled);
        if let Some(count) = cluster.scopes.get_mut(&scope) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                cluster.scopes.remove(&scope);
                emptied = true;
            }
        }
    }
    if emptied {
        state.touch_session();
    }
}

/// Applies a changed drift policy. With `Ignore`, known drift is forgotten.
pub(super) fn policy_changed(state: &mut State) {
    state.touch_session();
    if state.settings.drift != DriftPolicy::Ignore {
        return;
    }
    let names: Vec<ResourceName> = state.resources.keys().cloned().collect();
    for name in names {
        let kubernetes = state.resources.get_mut(&name).and_then(ResourceState::kubernetes_mut);
        let Some(drifting) = kubernetes.map(|kubernetes| &mut kubernetes.drifting) else { continue };
        drifting.suspects.clear();
        drifting.found.clear();
        state.touch(&name);
    }
}

/// Returns whether drift of a resource is to be corrected automatically.
pub(crate) fn corrects(state: &State, resource: &ResourceState) -> bool {
    let Some(drifting) = resource.kubernetes().map(|kubernetes| &kubernetes.drifting) else { return false };
    if drifting.found.is_empty() {
        return false;
    }
    let wanted = state.settings.drift == DriftPolicy::Correct && drifting.corrections < MAX_CORRECTIONS;
    (wanted && !has_failed(state, resource)) || drifting.needed
}

/// Returns whether the last update failed and must not be retried automatically. It is retried once
/// `uncategorized`, which contains its namespace, was deployed successfully after it.
fn has_failed(state: &State, resource: &ResourceState) -> bool {
    let base = state.resources.get(ResourceName::UNCATEGORIZED).and_then(ResourceState::last);
    let failed = resource.last().filter(|last| last.failure.is_some());
    failed.is_some_and(|last| base.is_none_or(|base| base.failure.is_some() || base.id < last.id))
}

/// Returns whether namespaces or custom resource definitions that a deployment may need were deleted in the
/// cluster.
pub(crate) fn lacks_base(state: &State, resource: &ResourceState) -> bool {
    !resource.spec.name.is_uncategorized()
        && state
            .resources
            .get(ResourceName::UNCATEGORIZED)
            .filter(|base| !base.disabled && base.last().is_none_or(|last| last.failure.is_none()))
            .and_then(ResourceState::kubernetes)
            .is_some_and(|base| base.drifting.lacks_objects() && !base.drifting.needed)
}

/// Requests an update of `uncategorized`, which restores them.
pub(crate) fn request_base(state: &mut State) {
    let base = state.resources.get_mut(ResourceName::UNCATEGORIZED).and_then(ResourceState::kubernetes_mut);
    if let Some(base) = base {
        base.drifting.needed = true;
    }
}
