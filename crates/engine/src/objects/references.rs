//! Which objects name which: who is looked at again when one changes.

use std::collections::{BTreeMap, BTreeSet};

use lilt_api::{Object, ObjectKey};
use serde_json::Value;

use super::{building, reconsider, toggle};
use crate::state::State;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct References {
    /// Who names whom.
    named: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// By whom one is named.
    naming: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
}

impl References {
    fn set(&mut self, key: &ObjectKey, names: BTreeSet<ObjectKey>) {
        for former in self.named.remove(key).into_iter().flatten() {
            if let Some(naming) = self.naming.get_mut(&former) {
                naming.remove(key);
                if naming.is_empty() {
                    self.naming.remove(&former);
                }
            }
        }
        for name in &names {
            self.naming.entry(name.clone()).or_default().insert(key.clone());
        }
        if !names.is_empty() {
            self.named.insert(key.clone(), names);
        }
    }
}

/// The live updates that a watch is a source of.
pub(super) fn live_updates_of<'s>(
    state: &'s State,
    watch: &ObjectKey,
) -> impl Iterator<Item = &'s ObjectKey> + use<'s> {
    let naming = state.objects.references.naming.get(watch).into_iter().flatten();
    naming.filter(|key| key.kind == "LiveUpdate")
}

/// The watches that an object names.
pub(super) fn watches_of<'s>(
    state: &'s State,
    key: &ObjectKey,
) -> impl Iterator<Item = &'s ObjectKey> + use<'s> {
    let named = state.objects.references.named.get(key).into_iter().flatten();
    named.filter(|key| key.kind == "FileWatch")
}

/// A live update is, or was, what this says: its sources tell of changes as it needs it.
pub(super) fn touch_sources(state: &mut State, key: &ObjectKey) {
    if key.kind == "LiveUpdate" {
        for watch in watches_of(state, key).cloned().collect::<Vec<_>>() {
            state.objects.touch(&watch);
        }
    }
}

pub(crate) fn set_references(state: &mut State, key: &ObjectKey, names: BTreeSet<ObjectKey>) {
    state.objects.references.set(key, names);
}

/// Looks again at those that name an object, because it has changed.
pub(crate) fn changed(state: &mut State, key: &ObjectKey) {
    let Some(naming) = state.objects.references.naming.get(key) else { return };
    for key in naming.clone() {
        reconsider(state, &key);
    }
}

/// Looks again at those that name any object of a kind.
pub(super) fn kind_changed(state: &mut State, kind: &str) {
    let naming = state.objects.references.naming.range(ObjectKey::new(kind, "")..);
    let named: Vec<ObjectKey> =
        naming.map(|(key, _)| key.clone()).take_while(|key| key.kind == kind).collect();
    for key in named {
        changed(state, &key);
    }
}

/// What an object names.
pub(super) fn of(key: &ObjectKey, object: &Object) -> BTreeSet<ObjectKey> {
    let mut names = BTreeSet::new();
    let mut add = |kind: &str, name: &str| {
        if !name.is_empty() {
            names.insert(ObjectKey::new(kind, name));
        }
    };
    for list in ["/spec/startOn/uiButtons", "/spec/restartOn/uiButtons", "/spec/stopOn/uiButtons"] {
        object.texts(list).iter().for_each(|name| add("UIButton", name));
    }
    object.texts("/spec/restartOn/fileWatches").iter().for_each(|name| add("FileWatch", name));
    add("ConfigMap", object.text("/spec/disableSource/configMap/name"));
    add("ConfigMap", object.text("/spec/stateSource/configMap/name"));
    let every = object.get("/spec/disableSource/everyConfigMap").and_then(Value::as_array);
    every
        .into_iter()
        .flatten()
        .for_each(|source| add("ConfigMap", source["name"].as_str().unwrap_or_default()));
    object.texts("/spec/imageMaps").iter().for_each(|name| add("ImageMap", name));
    if key.kind == "LiveUpdate" {
        let sources = object.get("/spec/sources").and_then(Value::as_array);
        for source in sources.into_iter().flatten() {
            add("FileWatch", source["fileWatch"].as_str().unwrap_or_default());
            add("ImageMap", source["imageMap"].as_str().unwrap_or_default());
        }
        add("ImageMap", object.text("/spec/selector/kubernetes/imageMapName"));
        add("KubernetesDiscovery", object.text("/spec/selector/kubernetes/discoveryName"));
    }
    if building::KINDS.contains(&key.kind.as_str()) {
        add("FileWatch", &building::watch_name(key));
        add("ImageMap", &building::map_name(object));
    }
    if key.kind == "Extension" {
        add("ExtensionRepo", object.text("/spec/repoName"));
    }
    if key.kind == "ToggleButton" {
        add("UIButton", &toggle::button_name(&key.name));
    }
    names
}
