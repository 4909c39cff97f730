//! Facts. Everything that can happen to a session is listed here.

use std::path::PathBuf;

use lilt_api::{Notes, Object, ObjectKey};
use lilt_model::cluster::{ClusterAddress, ClusterInfo, Notice, Pod, PodRef};
use lilt_model::files::{Contents, Existence, FileSet};
use lilt_model::image::BuildRecord;
use lilt_model::kubernetes::{ObjectRef, ObjectScope};
use lilt_model::project::Project;
use lilt_model::request::Request;
use lilt_model::timeline::StageKind;
use lilt_model::{ClusterName, ContainerId, Failure, ImageName, ResourceName, Timestamp, Uid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::controllers::port_forward::ForwardSlot;
use crate::owner::Owner;
use crate::task::TaskId;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first one: nothing has happened yet.
    Started,
    Requested {
        request: Request,
    },
    /// A load of the Tiltfile ended; `files` is what it read, `contents` what they held.
    Loaded {
        load: u64,
        files: FileSet,
        #[serde(default)]
        contents: Contents,
        outcome: Result<Box<Project>, Failure>,
    },
    /// A load takes long: what it does, and the Tiltfiles that it has run so far.
    LoadIsSlow {
        load: u64,
        activity: String,
        files: Vec<PathBuf>,
    },
    /// From now on no change to these files is missed.
    Watching {
        watch: WatchId,
        version: u64,
    },
    /// Some changes to these files may be missed.
    WatchTroubled {
        watch: WatchId,
        failure: Failure,
    },
    /// Files were saved. One burst, as every watch of a group has seen it.
    FilesChanged {
        changes: Vec<FileChanges>,
    },
    /// Of what was deleted from these files, not everything can be told: only a build knows what is left.
    ChangesLost {
        watch: WatchId,
    },
    UpdateEnded {
        resource: ResourceName,
        update: u64,
        outcome: Box<UpdateOutcome>,
    },
    /// What did not answer does again; or so long has passed that a real attempt must tell.
    OutageOver {
        outage: u64,
    },
    /// A running update has come to its next stage.
    StageBegan {
        owner: Owner,
        update: u64,
        stage: StageKind,
        detail: String,
    },
    /// An image of a running update is built and where it is needed: other resources may use it, too.
    ImageBuilt {
        resource: ResourceName,
        update: u64,
        image: ImageName,
        reference: String,
    },
    /// The stage that runs is over.
    StageEnded {
        resource: ResourceName,
        update: u64,
    },
    /// One container of a live update has what it was given, or could not get it.
    Synced {
        owner: Owner,
        update: u64,
        container: ContainerId,
        outcome: Result<(), SyncFault>,
    },
    /// A command of an update runs: the one of a local resource, or the one that builds an image.
    UpdateCommandStarted {
        resource: ResourceName,
        update: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<ImageName>,
        pid: u32,
    },
    UpdateCommandEnded {
        resource: ResourceName,
        update: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<ImageName>,
        exit: CommandExit,
    },
    /// The command of an owner runs: a server, or what a `Cmd` says.
    CommandStarted {
        owner: Owner,
        run: u64,
        pid: u32,
    },
    CommandEnded {
        owner: Owner,
        run: u64,
        exit: CommandExit,
    },
    /// What is known of a command's readiness has changed: whether its probe counts it as ready, and why not, or why
    /// the last attempts failed although it still counts as ready.
    CommandProbed {
        owner: Owner,
        run: u64,
        ready: bool,
        cause: Option<String>,
    },
    ClusterConnected {
        #[serde(default)]
        cluster: ClusterName,
        info: Box<ClusterInfo>,
    },
    ClusterFailed {
        #[serde(default)]
        cluster: ClusterName,
        /// None if kubeconfig does not say which cluster it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<ClusterAddress>,
        failure: Failure,
    },
    /// The connection was lost; what is known of pods may be outdated.
    ClusterTroubled {
        #[serde(default)]
        cluster: ClusterName,
        failure: Failure,
    },
    ClusterRecovered {
        #[serde(default)]
        cluster: ClusterName,
    },
    /// The pods of a namespace, all of them.
    PodsListed {
        #[serde(default)]
        cluster: ClusterName,
        namespace: String,
        pods: Vec<Pod>,
    },
    PodChanged {
        pod: Box<Pod>,
    },
    PodGone {
        pod: PodRef,
    },
    /// Something happened to a pod, or to an object that makes pods.
    Noticed {
        notice: Notice,
    },
    /// The pods of a namespace may not be read.
    PodsRefused {
        #[serde(default)]
        cluster: ClusterName,
        namespace: String,
        failure: Failure,
    },
    /// The applied objects of a scope, all of them, with their marks.
    ObjectsListed {
        scope: ObjectScope,
        objects: Vec<(String, String)>,
    },
    /// An applied object says something else than before; its name and mark.
    ObjectChanged {
        scope: ObjectScope,
        name: String,
        mark: String,
    },
    /// The mark is the one it had.
    ObjectGone {
        scope: ObjectScope,
        name: String,
        mark: String,
    },
    /// Objects of a resource were compared with their manifests.
    Inspected {
        resource: ResourceName,
        inspection: u64,
        found: Vec<(ObjectRef, Option<Drift>)>,
    },
    /// A port forward listens, or cannot work; with the port that it has.
    ForwardChanged {
        owner: Owner,
        slot: ForwardSlot,
        local_port: u16,
        state: ForwardState,
    },
    /// Objects that nothing names any more were deleted, or could not be.
    CleanedUp {
        cleanup: u64,
    },
    /// Old images were removed, or could not be.
    Pruned,
    /// The next batch of telemetry may be sent.
    TelemetryDue {
        run: u64,
    },
    /// The telemetry command has ended; `delivered`: with success.
    TelemetrySent {
        run: u64,
        delivered: bool,
    },
    /// An object of the API was written from outside; the uid counts if it is new.
    ObjectPut {
        key: ObjectKey,
        object: Box<Object>,
        uid: String,
    },
    /// Somebody noted something on an object that lilt keeps to tell of a resource; of the session, if that has no name.
    ObjectNoted {
        key: ObjectKey,
        of: ResourceName,
        notes: Box<Notes>,
    },
    /// An object was deleted; what belongs to it goes, too, unless that is to be kept.
    ObjectDeleted {
        key: ObjectKey,
        #[serde(default)]
        keep_owned: bool,
    },
    /// An object that tells of something is gone; others may belong to it.
    OwnerGone {
        uid: String,
    },
    /// What a `KubernetesApply` says is about to be applied: from now on it may be in the cluster.
    ObjectsComing {
        name: String,
        run: u64,
        resource: ResourceName,
        cluster: ClusterName,
        objects: Vec<serde_json::Value>,
    },
    /// What a `KubernetesApply` says was applied, or could not be.
    ObjectsApplied {
        name: String,
        run: u64,
        outcome: Result<AppliedObjects, Failure>,
    },
    /// The image of a `DockerImage` or a `CmdImage` was built, or could not be.
    ObjectImageBuilt {
        key: ObjectKey,
        run: u64,
        /// What the build went through; none if it did not begin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<BuildRecord>,
        outcome: Result<BuiltReference, Failure>,
    },
    /// What a `Cluster` says was reached, or does not answer.
    ClusterLooked {
        name: String,
        run: u64,
        outcome: Result<FoundCluster, Failure>,
    },
    /// An `ExtensionRepo` was fetched, or could not be.
    RepositoryFetched {
        name: String,
        run: u64,
        outcome: Result<ProvidedRepository, Failure>,
    },
    /// The Tiltfile of an `Extension` was found, or there is none.
    ExtensionFound {
        name: String,
        run: u64,
        outcome: Result<PathBuf, Failure>,
    },
    /// The time for which the session asked has come.
    Woke,
    /// A runner broke: a bug of ours.
    TaskBroke {
        task: TaskId,
        failure: Failure,
    },
}

/// Objects that were applied, and what the cluster calls them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AppliedObjects {
    pub objects: Vec<serde_json::Value>,
    pub uids: Vec<(ObjectRef, Uid)>,
    /// All of them as the cluster has them, as YAML.
    #[serde(default)]
    pub result: String,
}

/// A cluster that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundCluster {
    Kubernetes(Box<ClusterInfo>),
    Docker { version: String, arch: String },
}

/// What an image is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltReference {
    /// On this machine.
    pub local: String,
    pub in_cluster: String,
}

/// A repository of extensions on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvidedRepository {
    pub path: PathBuf,
    /// What is checked out; none for a folder that nobody fetched.
    pub commit: Option<String>,
    pub fetched: Timestamp,
    /// Why it may be outdated.
    pub stale: Option<String>,
}

/// What one watch has seen of a burst of saves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChanges {
    pub watch: WatchId,
    pub paths: Vec<PathBuf>,
    /// Which of them are certain to be new, or gone.
    #[serde(default, skip_serializing_if = "Existence::is_empty")]
    pub existence: Existence,
    /// When the newest of them was written, as far as the file system knows.
    #[serde(default)]
    pub written: Option<Timestamp>,
}

impl FileChanges {
    pub fn new(watch: WatchId, paths: Vec<PathBuf>) -> Self {
        Self { watch, paths, existence: Existence::default(), written: None }
    }
}

impl From<FileChanges> for Event {
    fn from(changes: FileChanges) -> Self {
        Event::FilesChanged { changes: vec![changes] }
    }
}

/// Whose files a watch follows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchId {
    /// What a Tiltfile read.
    Tiltfile(ResourceName),
    Local(ResourceName),
    Image(ResourceName, ImageName),
    /// What a command that deploys depends on.
    Deploy(ResourceName),
    /// What a `FileWatch` asks for.
    Object(String),
}

impl WatchId {
    /// How the names of those of Tiltfiles begin.
    pub(crate) const OF_TILTFILE: &str = "configs:";

    /// The name of the `FileWatch` that tells of it.
    pub(crate) fn name(&self) -> String {
        match self {
            WatchId::Deploy(name) => clean_name(&format!("{name}:apply")),
            _ => clean_name(&self.target()),
        }
    }

    /// What Tilt calls that which is updated with these files.
    pub(crate) fn target(&self) -> String {
        match self {
            WatchId::Tiltfile(name) => format!("{}{name}", Self::OF_TILTFILE),
            WatchId::Local(name) => format!("local:{name}"),
            WatchId::Deploy(name) => format!("k8s:{name}"),
            WatchId::Image(_, image) => format!("image:{image}"),
            WatchId::Object(name) => name.clone(),
        }
    }
}

/// A name that may stand in an address.
pub(crate) fn clean_name(name: &str) -> String {
    name.replace(['/', '%'], "_")
}

/// How an update ended, and what is true since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateOutcome {
    pub failure: Option<Failure>,
    /// Images that were built, with the reference the cluster knows them by; also when a later stage failed.
    pub images: Vec<(ImageName, String)>,
    /// What each build of an image went through, failed ones included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<BuildRecord>,
    pub deployed: Option<Deployed>,
    /// What it warned of in its log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl UpdateOutcome {
    pub fn success() -> Self {
        Self { failure: None, images: Vec::new(), builds: Vec::new(), deployed: None, warnings: Vec::new() }
    }

    pub fn failed(failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::success() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployed {
    pub objects: Vec<(ObjectRef, Uid)>,
    /// By which each of them is known again as long as nobody changes it, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// Where a command deployed: what each of them was made from, as far as that can be told, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Value>,
    /// Pods of this deployment carry one of these as `tilt.dev/pod-template-hash`.
    pub template_hashes: Vec<String>,
    /// Its jobs were there already, unchanged and done.
    #[serde(default)]
    pub completed: bool,
    /// By what a command printed, pods will come; they carry no hash.
    #[serde(default)]
    pub makes_pods: bool,
    /// The objects as the cluster has them, as YAML.
    #[serde(default)]
    pub result: String,
}

impl Deployed {
    /// Whether its objects carry our label: those that a command applied do not.
    pub(crate) fn is_labelled(&self) -> bool {
        self.manifests.is_empty()
    }
}

/// How an object is not as it was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    Deleted,
    /// The fields, each as it was applied and as it is.
    Changed(Vec<String>),
    /// The same, by another session of lilt, which deployed the object.
    Replaced {
        by: String,
        fields: Vec<String>,
    },
}

impl Drift {
    pub fn words(&self, object: &ObjectRef) -> String {
        match self {
            Drift::Deleted => format!("{object} was deleted in the cluster"),
            Drift::Changed(fields) => {
                format!("{object} was changed in the cluster (applied → now): {}", listed(fields))
            }
            Drift::Replaced { by, fields } => {
                format!("{object} was replaced by what {by} deployed (applied → now): {}", listed(fields))
            }
        }
    }
}

/// Lists the first of the fields: more than these tell nobody anything.
fn listed(fields: &[String]) -> String {
    const TOLD: usize = 5;
    let mut told = fields.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", ");
    if fields.len() > TOLD {
        told.push_str(" …");
    }
    told
}

/// Why a container could not be brought up to date in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncFault {
    /// A step of the user's failed; the next save tries again.
    Step(Failure),
    /// Files cannot be copied into this container; a build is needed.
    Transport(Failure),
    /// The same because its files are closed to its own user: what is deployed next must open them.
    Closed(Failure),
    /// The container is gone; its successor will be brought up to date.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandExit {
    Code(i32),
    Signal(i32),
    /// It could not be started.
    Failed(Failure),
}

impl CommandExit {
    /// As a `Cmd` tells it: the code as a shell counts it, and why, where the code does not say it all.
    pub(crate) fn code_and_reason(&self) -> (i32, String) {
        match self {
            CommandExit::Code(code) => (*code, String::new()),
            CommandExit::Signal(signal) => (128 + signal, format!("ended by signal {signal}")),
            CommandExit::Failed(failure) => (1, failure.to_string()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForwardState {
    Listening,
    Failed(Failure),
}
