//! The state of the session from the store: resources in groups, and counts by status.
//!
//! Applying a change costs what it touches; groups are rebuilt only when resources are added, removed or moved.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lilt_api::{UIResource, UnreachableService};
use lilt_model::ResourceName;
use lilt_store::Changes;

use super::status::{Overall, overall};

/// Resources under one heading, as on the page: the Tiltfile first, then by label, unlabelled ones last. A resource with
/// several labels is in several groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// None for the Tiltfile.
    pub(crate) heading: Option<String>,
    pub(crate) names: Vec<ResourceName>,
}

/// A problem of the whole session, as the banner shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) text: String,
    /// The key that helps, and what it does.
    pub(crate) key: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct Overview {
    resources: HashMap<ResourceName, Arc<UIResource>>,
    counts: [usize; Overall::ALL.len()],
    /// Resources with a running update.
    updating: usize,
    groups: Vec<Group>,
    /// The name of the folder that the Tiltfile is in.
    pub(crate) project: String,
    pub(crate) unreachable: Vec<UnreachableService>,
}

impl Overview {
    /// Applies changes. Returns whether rows were added, removed or moved.
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

    /// Returns all resources in the Tiltfile's order.
    pub(crate) fn in_order(&self) -> Vec<&ResourceName> {
        let mut ordered: Vec<(i32, &ResourceName)> =
            self.resources.iter().map(|(name, it)| (it.status.order, name)).collect();
        ordered.sort_unstable();
        ordered.into_iter().map(|(_, name)| name).collect()
    }

    fn grouped(&self) -> Vec<Group> {
        let mut labelled: BTreeMap<&str, Vec<ResourceName>> = BTreeMap::new();
        let (mut tiltfile, mut others) = (Vec::new(), Vec::new());
        for name in self.in_order() {
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

    /// Why the last load of the Tiltfile failed, in one line. Kept while the next load runs.
    fn tiltfile_error(&self) -> Option<&str> {
        let last = self.tiltfile()?.status.build_history.first()?;
        last.error.lines().next().filter(|line| !line.is_empty())
    }

    /// Whether the whole session has a problem: something is unreachable, or the Tiltfile failed to load.
    pub(crate) fn has_problem(&self) -> bool {
        !self.unreachable.is_empty() || self.tiltfile_error().is_some()
    }

    /// Problems of the whole session, the most urgent first.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let unreachable = self
            .unreachable
            .iter()
            .map(|service| Problem { text: unreachable_text(service), key: "R retry" });
        let tiltfile = self
            .tiltfile_error()
            .map(|error| Problem { text: format!("The Tiltfile has an error: {error}"), key: "e errors" });
        unreachable.chain(tiltfile).collect()
    }

    pub(crate) fn count(&self, overall: Overall) -> usize {
        self.counts[overall as usize]
    }

    /// Returns the number of resources, including the Tiltfile.
    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    pub(crate) fn is_updating(&self) -> bool {
        self.updating > 0
    }

    /// Returns every resource once, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ResourceName> {
        let mut seen = std::collections::HashSet::new();
        self.groups.iter().flat_map(|group| &group.names).filter(move |name| seen.insert(*name))
    }
}

/// Formats the cause first and the address last: the row may be too short for both.
fn unreachable_text(service: &UnreachableService) -> String {
    let UnreachableService { title, message, server, .. } = service;
    let Some(server) = server else { return format!("{title}: {message}") };
    // The title contains the cluster.
    let cause = message.split_once(&format!("{server}: ")).map_or(message.as_str(), |(_, cause)| cause);
    format!("{title}: {cause} ({server})")
}
