//! All that is known of a session. Only [`crate::apply`] and [`crate::schedule`] change it.

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

/// What the session was started with.
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
    /// For the Tiltfile.
    pub args: Vec<String>,
    /// How long `ci` may take if the Tiltfile does not say.
    pub ci_timeout: Option<Duration>,
    /// The cluster that was asked for, where it is not the current one.
    #[serde(default)]
    pub context: Option<String>,
    /// And the namespace.
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

/// A line for a resource's log that only the engine can write: a decision, not something a runner did.
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

/// What an event touched: only this needs planning and projecting anew.
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
    /// Those beside the main one: of extensions, and of objects that were made.
    pub(crate) tiltfiles: BTreeMap<ResourceName, TiltfileState>,
    pub(crate) resources: Resources,
    /// Who waits for whom: dependency → dependents.
    pub(crate) dependents: BTreeMap<ResourceName, BTreeSet<ResourceName>>,
    /// Images that several resources have, with those.
    pub(crate) sharing: BTreeMap<ImageName, BTreeSet<ResourceName>>,
    /// The last save that changed each of those.
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
    /// Deletions under way: what, and for which resource's log.
    pub(crate) cleanups: BTreeMap<u64, Cleanup>,
    /// How many deletions a resource waits for: what it applies anew must not be deleted again.
    pub(crate) cleaning: BTreeMap<ResourceName, usize>,
    /// Said by hand, whatever the Tiltfile says, for as long as the session lasts.
    pub(crate) trigger_modes: BTreeMap<ResourceName, TriggerMode>,
    /// Resources that wait for `uncategorized`.
    pub(crate) behind_uncategorized: BTreeSet<ResourceName>,
    /// Local resources, each with those whose inputs its command was seen to write before they were deployed.
    pub(crate) produced: BTreeMap<ResourceName, BTreeSet<ResourceName>>,
    /// When to look again though nothing happened, and at whom; none: at the session.
    pub(crate) alarms: BTreeSet<(Timestamp, Option<ResourceName>)>,
    /// The alarm of the session.
    pub(crate) session_alarm: Option<Timestamp>,
    /// What does not answer and is waited for.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) outages: BTreeMap<Outage, OutageState>,
    /// Objects that retry when an outage is over. Resources have theirs in their own state.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) retries: BTreeMap<ObjectKey, AwaitedOutage>,
    /// `ci` took too long.
    pub(crate) timed_out: bool,
    pub(crate) settled: Settled,
    pub(crate) prune: PruneState,
    pub(crate) telemetry: TelemetryState,
    /// To be kept out of all that is shown.
    #[serde(skip)]
    pub(crate) secrets: Vec<Secret>,
    /// Redacts them.
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

/// Counts what turns look at. Not a part of what is so: two states that differ in it alone are equal.
#[derive(Clone, Copy, Debug, Default)]
struct Operations(u64);

impl PartialEq for Operations {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What is to be deleted.
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

/// The pods of the followed namespaces, whether they are ours or not: one may be seen before we know that it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Pods {
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) known: BTreeMap<PodRef, Arc<Pod>>,
    pub(crate) by_owner: BTreeMap<Uid, BTreeSet<PodRef>>,
    /// Which resource applied an object.
    pub(crate) owners: BTreeMap<Uid, ResourceName>,
    /// Resources that were deployed and also find pods by labels.
    pub(crate) selecting: BTreeSet<ResourceName>,
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) notices: BTreeMap<PodRef, Arc<Notices>>,
    /// About what is not known yet.
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
    /// For whom images are built now.
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
            tiltfile: TiltfileState { args, path, ..TiltfileState::default() },
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

    /// What was touched since this was last asked.
    pub fn take_touched(&mut self) -> Touched {
        let objects = self.objects.take_touched();
        Touched { objects, ..std::mem::take(&mut self.touched) }
    }

    /// What is to be written to the log since this was last asked.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Records of updates that are new or changed since this was last asked.
    pub fn take_records(&mut self) -> Vec<(ResourceName, UpdateRecord)> {
        std::mem::take(&mut self.records)
    }

    pub(crate) fn tell_record(&mut self, resource: &ResourceName, record: UpdateRecord) {
        self.records.push((resource.clone(), record));
    }

    /// How many resources all turns so far have looked at.
    pub fn operations(&self) -> u64 {
        self.operations.0
    }

    pub(crate) fn count_operation(&mut self) {
        self.operations.0 += 1;
    }

    /// Says when to look at a resource, or at the session, again; none: not before something happens.
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

    /// Where a resource is deployed.
    pub(crate) fn cluster_of(&self, name: &ResourceName) -> ClusterName {
        match self.resources.get(name).map(|resource| &resource.spec.body) {
            Some(Body::Kubernetes(spec)) => spec.cluster.clone(),
            _ => ClusterName::default(),
        }
    }

    pub fn hold(&self, name: &ResourceName) -> Option<&crate::Hold> {
        self.resources.get(name)?.hold.as_ref()
    }

    /// The updates of a resource that ended, oldest first.
    pub fn history(&self, name: &ResourceName) -> impl Iterator<Item = &FinishedUpdate> {
        self.resources.get(name).into_iter().flat_map(|resource| &resource.history)
    }

    pub(crate) fn tiltfile_named(&self, name: &ResourceName) -> Option<&TiltfileState> {
        if name.is_tiltfile() { Some(&self.tiltfile) } else { self.tiltfiles.get(name) }
    }

    pub(crate) fn tiltfile_named_mut(&mut self, name: &ResourceName) -> Option<&mut TiltfileState> {
        if name.is_tiltfile() { Some(&mut self.tiltfile) } else { self.tiltfiles.get_mut(name) }
    }

    /// All of them, the main one first.
    pub(crate) fn all_tiltfiles(&self) -> impl Iterator<Item = (ResourceName, &TiltfileState)> {
        let others = self.tiltfiles.iter().map(|(name, tiltfile)| (name.clone(), tiltfile));
        std::iter::once((ResourceName::tiltfile(), &self.tiltfile)).chain(others)
    }

    /// A load runs, which may change what is about to start.
    pub(crate) fn is_loading(&self) -> bool {
        self.all_tiltfiles().any(|(_, tiltfile)| tiltfile.loading.is_some())
    }

    /// Redacts more than the secrets of the Tiltfile: such as those that builds used, or that were declared earlier.
    pub fn set_redactor(&mut self, redactor: Redactor) {
        self.redactor = redactor;
    }

    /// To be kept out of all that is shown.
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// The Tiltfiles, the main one first.
    pub fn tiltfile_names(&self) -> impl Iterator<Item = ResourceName> {
        self.all_tiltfiles().map(|(name, _)| name)
    }

    /// Returns whether nobody works with the session: it runs in `ci`.
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

    /// Takes a resource out of the lists of those that may wait for another.
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

    /// The folder of the Tiltfile, from which paths count.
    pub(crate) fn folder(&self) -> &Path {
        self.options.tiltfile.parent().unwrap_or(Path::new("/"))
    }

    /// A path as the user would write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.folder()).unwrap_or(path).display().to_string()
    }
}
