//! The session as the store last told it: resources in groups, and how many are in which state.
//!
//! A change costs what it touches; the groups are made anew only when a resource comes, goes or moves.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lilt_model::ResourceName;
use lilt_model::api::{UIResource, UnreachableService};
use lilt_store::Changes;

use super::status::{Overall, overall};

/// Resources under one heading, as on the page: the Tiltfile first, then by label, what has none last. A resource with
/// several labels is in several groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// None: its only resource, the Tiltfile, says it.
    pub(crate) heading: Option<String>,
    pub(crate) names: Vec<ResourceName>,
}

#[derive(Debug, Default)]
pub(crate) struct Overview {
    resources: HashMap<ResourceName, Arc<UIResource>>,
    counts: [usize; Overall::ALL.len()],
    /// Resources with an update that runs.
    updating: usize,
    groups: Vec<Group>,
    /// The name of the folder that the Tiltfile is in.
    pub(crate) project: String,
    pub(crate) unreachable: Vec<UnreachableService>,
}

impl Overview {
    /// Whether rows came, went or moved.
    pub(crate) fn apply(&mut self, changes: Changes) -> bool {
        let mut moved = changes.complete;
        if changes.complete {
            let (project, unreachable) =
                (std::mem::take(&mut self.project), std::mem::take(&mut self.unreachable));
            *self = Overview { project, unreachable, ..Overview::default() };
        }
        for name in &changes.removed {
            moved |= self.take(name).is_some();
        }
        for resource in changes.resources {
            moved |= self.put(resource);
        }
        if let Some(session) = changes.session {
            self.unreachable = session.unreachable();
            let mut parts = session.status.tiltfile_key.rsplit('/').skip(1);
            self.project = parts.next().unwrap_or_default().to_owned();
        }
        if moved {
            self.groups = self.grouped();
        }
        moved
    }

    fn put(&mut self, resource: Arc<UIResource>) -> bool {
        let name = ResourceName::new(&resource.metadata.name);
        let before = self.take(&name);
        self.counts[overall(&resource) as usize] += 1;
        self.updating += usize::from(resource.status.current_build.is_some());
        let stays = before.is_some_and(|before| {
            before.status.order == resource.status.order && before.metadata.labels == resource.metadata.labels
        });
        self.resources.insert(name, resource);
        !stays
    }

    fn take(&mut self, name: &ResourceName) -> Option<Arc<UIResource>> {
        let resource = self.resources.remove(name)?;
        self.counts[overall(&resource) as usize] -= 1;
        self.updating -= usize::from(resource.status.current_build.is_some());
        Some(resource)
    }

    fn grouped(&self) -> Vec<Group> {
        let mut ordered: Vec<(i32, &ResourceName)> =
            self.resources.iter().map(|(name, it)| (it.status.order, name)).collect();
        ordered.sort_unstable();
        let mut labelled: BTreeMap<&str, Vec<ResourceName>> = BTreeMap::new();
        let (mut tiltfile, mut others) = (Vec::new(), Vec::new());
        for (_, name) in ordered {
            let labels = &self.resources[name].metadata.labels;
            if name.is_tiltfile() {
                tiltfile.push(name.clone());
            } else if labels.is_empty() {
                others.push(name.clone());
            } else {
                for label in labels.keys() {
                    labelled.entry(label).or_default().push(name.clone());
                }
            }
        }
        let rest = if labelled.is_empty() { "resources" } else { "other" };
        let labelled = labelled.into_iter().map(|(label, names)| (Some(label), names));
        let all = std::iter::once((None, tiltfile)).chain(labelled).chain([(Some(rest), others)]);
        all.filter(|(_, names)| !names.is_empty())
            .map(|(heading, names)| Group { heading: heading.map(str::to_owned), names })
            .collect()
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub(crate) fn resource(&self, name: &ResourceName) -> Option<&UIResource> {
        self.resources.get(name).map(|resource| &**resource)
    }

    pub(crate) fn tiltfile(&self) -> Option<&UIResource> {
        self.resource(&ResourceName::tiltfile())
    }

    pub(crate) fn count(&self, overall: Overall) -> usize {
        self.counts[overall as usize]
    }

    /// With the Tiltfile.
    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    pub(crate) fn is_updating(&self) -> bool {
        self.updating > 0
    }

    /// Every resource once, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ResourceName> {
        let mut seen = std::collections::HashSet::new();
        self.groups.iter().flat_map(|group| &group.names).filter(move |name| seen.insert(*name))
    }
}
