//! A Kubernetes resource's life.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lilt_model::cluster::{Container, PodRef};
use lilt_model::files::{ChangedPath, Existence};
use lilt_model::image::{BuildRecord, ImageTarget, LiveUpdate};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::registry::Registry;
use lilt_model::resource::{Body, Resource};
use lilt_model::{ClusterName, ImageName, ResourceName, Timestamp};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::controllers::live_update::{SyncContainer, SyncContainers};
use crate::event::{Deployed, Drift};
use crate::notices::Notices;
use crate::state::{Changes, UpdateCommand};

/// Files that are noticed so long after a build were created after it, however busy the machine is.
const NOTICED: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct KubernetesState {
    /// The text of the objects, as readers see it: they read it more often than it changes.
    #[serde(skip)]
    pub(crate) yaml: Arc<str>,
    pub(crate) images: BTreeMap<ImageName, ImageState>,
    pub(crate) deployed: Option<Deployed>,
    /// When the last update that applied something began and ended.
    pub(crate) applied_during: Option<(Timestamp, Timestamp)>,
    /// Changes that the command that deploys has not seen.
    pub(crate) changes: Changes,
    /// The resource as it was last applied; what a later one lacks must go. The same that is wanted now, most of the time.
    #[serde(serialize_with = "objects")]
    pub(crate) applied: Option<Arc<Resource>>,
    /// Its pods, old and new.
    pub(crate) pods: BTreeSet<PodRef>,
    /// What went wrong with its objects, and with what they own besides pods.
    pub(crate) notices: Arc<Notices>,
    /// Local resources whose commands were seen to write inputs of its images before it was deployed.
    pub(crate) producers: BTreeSet<ResourceName>,
    /// When they were first seen to.
    pub(crate) waits_since: Option<Timestamp>,
    /// Until when its first build waits for these.
    pub(crate) waits_until: Option<Timestamp>,
    /// A container could not be updated in place: build.
    pub(crate) fall_back: bool,
    /// Changes up to this number were built because containers crash too often to take them.
    pub(crate) crashed_out: u64,
    /// Its jobs have succeeded since the last deployment: they stay so when their pods are gone.
    pub(crate) completed: bool,
    pub(crate) drifting: Drifting,
}

/// What is known of objects that are not as they were applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Drifting {
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) found: BTreeMap<ObjectRef, Drift>,
    /// Objects that became others, with their marks: whether it matters is being looked at.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) suspects: BTreeMap<ObjectRef, String>,
    /// The number of that look.
    pub(crate) inspection: u64,
    /// What was seen during an update, which may be our own doing; none: it was gone.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) meanwhile: BTreeMap<ObjectRef, Option<String>>,
    /// How often in a row it was put right at once.
    pub(crate) corrections: u32,
    /// Others are to be deployed, which need what was deleted here.
    pub(crate) needed: bool,
}

impl Drifting {
    pub(crate) fn lacks_objects(&self) -> bool {
        self.found.values().any(|drift| *drift == Drift::Deleted)
    }

    /// The session that deployed others in the place of its objects.
    pub(crate) fn replaced_by(&self) -> Option<&str> {
        self.found.values().find_map(|drift| match drift {
            Drift::Replaced { by, .. } => Some(by.as_str()),
            Drift::Deleted | Drift::Changed(_) => None,
        })
    }

    pub(crate) fn words(&self) -> Option<String> {
        let words: Vec<String> = self.found.iter().map(|(object, drift)| drift.words(object)).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

impl KubernetesState {
    /// The objects as they were last applied.
    pub(crate) fn applied(&self) -> &[Value] {
        applied(&self.applied)
    }
}

fn applied(resource: &Option<Arc<Resource>>) -> &[Value] {
    match resource.as_ref().map(|resource| &resource.body) {
        Some(Body::Kubernetes(kubernetes)) => &kubernetes.objects,
        _ => &[],
    }
}

fn objects<S: Serializer>(resource: &Option<Arc<Resource>>, serializer: S) -> Result<S::Ok, S::Error> {
    applied(resource).serialize(serializer)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ImageState {
    /// The reference under which the cluster knows what was built.
    pub(crate) reference: Option<String>,
    /// When the update that built it began and ended.
    pub(crate) built_during: Option<(Timestamp, Timestamp)>,
    /// What the last build of this resource's updates went through, whether it succeeded or not.
    pub(crate) last_build: Option<BuildRecord>,
    /// The last run of the command that builds it.
    pub(crate) command: Option<UpdateCommand>,
    /// All changes up to this number are in the built image, or in what a command deployed.
    pub(crate) built: u64,
    /// Changes since the image was built. A later pod of this image lacks them, so they are kept until the next build; but for
    /// `transient` files.
    pub(crate) changes: Changes,
    /// Those of the changed files that are not in the image, and whether they are deleted.
    transient: BTreeMap<ChangedPath, bool>,
    /// The number of the newest change, also if that one is forgotten: what another update builds may contain its file.
    newest: u64,
    /// Changes up to this number lie in a volume of its pods, where they outlive containers.
    pub(crate) lasting: u64,
    /// It must be built, whatever the changes say: its definition changed or copying failed.
    pub(crate) stale: bool,
    /// A container of it refused to have its files changed. What admission makes of a pod, such as another user, is in no manifest.
    pub(crate) closed: bool,
    /// What an update built last, of whichever resource, if this one has not taken it over yet.
    pub(crate) elsewhere: Option<BuiltImage>,
    /// Running containers of it.
    pub(crate) containers: SyncContainers,
    /// Some container of it does not run, and may run again with the files that were copied into it.
    pub(crate) has_stopped_containers: bool,
}

/// An image that an update of the session built.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BuiltImage {
    pub(crate) reference: String,
    /// All changes up to this number are in it.
    pub(crate) snapshot: u64,
    /// What it is made on.
    pub(crate) bases: Vec<(ImageName, String)>,
    pub(crate) destination: Destination,
}

/// The last save of files of an image that several resources have. Each of them hears of it through a watch of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Save {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) written: Timestamp,
    pub(crate) sequence: u64,
    pub(crate) heard: BTreeSet<ResourceName>,
}

/// For whom images are built: one for another registry or platform is another image, and what one cluster has another
/// lacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Destination {
    pub(crate) cluster: ClusterName,
    pub(crate) registry: Option<Registry>,
    pub(crate) platform: Option<String>,
}

impl KubernetesState {
    pub(crate) fn deployed_to(&self, namespace: &str) -> bool {
        let objects = self.deployed.iter().flat_map(|deployed| &deployed.objects);
        objects.into_iter().any(|(object, _)| object.namespace == namespace)
    }
}

/// Whether a container runs an image that was built as `reference`, or is never built.
pub(crate) fn runs(reference: Option<&String>, target: &ImageTarget, container: &Container) -> bool {
    match reference {
        Some(reference) => container.image == *reference,
        None => !target.is_built() && target.selects(&container.name, &container.image),
    }
}

impl ImageState {
    /// Changes after `has`, up to `limit`.
    pub(crate) fn changes_between(&self, has: u64, limit: u64) -> impl Iterator<Item = &PathBuf> {
        self.changes.iter().filter(move |(_, at)| **at > has && **at <= limit).map(|(path, _)| &**path)
    }

    /// Containers that lack a change which was taken up before, such as one that started again.
    pub(crate) fn is_behind(&self, attempted: u64) -> bool {
        self.containers.values().any(|it| {
            it.awaits_initial_sync() || self.changes_between(it.has_or_tried(), attempted).next().is_some()
        })
    }

    pub(crate) fn newest_change(&self) -> u64 {
        self.newest
    }

    pub(crate) fn add_changes(
        &mut self,
        changes: impl Iterator<Item = (ChangedPath, u64)>,
        existence: &Existence,
    ) {
        let built = self.built_during.map(|(_, ended)| ended.plus(NOTICED));
        for (path, at) in changes {
            self.newest = self.newest.max(at);
            let is_deleted = existence.is_deleted(&path);
            if let Some(known) = self.transient.get_mut(&path) {
                *known = is_deleted;
            } else if built.is_some_and(|built| existence.is_created_after(&path, built))
                && !self.changes.contains_key(&path)
            {
                self.transient.insert(path.clone(), false);
            }
            self.changes.insert(path, at);
        }
    }

    /// Forgets files that are not in the image, are deleted, and are in no container any more: a later pod lacks nothing.
    /// Changes up to `attempted` were given to all containers.
    pub(crate) fn forget_transient(&mut self, attempted: u64) {
        if self.has_stopped_containers {
            return;
        }
        let reached = self.containers.values().map(SyncContainer::has).min();
        let reached = reached.map_or(attempted, |has| has.min(attempted));
        let changes = &mut self.changes;
        self.transient.retain(|path, is_deleted| {
            let is_over = *is_deleted && changes.get(path).is_some_and(|at| *at <= reached);
            if is_over {
                changes.remove(path);
            }
            !is_over
        });
    }

    fn retain_changes(&mut self, is_kept: impl Fn(&Path, u64) -> bool) {
        self.changes.retain(|path, at| is_kept(path, *at));
        // A build that was running when they were created may have them.
        self.transient.clear();
        self.newest = self.changes.values().copied().max().unwrap_or(0);
    }

    /// A build of everything up to `snapshot` succeeded.
    pub(crate) fn record_build(
        &mut self,
        reference: String,
        snapshot: u64,
        live_update: Option<&LiveUpdate>,
    ) {
        self.elsewhere = None;
        if self.reference.as_ref() == Some(&reference) {
            return self.record_deployment(snapshot, live_update);
        }
        self.stale = false;
        self.reference = Some(reference);
        self.built = snapshot;
        self.retain_changes(|_, at| at > snapshot);
        self.containers.clear();
    }

    /// Everything up to `snapshot` was deployed with the same image as before: its containers stay, with whatever was
    /// copied into them, and must get what they lack.
    pub(crate) fn record_deployment(&mut self, snapshot: u64, live_update: Option<&LiveUpdate>) {
        self.stale = false;
        let copied = |path: &Path| live_update.is_some_and(|it| crate::schedule::in_place(it, path));
        self.retain_changes(|path, at| at > snapshot || copied(path));
    }
}
