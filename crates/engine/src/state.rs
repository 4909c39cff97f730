//! The state of a session. Only [`crate::apply`] and [`crate::schedule`] change it.

mod clusters;
mod kubernetes;
mod local;
mod looping;
mod queue;
mod resource;
mod resources;
mod tiltfile;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lilt_api::ObjectKey;
use lilt_model::cluster::{Notice, Pod, PodRef};
use lilt_model::files::ChangedPath;
use lilt_model::log::Level;
use lilt_model::project::Settings;
use lilt_model::resource::Body;
use lilt_model::resource::TriggerMode;
use lilt_model::secret::{Redactor, Secret};
use lilt_model::timeline::UpdateRecord;
use lilt_model::{ClusterName, ImageName, ResourceName, Timestamp, Uid};
use serde::{Deserialize, Serialize};

use crate::task::{CleanupReason, Leftovers};

use crate::controllers::command::Commands;
use crate::controllers::file_watch::FileWatches;
use crate::controllers::live_update::LiveUpdates;
use crate::controllers::port_forward::PortForwards;
use crate::notices::Notices;
use crate::objects::Objects;
use crate::outage::{AwaitedOutage, Outage, OutageState};
use crate::owner::Owner;
use crate::prune::PruneState;
use crate::telemetry::TelemetryState;
pub(crate) use clusters::{ClusterState, Clusters};
pub(crate) use kubernetes::{BuiltImage, Destination, ImageState, KubernetesState, Save, runs};
pub(crate) use local::{LocalState, UpdateCommand};
pub(crate) use queue::{Queue, Rank};
pub use resource::FinishedUpdate;
pub(crate) use resource::{BodyState, ResourceState, RunningUpdate, UpdateKind};
use resources::Resources;
pub(crate) use tiltfile::{Load, TiltfileState};

/// Paths that changed, with the number of the newest change of each.
pub(crate) type Changes = BTreeMap<ChangedPath, u64>;

/// The options that the session was started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Absolute.
    pub tiltfile: PathBuf,
    pub mode: Mode,
    pub version: String,
    /// The day on which lilt was built, such as `2026-11-18`.
    #[serde(default)]
    pub build_date: String,
    /// lilt's own process.
    pub pid: u32,
    /// The arguments of the Tiltfile.
    pub args: Vec<String>,
    /// The timeout of `ci`, unless the Tiltfile sets one.
    pub ci_timeout: Option<Duration>,
    /// The requested kubeconfig context, unless it is the current one.
    #[serde(default)]
    pub context: Option<String>,
    /// The requested namespace, unless it is that of the context.
    #[serde(default)]
    pub namespace: Option<String>,
}

impl Options {
    pub fn new(tiltfile: impl Into<PathBuf>, mode: Mode) -> Self {
        Self {
            tiltfile: tiltfile.into(),
            mode,
            version: String::new(),
            build_date: String::new(),
            args: Vec::new(),
            pid: 1,
            ci_timeout: None,
            context: None,
            namespace: None,
        }
    }
}

/// A log line of the engine, about a decision rather than about the work of a runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub resource: ResourceName,
    /// The update that it is about.
    pub update: Option<u64>,
    pub level: Level,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Runs until it is stopped.
    Up,
    /// Ends when everything is ready or something is broken.
    Ci,
}

/// The resources and objects that events touched. Only these must be planned and projected again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    pub session: bool,
    pub resources: BTreeSet<ResourceName>,
    pub objects: BTreeSet<ObjectKey>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    pub(crate) options: Options,
    pub(crate) started: Timestamp,
    /// The time of the last event.
    pub(crate) now: Timestamp,
    /// Numbers changes, updates, loads and triggers: later is greater.
    pub(crate) sequence: u64,
    pub(crate) settings: Settings,
    pub(crate) tiltfile: TiltfileState,
    /// The other Tiltfiles: those of extensions, and those created as objects.
    pub(crate) tiltfiles: BTreeMap<ResourceName, TiltfileState>,
    pub(crate) resources: Resources,
    /// The dependents of each resource.
    pub(crate) dependents: BTreeMap<ResourceName, BTreeSet<ResourceName>>,
    /// Images that several resources share, with these resources.
    pub(crate) sharing: BTreeMap<ImageName, BTreeSet<ResourceName>>,
    /// The last save that changed each shared image.
    pub(crate) saves: BTreeMap<ImageName, Save>,
    pub(crate) queue: Queue,
    /// Resources that would be in the queue if their files were watched.
    pub(crate) unwatched: BTreeSet<(Rank, ResourceName)>,
    /// Resources with an update that takes a slot, and whether it must run alone.
    pub(crate) updating: BTreeMap<ResourceName, bool>,
    /// Local resources whose commands have just ended: when these began and ended.
    pub(crate) commands_ended: BTreeMap<ResourceName, (Timestamp, Timestamp)>,
    pub(crate) clusters: Clusters,
    pub(crate) pods: Pods,
    /// Running deletions.
    pub(crate) cleanups: BTreeMap<u64, Cleanup>,
    /// The number of deletions that a resource waits for, so that they do not delete what it applies next.
    pub(crate) cleaning: BTreeMap<ResourceName, usize>,
    /// Trigger modes set by the user. They override the Tiltfile for the whole session.
    pub(crate) trigger_modes: BTreeMap<ResourceName, TriggerMode>,
    /// Resources that wait for `uncategorized`.
    pub(crate) behind_uncategorized: BTreeSet<ResourceName>,
    /// Local resources, each with the resources whose inputs its command wrote before they were deployed.
    pub(crate) produced: BTreeMap<ResourceName, BTreeSet<ResourceName>>,
    /// Times at which to evaluate a resource again without an event; none: the session.
    pub(crate) alarms: BTreeSet<(Timestamp, Option<ResourceName>)>,
    /// The alarm of the session.
    pub(crate) session_alarm: Option<Timestamp>,
    /// Unreachable dependencies that updates wait for.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) outages: BTreeMap<Outage, OutageState>,
    /// Objects that retry when an outage is over. Resources have this in their own state.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) retries: BTreeMap<ObjectKey, AwaitedOutage>,
    /// The timeout of `ci` has passed.
    pub(crate) timed_out: bool,
    pub(crate) settled: Settled,
    pub(crate) prune: PruneState,
    pub(crate) telemetry: TelemetryState,
    /// Secrets that must not appear in anything users see.
    #[serde(skip)]
    pub(crate) secrets: Vec<Secret>,
    /// Redacts `secrets`.
    #[serde(skip)]
    pub(crate) redactor: Redactor,
    #[serde(skip)]
    touched: Touched,
    #[serde(skip)]
    notes: Vec<Note>,
    pub(crate) objects: Objects,
    pub(crate) commands: Commands,
    pub(crate) port_forwards: PortForwards,
    pub(crate) file_watches: FileWatches,
    pub(crate) live_updates: LiveUpdates,
    #[serde(skip)]
    records: Vec<(ResourceName, UpdateRecord)>,
    #[serde(skip)]
    operations: Operations,
}

/// Counts evaluations. Not part of the state: two states that differ only in it are equal.
#[derive(Clone, Copy, Debug, Default)]
struct Operations(u64);

impl PartialEq for Operations {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A running deletion, logged to `resource`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cleanup {
    pub(crate) resource: ResourceName,
    pub(crate) leftovers: Leftovers,
    pub(crate) reason: CleanupReason,
}

/// Counts for the verdict of `ci`, kept up to date for touched resources only.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Settled {
    pub(crate) waiting: BTreeSet<ResourceName>,
    pub(crate) failed: BTreeMap<ResourceName, String>,
}

/// All pods of the watched namespaces: a pod may be reported before it is known to belong to a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Pods {
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) known: BTreeMap<PodRef, Arc<Pod>>,
    pub(crate) by_owner: BTreeMap<Uid, BTreeSet<PodRef>>,
    /// The resource that applied each object.
    pub(crate) owners: BTreeMap<Uid, ResourceName>,
    /// Deployed resources that also select pods by labels.
    pub(crate) selecting: BTreeSet<ResourceName>,
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) notices: BTreeMap<PodRef, Arc<Notices>>,
    /// Notices about pods and objects that are not known yet.
    pub(crate) unclaimed: VecDeque<Notice>,
}

impl Pods {
    pub(crate) fn of_namespace<'p>(
        &'p self,
        cluster: &ClusterName,
        namespace: &str,
    ) -> impl Iterator<Item = &'p Arc<Pod>> + use<'p> {
        let first = PodRef { cluster: cluster.clone(), namespace: namespace.to_owned(), name: String::new() };
        let place = first.clone();
        let is_there =
            move |pod: &PodRef| (&pod.cluster, &pod.namespace) == (&place.cluster, &place.namespace);
        self.known.range(first..).take_while(move |(pod, _)| is_there(pod)).map(|(_, pod)| pod)
    }
}

impl State {
    /// Returns the target of images built now.
    pub(crate) fn destination(&self, cluster: &ClusterName) -> Destination {
        let info = self.clusters.get(cluster).info.as_ref();
        let announced = info.and_then(|info| info.registry.clone());
        Destination {
            cluster: cluster.clone(),
            registry: announced.or_else(|| self.settings.default_registry.clone()),
            platform: info.and_then(|info| info.platform.clone()),
        }
    }

    pub fn new(options: Options) -> Self {
        let args = options.args.clone();
        let path = options.tiltfile.clone();
        Self {
            options,
            started: Timestamp::ZERO,
            now: Timestamp::ZERO,
            sequence: 0,
            settings: Settings::default(),
            tiltfile: TiltfileState { path, args, ..TiltfileState::default() },
            tiltfiles: BTreeMap::new(),
            resources: Resources::default(),
            dependents: BTreeMap::new(),
            sharing: BTreeMap::new(),
            saves: BTreeMap::new(),
            queue: Queue::default(),
            unwatched: BTreeSet::new(),
            updating: BTreeMap::new(),
            commands_ended: BTreeMap::new(),
            clusters: Clusters::default(),
            pods: Pods::default(),
            cleanups: BTreeMap::new(),
            cleaning: BTreeMap::new(),
            trigger_modes: BTreeMap::new(),
            behind_uncategorized: BTreeSet::new(),
            produced: BTreeMap::new(),
            alarms: BTreeSet::new(),
            session_alarm: None,
            outages: BTreeMap::new(),
            timed_out: false,
            settled: Settled::default(),
            prune: PruneState::default(),
            telemetry: TelemetryState::default(),
            secrets: Vec::new(),
            redactor: Redactor::default(),
            touched: Touched::default(),
            notes: Vec::new(),
            objects: Objects::default(),
            commands: Commands::default(),
            port_forwards: PortForwards::default(),
            file_watches: FileWatches::default(),
            live_updates: LiveUpdates::default(),
            retries: BTreeMap::new(),
            records: Vec::new(),
            operations: Operations::default(),
        }
    }

    /// Returns what was touched since the last call.
    pub fn take_touched(&mut self) -> Touched {
        let objects = self.objects.take_touched();
        Touched { objects, ..std::mem::take(&mut self.touched) }
    }

    /// Returns the log lines since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Returns the records of updates that are new or changed since the last call.
    pub fn take_records(&mut self) -> Vec<(ResourceName, UpdateRecord)> {
        std::mem::take(&mut self.records)
    }

    pub(crate) fn publish_record(&mut self, resource: &ResourceName, record: UpdateRecord) {
        self.records.push((resource.clone(), record));
    }

    /// Returns how many resources and objects all turns so far have evaluated.
    pub fn operations(&self) -> u64 {
        self.operations.0
    }

    pub(crate) fn count_operation(&mut self) {
        self.operations.0 += 1;
    }

    /// Sets when to evaluate a resource, or the session, again without an event.
    pub(crate) fn set_alarm(&mut self, whose: Option<&ResourceName>, at: Option<Timestamp>) {
        let known = match whose {
            None => &mut self.session_alarm,
            Some(name) => match self.resources.get_mut(name) {
                Some(resource) => &mut resource.alarm,
                None => return,
            },
        };
        let old = std::mem::replace(known, at);
        if old == at {
            return;
        }
        let first = self.alarms.first().map(|(at, _)| *at);
        if let Some(old) = old {
            self.alarms.remove(&(old, whose.cloned()));
        }
        if let Some(at) = at {
            self.alarms.insert((at, whose.cloned()));
        }
        if first != self.alarms.first().map(|(at, _)| *at) {
            self.touch_session();
        }
    }

    pub(crate) fn note(&mut self, resource: &ResourceName, level: Level, text: impl Into<String>) {
        self.notes.push(Note { resource: resource.clone(), update: None, level, text: text.into() });
    }

    /// Adds a line to the log of an update.
    pub(crate) fn note_update(
        &mut self,
        resource: &ResourceName,
        update: u64,
        level: Level,
        text: impl Into<String>,
    ) {
        let (resource, update) = (resource.clone(), Some(update));
        self.notes.push(Note { resource, update, level, text: text.into() });
    }

    pub fn resource_names(&self) -> impl Iterator<Item = &ResourceName> {
        self.resources.keys()
    }

    /// Returns the cluster that a resource is deployed to.
    pub(crate) fn cluster_of(&self, name: &ResourceName) -> ClusterName {
        match self.resources.get(name).map(|resource| &resource.spec.body) {
            Some(Body::Kubernetes(spec)) => spec.cluster.clone(),
            _ => ClusterName::default(),
        }
    }

    pub fn hold(&self, name: &ResourceName) -> Option<&crate::Hold> {
        self.resources.get(name)?.hold.as_ref()
    }

    /// Returns the finished updates of a resource, oldest first.
    pub fn history(&self, name: &ResourceName) -> impl Iterator<Item = &FinishedUpdate> {
        self.resources.get(name).into_iter().flat_map(|resource| &resource.history)
    }

    pub(crate) fn tiltfile_named(&self, name: &ResourceName) -> Option<&TiltfileState> {
        if name.is_tiltfile() { Some(&self.tiltfile) } else { self.tiltfiles.get(name) }
    }

    pub(crate) fn tiltfile_named_mut(&mut self, name: &ResourceName) -> Option<&mut TiltfileState> {
        if name.is_tiltfile() { Some(&mut self.tiltfile) } else { self.tiltfiles.get_mut(name) }
    }

    /// Returns all Tiltfiles, the main one first.
    pub(crate) fn all_tiltfiles(&self) -> impl Iterator<Item = (ResourceName, &TiltfileState)> {
        let others = self.tiltfiles.iter().map(|(name, tiltfile)| (name.clone(), tiltfile));
        std::iter::once((ResourceName::tiltfile(), &self.tiltfile)).chain(others)
    }

    /// Returns whether a Tiltfile is being loaded, which may change what is about to start.
    pub(crate) fn is_loading(&self) -> bool {
        self.all_tiltfiles().any(|(_, tiltfile)| tiltfile.loading.is_some())
    }

    /// Sets a redactor for more than the secrets of the Tiltfile, such as those used by builds or declared
    /// earlier.
    pub fn set_redactor(&mut self, redactor: Redactor) {
        self.redactor = redactor;
    }

    /// Secrets that must not appear in anything users see.
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// Returns the names of the Tiltfiles, the main one first.
    pub fn tiltfile_names(&self) -> impl Iterator<Item = ResourceName> {
        self.all_tiltfiles().map(|(name, _)| name)
    }

    /// Returns whether the session runs in `ci`, without a user.
    pub(crate) fn is_unattended(&self) -> bool {
        self.options.mode == Mode::Ci
    }

    pub fn mode(&self) -> Mode {
        self.options.mode
    }

    pub(crate) fn touch(&mut self, name: &ResourceName) {
        if !self.touched.resources.contains(name) {
            self.touched.resources.insert(name.clone());
        }
    }

    pub(crate) fn touch_owner(&mut self, owner: &Owner) {
        match owner {
            Owner::Resource(name) => self.touch(name),
            Owner::Object(key) => self.objects.touch(key),
        }
    }

    /// Removes a resource from the lists of those that may wait for another.
    pub(crate) fn forget_waiting(&mut self, name: &ResourceName) {
        self.behind_uncategorized.remove(name);
        self.produced.retain(|_, resources| {
            resources.remove(name);
            !resources.is_empty()
        });
    }

    pub(crate) fn touch_session(&mut self) {
        self.touched.session = true;
    }

    pub(crate) fn touched_now(&self) -> impl Iterator<Item = &ResourceName> {
        self.touched.resources.iter()
    }

    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Returns the folder of the Tiltfile, which paths are relative to.
    pub(crate) fn folder(&self) -> &Path {
        self.options.tiltfile.parent().unwrap_or(Path::new("/"))
    }

    /// Returns a path as the user would write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.folder()).unwrap_or(path).display().to_string()
    }
}
