//! What can be running, as data. A task exists because the plan has it and ends because the plan lacks it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lilt_api::ObjectKey;
use lilt_model::cluster::{Delivery, Pod, PodRef};
use lilt_model::command::Command;
use lilt_model::files::{Contents, FileSet, WatchOptions};
use lilt_model::image::{ImageTarget, LiveUpdate};
use lilt_model::kubernetes::{Forward, KubernetesResource, ObjectRef, ObjectScope};
use lilt_model::locator::ImageLocator;
use lilt_model::probe::Probe;
use lilt_model::registry::Registry;
use lilt_model::secret::Secret;
use lilt_model::settings::ServerSideApply;
use lilt_model::{ClusterName, ContainerId, Failure, ImageName, ResourceName, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cause::Cause;
use crate::controllers::command::OnExit;
use crate::controllers::log_stream::ContainerFilter;
use crate::controllers::port_forward::ForwardSlot;
use crate::event::WatchId;
use crate::notices::Notices;
use crate::outage::Outage;
use crate::owner::Owner;
use crate::prune::PruneJob;
use crate::telemetry::TelemetryJob;

/// A slot for one task at a time. When the plan puts another task into it, the old one ends first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskId {
    Load(ResourceName),
    Watch(WatchId),
    Update(ResourceName),
    Command(Owner),
    Probe(Owner),
    Connect(ClusterName),
    /// Whether kubeconfig still says what it said of it.
    Kubeconfig(ClusterName),
    Namespace(ClusterName, String),
    /// Applied objects, from afar.
    Objects(ObjectScope),
    /// A look at objects that may not be as they were applied.
    Inspect(ResourceName),
    LogStream(Owner, PodRef),
    Forward(Owner, ForwardSlot),
    Sync(Owner, ContainerId),
    Cleanup(u64),
    /// What a `KubernetesApply` applies.
    Apply(String),
    /// What a `DockerImage` or a `CmdImage` builds.
    Image(ObjectKey),
    /// What a `Cluster` reaches.
    Cluster(String),
    /// What an `ExtensionRepo` fetches.
    Repository(String),
    /// What an `Extension` looks for.
    Extension(String),
    /// The end of an outage.
    Outage(Outage),
    Prune,
    /// Spans for `experimental_telemetry_cmd`.
    Telemetry,
    Wake,
}

/// A task: which slot it takes, and what it does there.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Evaluate a Tiltfile. `secrets` are those of others, which stay hidden.
    Load {
        tiltfile: ResourceName,
        load: u64,
        cause: Cause,
        path: PathBuf,
        args: Vec<String>,
        secrets: Vec<Secret>,
    },
    /// Follow files. The version grows when they become others. A file that no longer holds what it held
    /// counts as changed.
    Watch { watch: WatchId, version: u64, files: FileSet, contents: Contents, options: WatchOptions },
    /// Bring a resource up to date.
    Update { resource: ResourceName, update: u64, cause: Cause, job: Arc<UpdateJob> },
    /// Apply what a `KubernetesApply` says.
    Apply { name: String, run: u64, job: Arc<ApplyJob> },
    /// Build an image, and what brings it to the cluster; whose log it writes to.
    Image { object: ObjectKey, run: u64, job: Arc<DeployJob>, resource: ResourceName },
    /// Reach a cluster beside the session's own, and say when it does not answer.
    Cluster { name: String, run: u64, source: ClusterSource },
    /// Fetch a repository of extensions, again and again until it is there.
    Repository { name: String, run: u64, source: RepositorySource },
    /// Find the Tiltfile of an extension in its repository.
    Extension { name: String, run: u64, source: RepositorySource, path: String },
    /// Run the command of an owner; its output goes to the log of a resource.
    Command { owner: Owner, run: u64, command: Command, on_exit: OnExit, resource: Option<ResourceName> },
    /// Find out whether a running command is ready, again and again. What is found goes to the log of a resource.
    Probe { owner: Owner, run: u64, probe: Probe, resource: Option<ResourceName> },
    /// Reach the cluster, however long it takes. `reconnect` numbers the user's requests to try again now.
    Connect { cluster: ClusterName, reconnect: u64 },
    /// Say when kubeconfig leads elsewhere than this session goes.
    Kubeconfig { cluster: ClusterName },
    /// Follow the pods of a namespace. `reconnect` as in `Connect`.
    Namespace { cluster: ClusterName, namespace: String, reconnect: u64 },
    /// Follow whether applied objects are still there and still the same.
    Objects { scope: ObjectScope },
    /// Compare objects with their manifests.
    Inspect { resource: ResourceName, inspection: Box<Inspection> },
    /// Write the logs of a pod's containers to the log of a resource.
    LogStream {
        owner: Owner,
        resource: ResourceName,
        pod: Arc<Pod>,
        containers: ContainerFilter,
        /// Where to begin; none: with the session, or with the pod if that is newer.
        since: Option<Timestamp>,
        /// Where the pod's notices, restarts and way to readiness are reported too: its notices.
        notices: Option<Arc<Notices>>,
        /// When it is cancelled, it reads the logs of terminated containers to their end.
        read_to_end: bool,
    },
    /// Lead a local port to a pod. `resource` is whose log it writes to.
    Forward {
        owner: Owner,
        slot: ForwardSlot,
        resource: ResourceName,
        cluster: ClusterName,
        forward: Forward,
        target: Option<ForwardTarget>,
    },
    /// Copy changes into a container. `resource` is whose log it writes to.
    Sync { owner: Owner, resource: ResourceName, task: Box<SyncTask> },
    /// Delete what is no longer wanted.
    Cleanup { cleanup: u64, resource: ResourceName, leftovers: Leftovers, reason: CleanupReason },
    /// Remove old images from the engine.
    Prune(Box<PruneJob>),
    /// Wait until a batch of spans is due, or send it.
    Telemetry(Box<TelemetryJob>),
    /// Report when something responds that did not. It has seemed to respond `attempts` times before.
    /// `immediate`: the first probe comes without a pause. After `limit` it counts as over, so that an update is tried.
    Outage { outage: Outage, id: u64, attempts: u32, immediate: bool, limit: Option<Duration> },
    /// Fires at `at`.
    Wake { at: Timestamp },
}

impl Task {
    /// Returns the slot that it takes.
    pub fn id(&self) -> TaskId {
        match self {
            Task::Load { tiltfile, .. } => TaskId::Load(tiltfile.clone()),
            Task::Watch { watch, .. } => TaskId::Watch(watch.clone()),
            Task::Update { resource, .. } => TaskId::Update(resource.clone()),
            Task::Command { owner, .. } => TaskId::Command(owner.clone()),
            Task::Apply { name, .. } => TaskId::Apply(name.clone()),
            Task::Image { object, .. } => TaskId::Image(object.clone()),
            Task::Cluster { name, .. } => TaskId::Cluster(name.clone()),
            Task::Repository { name, .. } => TaskId::Repository(name.clone()),
            Task::Extension { name, .. } => TaskId::Extension(name.clone()),
            Task::Probe { owner, .. } => TaskId::Probe(owner.clone()),
            Task::Connect { cluster, .. } => TaskId::Connect(cluster.clone()),
            Task::Kubeconfig { cluster } => TaskId::Kubeconfig(cluster.clone()),
            Task::Namespace { cluster, namespace, .. } => {
                TaskId::Namespace(cluster.clone(), namespace.clone())
            }
            Task::Objects { scope } => TaskId::Objects(scope.clone()),
            Task::Inspect { resource, .. } => TaskId::Inspect(resource.clone()),
            Task::LogStream { owner, pod, .. } => TaskId::LogStream(owner.clone(), pod.reference()),
            Task::Forward { owner, slot, .. } => TaskId::Forward(owner.clone(), slot.clone()),
            Task::Sync { owner, task, .. } => TaskId::Sync(owner.clone(), task.id.clone()),
            Task::Cleanup { cleanup, .. } => TaskId::Cleanup(*cleanup),
            Task::Prune(_) => TaskId::Prune,
            Task::Telemetry(_) => TaskId::Telemetry,
            Task::Outage { outage, .. } => TaskId::Outage(outage.clone()),
            Task::Wake { .. } => TaskId::Wake,
        }
    }

    /// Whether it goes on as `next`, which takes the same slot, without being restarted.
    pub fn continues(&self, next: &Task) -> bool {
        match (self, next) {
            (Task::Watch { .. }, Task::Watch { .. }) => true,
            (Task::LogStream { resource: old, .. }, Task::LogStream { resource: new, .. }) => old == new,
            // One that was given up may never respond: its runner must end, and the connection with it.
            (
                Task::Sync { resource: old_resource, task: old, .. },
                Task::Sync { resource, task: new, .. },
            ) => {
                old.given_up == new.given_up
                    && old.without_agent == new.without_agent
                    && old_resource == resource
            }
            (
                Task::Forward { resource: old_resource, cluster: old_cluster, forward: old, .. },
                Task::Forward { resource, cluster, forward: new, .. },
            ) => old == new && old_cluster == cluster && old_resource == resource,
            // Numbers tell them apart, and comparing whole jobs would cost.
            (Task::Update { update: old, .. }, Task::Update { update: new, .. })
            | (Task::Command { run: old, .. }, Task::Command { run: new, .. })
            | (Task::Apply { run: old, .. }, Task::Apply { run: new, .. })
            | (Task::Image { run: old, .. }, Task::Image { run: new, .. })
            | (Task::Load { load: old, .. }, Task::Load { load: new, .. })
            | (Task::Probe { run: old, .. }, Task::Probe { run: new, .. }) => old == new,
            _ => self == next,
        }
    }
}

/// How a cluster beside the session's own is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ClusterSource {
    /// None: as kubeconfig says.
    Kubernetes { context: Option<String>, namespace: Option<String> },
    /// None: as the environment says.
    Docker { host: Option<String> },
}

/// A repository of extensions, as it is spoken of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RepositorySource {
    pub name: String,
    pub url: String,
    /// Empty: the newest.
    pub reference: String,
    /// The folder of it that holds the extensions.
    pub subpath: String,
}

/// What a `KubernetesApply` asks for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplyJob {
    pub cluster: ClusterName,
    pub source: ApplySource,
    /// Of the image maps that it names, in their order: how each is found in objects, and what the cluster calls it.
    pub images: Vec<(ImageTarget, String)>,
    pub locators: Vec<ImageLocator>,
    pub timeout: Option<Duration>,
    pub merge: ServerSideApply,
    /// Whose log it writes to.
    pub resource: ResourceName,
    /// As in [`DeployJob`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

impl ApplyJob {
    pub fn is_command(&self) -> bool {
        matches!(self.source, ApplySource::Command(_))
    }
}

/// Where the objects come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ApplySource {
    /// Their YAML.
    Text(String),
    /// Of the user's: applies them itself, and prints them.
    Command(Command),
}

/// What a resource has in the cluster and is no longer wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Leftovers {
    pub cluster: ClusterName,
    pub objects: Vec<Value>,
    /// Of the user's: deletes what another command of the user's has deployed.
    pub command: Option<Command>,
}

impl Leftovers {
    pub(crate) fn objects(cluster: ClusterName, objects: Vec<Value>) -> Self {
        Self { cluster, objects, command: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.command.is_none()
    }
}

/// Why objects are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CleanupReason {
    /// The Tiltfile no longer names them.
    Unnamed,
    /// Their resource was switched off.
    Disabled,
    /// The `KubernetesApply` that named them is gone, or no longer names them.
    Deleted,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum UpdateJob {
    Local(LocalJob),
    Deploy(Box<DeployJob>),
    /// Cannot be done; why.
    Refused(Failure),
}

/// Run the command, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalJob {
    pub command: Option<Command>,
}

/// Build what is not built, push it, apply the objects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeployJob {
    pub kubernetes: KubernetesResource,
    /// In build order.
    pub images: Vec<ImageJob>,
    /// Where images go: what the cluster announces, else what the Tiltfile says.
    pub registry: Option<Registry>,
    /// The nodes' platform, where it is known.
    pub platform: Option<String>,
    /// The namespace of objects that name none.
    pub namespace: String,
    /// Of its images, those that must come to the cluster; the others are only built on.
    pub delivered: Vec<ImageName>,
    /// How they come there.
    pub delivery: Delivery,
    /// What runs is deleted and made anew, though nothing in it changed: somebody asked for it.
    pub rerun: bool,
    /// One of many that come up at once.
    pub first: bool,
    /// A local command has just ended: files that it wrote may not have been reported yet. Wait for that before inputs
    /// are read, or all of it would be built twice.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub follows_command: bool,
    /// Pods that do not stay up: if nothing is applied that replaces them, they are replaced all the same, because
    /// Kubernetes lets those wait that crash.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crashing: Vec<PodRef>,
    /// Images whose containers refused to have files changed, whatever image and manifest say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<ImageName>,
    pub merge: ServerSideApply,
    /// It runs in `ci`: nobody edits files, and unreachable dependencies are retried for a limited time only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

/// Which objects to compare with what was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    pub id: u64,
    pub kubernetes: KubernetesResource,
    /// The images that were put in.
    pub images: Vec<(ImageName, String)>,
    pub suspects: Vec<ObjectRef>,
    /// What they were made from, where a command deployed them.
    pub manifests: Vec<Value>,
    /// The namespace of objects that name none.
    pub namespace: String,
    pub merge: ServerSideApply,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum ImageJob {
    Build(Box<ImageTarget>),
    /// Up to date, under this reference.
    Reuse {
        name: ImageName,
        reference: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardTarget {
    pub pod: PodRef,
    pub port: u16,
}

/// One container that takes changes in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncTask {
    pub pod: PodRef,
    /// The container's name in the pod.
    pub container: String,
    pub id: ContainerId,
    /// It runs under lilt's agent.
    pub agent: bool,
    /// The agent must not come into it.
    pub without_agent: bool,
    pub live_update: LiveUpdate,
    /// The number of the last job that was given up before it was answered; 0: none was.
    pub given_up: u64,
    /// As in [`DeployJob`].
    pub unattended: bool,
    /// What to bring in now.
    pub job: Option<SyncJob>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncJob {
    pub update: u64,
    /// Set for one container of the update: it writes what is said once.
    pub cause: Option<Cause>,
    pub paths: Vec<PathBuf>,
    /// All synced files are brought in, changed or not, but for what is ignored here.
    pub everything: Option<FileSet>,
}
