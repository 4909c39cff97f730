//! The state of a Kubernetes resource.

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

/// New files that are reported later than this after a build were created after it, even on a busy machine.
const NOTICED: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct KubernetesState {
    /// The objects as YAML, cached because they are read more often than they change.
    #[serde(skip)]
    pub(crate) yaml: Arc<str>,
    pub(crate) images: BTreeMap<ImageName, ImageState>,
    pub(crate) deployed: Option<Deployed>,
    /// The start and the end of the last update that applied something.
    pub(crate) applied_during: Option<(Timestamp, Timestamp)>,
    /// Changes since the deploy command last started.
    pub(crate) changes: Changes,
    /// The resource as last applied: objects that a later one lacks are deleted. Mostly the same as the
    /// current specification.
    #[serde(serialize_with = "objects")]
    pub(crate) applied: Option<Arc<Resource>>,
    /// Its pods, old and new.
    pub(crate) pods: BTreeSet<PodRef>,
    /// Notices about its objects, and about what they own besides pods.
    pub(crate) notices: Arc<Notices>,
    /// Local resources whose commands wrote inputs of its images before it was deployed.
    pub(crate) producers: BTreeSet<ResourceName>,
    /// The time of the first such write.
    pub(crate) waits_since: Option<Timestamp>,
    /// The end of its first build's wait for them.
    pub(crate) waits_until: Option<Timestamp>,
    /// A live update failed, so a build is needed.
    pub(crate) fall_back: bool,
    /// Changes up to this number were built because crashing containers could not take a live update.
    pub(crate) crashed_out: u64,
    /// Its jobs have succeeded since the last deployment. They stay completed when their pods are gone.
    pub(crate) completed: bool,
    pub(crate) drifting: Drifting,
}

/// The drift of the objects of a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Drifting {
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) found: BTreeMap<ObjectRef, Drift>,
    /// Changed objects with their fingerprints, which are being compared with their manifests.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) suspects: BTreeMap<ObjectRef, String>,
    /// The number of that inspection.
    pub(crate) inspection: u64,
    /// Fingerprints observed during an update, which may have caused the change itself; none: deleted.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) meanwhile: BTreeMap<ObjectRef, Option<String>>,
    /// The number of automatic corrections in a row.
    pub(crate) corrections: u32,
    /// Other resources need objects that were deleted here.
    pub(crate) needed: bool,
}

impl Drifting {
    pub(crate) fn lacks_objects(&self) -> bool {
        self.found.values().any(|drift| *drift == Drift::Deleted)
    }

    /// Returns the session that replaced its objects, if one did.
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
    /// Returns the objects as last applied.
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
    /// The reference of the built image in the cluster.
    pub(crate) reference: Option<String>,
    /// The start and the end of the update that built it.
    pub(crate) built_during: Option<(Timestamp, Timestamp)>,
    /// The steps of the last build by an update of this resource, successful or not.
    pub(crate) last_build: Option<BuildRecord>,
    /// The last run of the command that builds it.
    pub(crate) command: Option<UpdateCommand>,
    /// All changes up to this number are contained in the built image, or in what a command deployed.
    pub(crate) built: u64,
    /// Changes since the image was built. New pods of this image lack them, so they are kept until the next
    /// build, except those of `transient` files.
    pub(crate) changes: Changes,
    /// The changed files that are not in the image, and whether they are deleted.
    transient: BTreeMap<ChangedPath, bool>,
    /// The number of the newest change, even if that change was forgotten: another update's build may contain
    /// its file.
    newest: u64,
    /// Changes up to this number are in a volume of its pods, which outlives containers.
    pub(crate) lasting: u64,
    /// It must be built even without changes: its definition changed, or a live update failed.
    pub(crate) stale: bool,
    /// A container of it does not permit changes of its files. The manifest does not show this: admission may
    /// for example set another user.
    pub(crate) closed: bool,
    /// The last build by an update of any resource, until this resource uses it.
    pub(crate) elsewhere: Option<BuiltImage>,
    /// Running containers of it.
    pub(crate) containers: SyncContainers,
    /// Some container of it is stopped, and may restart with the files that were copied into it.
    pub(crate) has_stopped_containers: bool,
}

/// An image that an update of the session built.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BuiltImage {
    pub(crate) reference: String,
    /// It contains all changes up to this number.
    pub(crate) snapshot: u64,
    /// The references of the images it was built on.
    pub(crate) bases: Vec<(ImageName, String)>,
    pub(crate) destination: Destination,
}

/// The last save of files of an image that several resources share. Each of their watches reports it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Save {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) written: Timestamp,
    pub(crate) sequence: u64,
    #[serde(rename = "heard")]
    pub(crate) seen_by: BTreeSet<ResourceName>,
}

/// The target of a built image. An image for another registry or platform is a different one, and an image
/// delivered to one cluster is missing in the others.
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

/// Returns whether a container runs the image that was built as `reference`, or one that is never built.
pub(crate) fn runs(reference: Option<&String>, target: &ImageTarget, container: &Container) -> bool {
    match reference {
        Some(reference) => container.image == *reference,
        None => !target.is_built() && target.selects(&container.name, &container.image),
    }
}

impl ImageState {
    /// Returns the changes after `has`, up to `limit`.
    pub(crate) fn changes_between(&self, has: u64, limit: u64) -> impl Iterator<Item = &PathBuf> {
        self.changes.iter().filter(move |(_, at)| **at > has && **at <= limit).map(|(path, _)| &**path)
    }

    /// Returns whether a container lacks a change that an update covered, for example because it restarted.
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

    /// Forgets deleted files that are neither in the image nor in a container, so that a new pod lacks
    /// nothing. Changes up to `attempted` were sent to all containers.
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
        // A build that was running when they were created may contain them.
        self.transient.clear();
        self.newest = self.changes.values().copied().max().unwrap_or(0);
    }

    /// Records a successful build that contains all changes up to `snapshot`.
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

    /// Records a deployment of all changes up to `snapshot` with the same image as before. Its containers
    /// keep the files that were copied into them, and get what they lack.
    pub(crate) fn record_deployment(&mut self, snapshot: u64, live_update: Option<&LiveUpdate>) {
        self.stale = false;
        let copied = |path: &Path| live_update.is_some_and(|it| crate::schedule::in_place(it, path));
        self.retain_changes(|path, at| at > snapshot || copied(path));
    }
}
