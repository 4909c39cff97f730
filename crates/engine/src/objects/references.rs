//! References between objects: when an object changes, those that name it are evaluated again.

use std::collections::{BTreeMap, BTreeSet};

use lilt_api::{Content, DisableSource, ObjectKey, ObjectKind, RestartOnSpec};

use super::{building, reconcile, toggle};
use crate::state::State;

/// Something that an object names or depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reference {
    Object(ObjectKey),
    /// The pods of a namespace.
    Namespace(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct References {
    /// The references of each object.
    named: BTreeMap<ObjectKey, BTreeSet<Reference>>,
    /// The objects that name each reference.
    naming: BTreeMap<Reference, BTreeSet<ObjectKey>>,
}

impl References {
    fn set(&mut self, key: &ObjectKey, names: BTreeSet<Reference>) {
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

/// Returns the live updates that a watch is a source of.
pub(crate) fn live_updates_of<'s>(
    state: &'s State,
    watch: &ObjectKey,
) -> impl Iterator<Item = &'s ObjectKey> + use<'s> {
    let naming = state.objects.references.naming.get(&Reference::Object(watch.clone()));
    naming.into_iter().flatten().filter(|key| key.kind == ObjectKind::LiveUpdate)
}

/// Returns the watches that an object names.
pub(crate) fn watches_of<'s>(
    state: &'s State,
    key: &ObjectKey,
) -> impl Iterator<Item = &'s ObjectKey> + use<'s> {
    let named = state.objects.references.named.get(key).into_iter().flatten();
    named.filter_map(|reference| match reference {
        Reference::Object(key) if key.kind == ObjectKind::FileWatch => Some(key),
        _ => None,
    })
}

/// Marks the watches that are sources of a live update as changed: how they report changes depends on it.
pub(super) fn touch_sources(state: &mut State, key: &ObjectKey) {
    if key.kind == ObjectKind::LiveUpdate {
        for watch in watches_of(state, key).cloned().collect::<Vec<_>>() {
            state.objects.touch(&watch);
        }
    }
}

pub(crate) fn set_references(state: &mut State, key: &ObjectKey, names: BTreeSet<Reference>) {
    state.objects.references.set(key, names);
}

/// Re-evaluates the objects that name `key`, because it has changed.
pub(crate) fn changed(state: &mut State, key: &ObjectKey) {
    reference_changed(state, &Reference::Object(key.clone()));
}

pub(super) fn reference_changed(state: &mut State, reference: &Reference) {
    let Some(naming) = state.objects.references.naming.get(reference) else { return };
    for key in naming.clone() {
        reconcile(state, &key);
    }
}

/// Re-evaluates the objects that name any object of a kind.
pub(super) fn kind_changed(state: &mut State, kind: ObjectKind) {
    let is_of_kind = |reference: &Reference| matches!(reference, Reference::Object(key) if key.kind == kind);
    let naming = state.objects.references.naming.range(Reference::Object(ObjectKey::new(kind, ""))..);
    let named = naming.map(|(reference, _)| reference.clone()).take_while(is_of_kind);
    for reference in named.collect::<Vec<_>>() {
        reference_changed(state, &reference);
    }
}

/// Returns what an object names.
pub(crate) fn of(key: &ObjectKey, content: &Content) -> BTreeSet<Reference> {
    let mut names = Names::default();
    match content {
        Content::Cmd(cmd) => {
            names.add_restart(cmd.spec.restart_on.as_ref());
            names.add_disable_source(cmd.spec.disable_source.as_ref());
            if let Some(start_on) = &cmd.spec.start_on {
                names.add_all(ObjectKind::UIButton, &start_on.ui_buttons);
            }
        }
        Content::CmdImage(image) => {
            names.add_build(key, &image.spec.reference);
            names.add_all(ObjectKind::ImageMap, &image.spec.image_maps);
        }
        Content::DockerImage(image) => {
            names.add_build(key, &image.spec.reference);
            names.add_all(ObjectKind::ImageMap, &image.spec.image_maps);
        }
        Content::Extension(extension) => names.add(ObjectKind::ExtensionRepo, &extension.spec.repo_name),
        Content::FileWatch(watch) => names.add_disable_source(watch.spec.disable_source.as_ref()),
        Content::KubernetesApply(apply) => {
            names.add_all(ObjectKind::ImageMap, &apply.spec.image_maps);
            names.add_restart(apply.spec.restart_on.as_ref());
            names.add_disable_source(apply.spec.disable_source.as_ref());
        }
        Content::LiveUpdate(update) => {
            for source in &update.spec.sources {
                names.add(ObjectKind::FileWatch, &source.file_watch);
                names.add(ObjectKind::ImageMap, &source.image_map);
            }
            if let Some(selector) = &update.spec.selector.kubernetes {
                names.add(ObjectKind::ImageMap, &selector.image_map_name);
                names.add(ObjectKind::KubernetesDiscovery, &selector.discovery_name);
            }
        }
        Content::Tiltfile(tiltfile) => {
            names.add_restart(tiltfile.spec.restart_on.as_ref());
            if let Some(stop_on) = &tiltfile.spec.stop_on {
                names.add_all(ObjectKind::UIButton, &stop_on.ui_buttons);
            }
        }
        Content::ToggleButton(toggle) => {
            names.add(ObjectKind::UIButton, &toggle::button_name(&key.name));
            if let Some(source) = &toggle.spec.state_source.config_map {
                names.add(ObjectKind::ConfigMap, &source.name);
            }
        }
        Content::Cluster(_)
        | Content::ConfigMap(_)
        | Content::DockerComposeLogStream(_)
        | Content::DockerComposeService(_)
        | Content::ExtensionRepo(_)
        | Content::ImageMap(_)
        | Content::KubernetesDiscovery(_)
        | Content::PodLogStream(_)
        | Content::PortForward(_)
        | Content::Session(_)
        | Content::UIButton(_)
        | Content::UIResource(_)
        | Content::UISession(_) => {}
    }
    names.0
}

#[derive(Default)]
struct Names(BTreeSet<Reference>);

impl Names {
    fn add(&mut self, kind: ObjectKind, name: &str) {
        if !name.is_empty() {
            self.0.insert(Reference::Object(ObjectKey::new(kind, name)));
        }
    }

    fn add_all(&mut self, kind: ObjectKind, names: &[String]) {
        names.iter().for_each(|name| self.add(kind, name));
    }

    fn add_restart(&mut self, restart_on: Option<&RestartOnSpec>) {
        if let Some(restart_on) = restart_on {
            self.add_all(ObjectKind::UIButton, &restart_on.ui_buttons);
            self.add_all(ObjectKind::FileWatch, &restart_on.file_watches);
        }
    }

    fn add_disable_source(&mut self, source: Option<&DisableSource>) {
        if let Some(source) = source {
            let maps = source.config_map.iter().chain(&source.every_config_map);
            maps.for_each(|map| self.add(ObjectKind::ConfigMap, &map.name));
        }
    }

    /// Adds what the build of an image depends on: the files of its folder, and the map of its name.
    fn add_build(&mut self, key: &ObjectKey, reference: &str) {
        self.add(ObjectKind::FileWatch, &building::watch_name(key));
        self.add(ObjectKind::ImageMap, &building::map_name(reference));
    }
}
