//! Objects that somebody deleted or changed behind our back.
//!
//! A mark that is not the one an object had when it was applied makes it suspect; what differs from its manifest is
//! then looked at (`Task::Inspect`). What others fill in is no drift.

use lilt_model::kubernetes::{ObjectRef, ObjectScope};
use lilt_model::log::Level;
use lilt_model::settings::DriftPolicy;
use lilt_model::{ClusterName, ResourceName};

use crate::event::{Deployed, Drift};
use crate::state::{KubernetesState, ResourceState, State};

/// Of what a command deploys, each object has a watch of its own, as nothing marks them as ours.
const MOST_ALONE: usize = 50;
/// Who keeps changing it back would keep us updating for ever.
const MOST_CORRECTIONS: u32 = 5;

/// All objects of a scope; ours that are not among them are gone.
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
        saw(state, &scope.cluster, object, None);
    }
    for (name, mark) in objects {
        saw(state, &scope.cluster, scope.object(&name), Some(mark));
    }
}

fn is_in(scope: &ObjectScope, object: &ObjectRef) -> bool {
    scope.object(&object.name) == *object && scope.name.as_ref().is_none_or(|name| *name == object.name)
}

pub(super) fn changed(state: &mut State, scope: &ObjectScope, name: &str, mark: String) {
    saw(state, &scope.cluster, scope.object(name), Some(mark));
}

pub(super) fn gone(state: &mut State, scope: &ObjectScope, name: &str, mark: &str) {
    let object = scope.object(name);
    // One that was replaced is not gone; that it went may be heard late.
    let uid = mark.split(':').next().unwrap_or_default();
    let applied = &state.clusters.get(&scope.cluster).applied;
    let known = applied.get(&object).and_then(|name| state.resources.get(name));
    let known = known.and_then(ResourceState::kubernetes).and_then(|it| it.deployed.as_ref());
    let ours = known.into_iter().flat_map(|deployed| &deployed.objects).find(|(it, _)| *it == object);
    if ours.is_some_and(|(_, known)| known.as_str() == uid) {
        saw(state, &scope.cluster, object, None);
    }
}

/// None: it is not there.
fn saw(state: &mut State, cluster: &ClusterName, object: ObjectRef, mark: Option<String>) {
    if state.settings.drift == DriftPolicy::Ignore {
        return;
    }
    let Some(name) = state.clusters.get(cluster).applied.get(&object).cloned() else { return };
    let Some(resource) = state.resources.get_mut(&name) else { return };
    let updating = resource.update.is_some();
    let failed = resource.last().is_some_and(|last| last.failure.is_some());
    let Some(kubernetes) = resource.kubernetes_mut() else { return };
    if updating {
        kubernetes.drifting.meanwhile.insert(object, mark);
        return;
    }
    match mark {
        None if object.kind == "Job" => {} // Done, and tidied up.
        None => note(state, &name, object, Some(Drift::Deleted)),
        Some(mark) if known_mark(kubernetes, &object).is_none_or(|known| *known == mark) => {
            kubernetes.drifting.suspects.remove(&object);
            note(state, &name, object, None);
        }
        // What an update that failed has left behind is not what its manifest says, and that was told.
        Some(_) if failed => {}
        Some(mark) => {
            let inspection = state.next_sequence();
            if let Some(kubernetes) = state.resources.get_mut(&name).and_then(ResourceState::kubernetes_mut) {
                kubernetes.drifting.suspects.insert(object, mark);
                kubernetes.drifting.inspection = inspection;
            }
            state.touch(&name);
        }
    }
}

fn known_mark<'k>(kubernetes: &'k KubernetesState, object: &ObjectRef) -> Option<&'k String> {
    let deployed = kubernetes.deployed.as_ref()?;
    let at = deployed.objects.iter().position(|(known, _)| known == object)?;
    deployed.marks.get(at)
}

/// Remembers a drift or that there is none, and says so if that is news.
fn note(state: &mut State, name: &ResourceName, object: ObjectRef, drift: Option<Drift>) {
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
                MOST_CORRECTIONS.. if correct => {
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
        // It is what we want, only another version of it: from now on it is known by that one.
        if let (None, Some(mark)) = (&drift, suspects.get(&object))
            && let Some(deployed) = state.resources.get_mut(name).and_then(deployed_mut)
            && let Some(at) = deployed.objects.iter().position(|(known, _)| *known == object)
            && let Some(known) = deployed.marks.get_mut(at)
        {
            known.clone_from(mark);
        }
        note(state, name, object, drift);
    }
    state.touch(name);
}

fn deployed_mut(resource: &mut ResourceState) -> Option<&mut Deployed> {
    resource.kubernetes_mut()?.deployed.as_mut()
}

/// An update has ended: what was seen meanwhile is judged by what is applied now.
pub(super) fn update_ended(state: &mut State, name: &ResourceName) {
    let cluster = state.cluster_of(name);
    let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut) else {
        return;
    };
    kubernetes.drifting.needed = false;
    for (object, mark) in std::mem::take(&mut kubernetes.drifting.meanwhile) {
        // What the update itself deleted is there again, or is not ours any more.
        if mark.is_some() {
            saw(state, &cluster, object, mark);
        }
    }
}

/// Objects are ours from now on.
pub(super) fn adopt(state: &mut State, name: &ResourceName, deployed: &Deployed) {
    let labelled = deployed.is_labelled();
    let cluster_name = state.cluster_of(name);
    let cluster = state.clusters.get_mut(&cluster_name);
    let before = cluster.scopes.len();
    let all = labelled || deployed.objects.len() <= MOST_ALONE;
    for (object, _) in deployed.objects.iter().filter(|(object, _)| all || is_workload(object)) {
        if cluster.applied.insert(object.clone(), name.clone()).is_none() {
            *cluster.scopes.entry(ObjectScope::of(&cluster_name, object, labelled)).or_default() += 1;
        }
    }
    if cluster.scopes.len() > before {
        state.touch_session();
    }
}

/// Of many, those that run are missed when they are gone.
fn is_workload(object: &ObjectRef) -> bool {
    matches!(object.kind.as_str(), "Deployment" | "StatefulSet" | "DaemonSet" | "Pod")
}

/// And no longer are.
pub(super) fn disown(state: &mut State, name: &ResourceName) {
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

/// Applies a changed policy: what is ignored from now on is forgotten.
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

/// Whether what was found is to be put right without being asked.
pub(crate) fn corrects(state: &State, resource: &ResourceState) -> bool {
    let Some(drifting) = resource.kubernetes().map(|kubernetes| &kubernetes.drifting) else { return false };
    if drifting.found.is_empty() {
        return false;
    }
    let wanted = state.settings.drift == DriftPolicy::Correct && drifting.corrections < MOST_CORRECTIONS;
    (wanted && !has_failed(state, resource)) || drifting.needed
}

/// What failed is not tried again by itself, but once its namespace is there again.
fn has_failed(state: &State, resource: &ResourceState) -> bool {
    let base = state.resources.get(ResourceName::UNCATEGORIZED).and_then(ResourceState::last);
    let failed = resource.last().filter(|last| last.failure.is_some());
    failed.is_some_and(|last| base.is_none_or(|base| base.failure.is_some() || base.id < last.id))
}

/// Whether namespaces or definitions of kinds were deleted behind our back, which another deployment may need.
pub(crate) fn lacks_base(state: &State, resource: &ResourceState) -> bool {
    !resource.spec.name.is_uncategorized()
        && state
            .resources
            .get(ResourceName::UNCATEGORIZED)
            .filter(|base| !base.disabled && base.last().is_none_or(|last| last.failure.is_none()))
            .and_then(ResourceState::kubernetes)
            .is_some_and(|base| base.drifting.lacks_objects() && !base.drifting.needed)
}

/// They are put right first.
pub(crate) fn ask_for_base(state: &mut State) {
    let base = state.resources.get_mut(ResourceName::UNCATEGORIZED).and_then(ResourceState::kubernetes_mut);
    if let Some(base) = base {
        base.drifting.needed = true;
    }
}
