//! Events: everything that can happen to a session.

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
    /// The first event of a session.
    Started,
    Requested {
        request: Request,
    },
    /// A load of the Tiltfile ended. `files` are the files it read, `contents` their contents.
    Loaded {
        load: u64,
        files: FileSet,
        #[serde(default)]
        contents: Contents,
        outcome: Result<Box<Project>, Failure>,
    },
    /// A load takes long. `activity` is what it does, `files` are the Tiltfiles it has run so far.
    LoadIsSlow {
        load: u64,
        activity: String,
        files: Vec<PathBuf>,
    },
    /// The files are watched: from now on no change is missed.
    Watching {
        watch: WatchId,
        version: u64,
    },
    /// Some changes of these files may be missed.
    WatchTroubled {
        watch: WatchId,
        failure: Failure,
    },
    /// Files were saved: one batch, as reported by each watch.
    FilesChanged {
        changes: Vec<FileChanges>,
    },
    /// Some deletions among these files were lost: only a build sees which files are left.
    ChangesLost {
        watch: WatchId,
    },
    UpdateEnded {
        resource: ResourceName,
        update: u64,
        outcome: Box<UpdateOutcome>,
    },
    /// An unreachable dependency responds again, or it is time for a real attempt.
    OutageOver {
        outage: u64,
    },
    /// A running update entered its next stage.
    StageBegan {
        owner: Owner,
        update: u64,
        stage: StageKind,
        detail: String,
    },
    /// An image of a running update was built and delivered. Other resources may use it.
    ImageBuilt {
        resource: ResourceName,
        update: u64,
        image: ImageName,
        reference: String,
    },
    /// The current stage of an update ended.
    StageEnded {
        resource: ResourceName,
        update: u64,
    },
    /// The sync of one container of a live update succeeded or failed.
    Synced {
        owner: Owner,
        update: u64,
        container: ContainerId,
        outcome: Result<(), SyncFault>,
    },
    /// A command of an update started: that of a local resource, or one that builds an image.
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
    /// The command of an owner started: a serve command, or that of a `Cmd`.
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
    /// The readiness of a command changed. `cause` is why it is not ready, or why the last probes failed
    /// although it still counts as ready.
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
        /// None if kubeconfig does not name the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<ClusterAddress>,
        failure: Failure,
    },
    /// The connection was lost: the known pods may be outdated.
    ClusterTroubled {
        #[serde(default)]
        cluster: ClusterName,
        failure: Failure,
    },
    ClusterRecovered {
        #[serde(default)]
        cluster: ClusterName,
    },
    /// The complete list of pods of a namespace.
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
    /// The cluster reported a notice about a pod, or about an object that creates pods.
    Noticed {
        notice: Notice,
    },
    /// Access to the pods of a namespace is forbidden.
    PodsRefused {
        #[serde(default)]
        cluster: ClusterName,
        namespace: String,
        failure: Failure,
    },
    /// The complete list of applied objects of a scope, each with its fingerprint.
    ObjectsListed {
        scope: ObjectScope,
        objects: Vec<(String, String)>,
    },
    /// An applied object changed. `mark` is its new fingerprint.
    ObjectChanged {
        scope: ObjectScope,
        name: String,
        mark: String,
    },
    /// An applied object was deleted. `mark` is its last fingerprint.
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
    /// A port forward listens, or failed.
    ForwardChanged {
        owner: Owner,
        slot: ForwardSlot,
        local_port: u16,
        state: ForwardState,
    },
    /// A deletion ended, successful or not.
    CleanedUp {
        cleanup: u64,
    },
    /// The removal of old images ended, successful or not.
    Pruned,
    /// The next batch of telemetry may be sent.
    TelemetryDue {
        run: u64,
    },
    /// The telemetry command ended. `delivered`: successfully.
    TelemetrySent {
        run: u64,
        delivered: bool,
    },
    /// A client wrote an API object. The uid applies if the object is new.
    ObjectPut {
        key: ObjectKey,
        object: Box<Object>,
        uid: String,
    },
    /// A client changed labels or annotations of an object that shows the resource `of`, or the session if
    /// that name is empty.
    ObjectNoted {
        key: ObjectKey,
        of: ResourceName,
        notes: Box<Notes>,
    },
    /// An object was deleted, and with it the objects it owns unless `keep_owned`.
    ObjectDeleted {
        key: ObjectKey,
        #[serde(default)]
        keep_owned: bool,
    },
    /// An object that shows a resource is gone. It may own other objects.
    OwnerGone {
        uid: String,
    },
    /// The objects of a `KubernetesApply` are about to be applied. From now on they may exist in the cluster.
    ObjectsComing {
        name: String,
        run: u64,
        resource: ResourceName,
        cluster: ClusterName,
        objects: Vec<serde_json::Value>,
    },
    /// The apply of a `KubernetesApply` ended.
    ObjectsApplied {
        name: String,
        run: u64,
        outcome: Result<AppliedObjects, Failure>,
    },
    /// The build of a `DockerImage` or a `CmdImage` ended.
    ObjectImageBuilt {
        key: ObjectKey,
        run: u64,
        /// The steps of the build; none if it did not start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<BuildRecord>,
        outcome: Result<BuiltReference, Failure>,
    },
    /// The probe of a `Cluster` ended.
    ClusterLooked {
        name: String,
        run: u64,
        outcome: Result<FoundCluster, Failure>,
    },
    /// The fetch of an `ExtensionRepo` ended.
    RepositoryFetched {
        name: String,
        run: u64,
        outcome: Result<ProvidedRepository, Failure>,
    },
    /// The search for the Tiltfile of an `Extension` ended.
    ExtensionFound {
        name: String,
        run: u64,
        outcome: Result<PathBuf, Failure>,
    },
    /// The time of `Task::Wake` has come.
    Woke,
    /// A runner failed because of a bug in lilt.
    TaskBroke {
        task: TaskId,
        failure: Failure,
    },
}

/// Applied objects with their uids.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AppliedObjects {
    pub objects: Vec<serde_json::Value>,
    pub uids: Vec<(ObjectRef, Uid)>,
    /// All objects as returned by the cluster, as YAML.
    #[serde(default)]
    pub result: String,
}

/// A reachable cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundCluster {
    Kubernetes(Box<ClusterInfo>),
    Docker { version: String, arch: String },
}

/// The references of a built image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltReference {
    /// The reference on this machine.
    pub local: String,
    pub in_cluster: String,
}

/// A repository of extensions on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvidedRepository {
    pub path: PathBuf,
    /// The checked-out commit; none for a local folder.
    pub commit: Option<String>,
    pub fetched: Timestamp,
    /// The reason why it may be outdated.
    pub stale: Option<String>,
}

/// The part of a batch of saves that one watch reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChanges {
    pub watch: WatchId,
    pub paths: Vec<PathBuf>,
    /// The paths that are certainly new or deleted.
    #[serde(default, skip_serializing_if = "Existence::is_empty")]
    pub existence: Existence,
    /// The newest modification time, if the file system provides it.
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

/// The owner of a file watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchId {
    /// The files that a Tiltfile read.
    Tiltfile(ResourceName),
    Local(ResourceName),
    Image(ResourceName, ImageName),
    /// The dependencies of a deploy command.
    Deploy(ResourceName),
    /// The files of a `FileWatch` object.
    Object(String),
}

impl WatchId {
    /// The prefix of the names of Tiltfile watches.
    pub(crate) const OF_TILTFILE: &str = "configs:";

    /// Returns the name of the `FileWatch` that shows it.
    pub(crate) fn name(&self) -> String {
        match self {
            WatchId::Deploy(name) => clean_name(&format!("{name}:apply")),
            _ => clean_name(&self.target()),
        }
    }

    /// Returns Tilt's name of the target that is updated with these files.
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

/// Returns a name that can be part of a URL path.
pub(crate) fn clean_name(name: &str) -> String {
    name.replace(['/', '%'], "_")
}

/// The result of an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateOutcome {
    pub failure: Option<Failure>,
    /// The built images with their references in the cluster, even if a later stage failed.
    pub images: Vec<(ImageName, String)>,
    /// The steps of each image build, including failed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<BuildRecord>,
    pub deployed: Option<Deployed>,
    /// The warnings in its log.
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
    /// The fingerprints of `objects`, in the same order: they differ once somebody changes an object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// For a deploy command: the manifests of `objects` as far as they can be determined, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Value>,
    /// Pods of this deployment carry one of these as `tilt.dev/pod-template-hash`.
    pub template_hashes: Vec<String>,
    /// Its jobs existed already, unchanged and completed.
    #[serde(default)]
    pub completed: bool,
    /// According to the output of a deploy command, pods will be created. They carry no hash.
    #[serde(default)]
    pub makes_pods: bool,
    /// The objects as returned by the cluster, as YAML.
    #[serde(default)]
    pub result: String,
}

impl Deployed {
    /// Returns whether its objects carry lilt's label. Those applied by a command do not.
    pub(crate) fn is_labelled(&self) -> bool {
        self.manifests.is_empty()
    }
}

/// A difference between an object and its applied manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    Deleted,
    /// The changed fields, each with its applied and its current value.
    Changed(Vec<String>),
    /// Changed by another session of lilt, which deployed the object.
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

/// Lists the first fields.
fn listed(fields: &[String]) -> String {
    const TOLD: usize = 5;
    let mut told = fields.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", ");
    if fields.len() > TOLD {
        told.push_str(" …");
    }
    told
}

/// The reason why a live update of a container failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncFault {
    /// A `run` step failed. The next save retries it.
    Step(Failure),
    /// Files cannot be copied into this container, so a build is needed.
    Transport(Failure),
    /// Files cannot be copied because the container's user may not write them. The next deployment must
    /// permit it.
    Closed(Failure),
    /// The container is gone. The one that replaces it is updated instead.
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
    /// Returns the exit code as shells report it, and a reason where the code alone is not enough, as a `Cmd`
    /// shows them.
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
