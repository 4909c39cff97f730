//! Tasks as data. A task runs because the plan contains it, and ends once the plan lacks it.

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
    /// Watches whether kubeconfig still leads to the cluster.
    Kubeconfig(ClusterName),
    Namespace(ClusterName, String),
    /// The watch of applied objects.
    Objects(ObjectScope),
    /// The comparison of objects with their manifests.
    Inspect(ResourceName),
    LogStream(Owner, PodRef),
    Forward(Owner, ForwardSlot),
    Sync(Owner, ContainerId),
    Cleanup(u64),
    /// The apply of a `KubernetesApply`.
    Apply(String),
    /// The build of a `DockerImage` or a `CmdImage`.
    Image(ObjectKey),
    /// The connection of a `Cluster` object.
    Cluster(String),
    /// The fetch of an `ExtensionRepo`.
    Repository(String),
    /// The search for the Tiltfile of an `Extension`.
    Extension(String),
    /// The probe of an unreachable dependency.
    Outage(Outage),
    Prune,
    /// Spans for `experimental_telemetry_cmd`.
    Telemetry,
    Wake,
}

/// A task: which slot it takes, and what it does there.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Evaluate a Tiltfile. `secrets` are those of other Tiltfiles, which stay redacted.
    Load {
        tiltfile: ResourceName,
        load: u64,
        cause: Cause,
        path: PathBuf,
        args: Vec<String>,
        secrets: Vec<Secret>,
    },
    /// Watch files. The version increases when the set changes. A file whose content differs from `contents`
    /// counts as changed.
    Watch { watch: WatchId, version: u64, files: FileSet, contents: Contents, options: WatchOptions },
    /// Run an update of a resource.
    Update { resource: ResourceName, update: u64, cause: Cause, job: Arc<UpdateJob> },
    /// Apply the objects of a `KubernetesApply`.
    Apply { name: String, run: u64, job: Arc<ApplyJob> },
    /// Build an image and deliver it. `resource` is whose log it writes to.
    Image { object: ObjectKey, run: u64, job: Arc<DeployJob>, resource: ResourceName },
    /// Connect to a cluster besides the session's own, and report when it is unreachable.
    Cluster { name: String, run: u64, source: ClusterSource },
    /// Fetch a repository of extensions, with retries.
    Repository { name: String, run: u64, source: RepositorySource },
    /// Find the Tiltfile of an extension in its repository.
    Extension { name: String, run: u64, source: RepositorySource, path: String },
    /// Run the command of an owner; its output goes to the log of a resource.
    Command { owner: Owner, run: u64, command: Command, on_exit: OnExit, resource: Option<ResourceName> },
    /// Probe the readiness of a running command periodically. Results go to the log of a resource.
    Probe { owner: Owner, run: u64, probe: Probe, resource: Option<ResourceName> },
    /// Connect to the cluster, with unlimited retries. `reconnect` is the number of the last request to retry
    /// now.
    Connect { cluster: ClusterName, reconnect: u64 },
    /// Report when kubeconfig leads to another cluster than that of this session.
    Kubeconfig { cluster: ClusterName },
    /// Watch the pods of a namespace. `reconnect` as in `Connect`.
    Namespace { cluster: ClusterName, namespace: String, reconnect: u64 },
    /// Watch applied objects for changes and deletions.
    Objects { scope: ObjectScope },
    /// Compare objects with their manifests.
    Inspect { resource: ResourceName, inspection: Box<Inspection> },
    /// Write the logs of a pod's containers to the log of a resource.
    LogStream {
        owner: Owner,
        resource: ResourceName,
        pod: Arc<Pod>,
        containers: ContainerFilter,
        /// The start of the log to read; none: the start of the session, or of the pod if that is newer.
        since: Option<Timestamp>,
        /// The notices of the pod. If set, its notices, restarts and startup are logged too.
        notices: Option<Arc<Notices>>,
        /// When cancelled, it reads the logs of terminated containers to their end.
        read_to_end: bool,
    },
    /// Forward a local port to a pod. `resource` is whose log it writes to.
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
    /// Delete objects that are no longer wanted.
    Cleanup { cleanup: u64, resource: ResourceName, leftovers: Leftovers, reason: CleanupReason },
    /// Remove old images from the engine.
    Prune(Box<PruneJob>),
    /// Wait until a batch of spans is due, or send the batch.
    Telemetry(Box<TelemetryJob>),
    /// Report when an unreachable dependency responds again. It has seemed to respond `attempts` times
    /// before. `immediate`: the first probe starts without a pause. After `limit` the outage counts as over,
    /// so that an update is attempted.
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

    /// Returns whether it continues as `next`, which takes the same slot, without a restart.
    pub fn continues(&self, next: &Task) -> bool {
        match (self, next) {
            (Task::Watch { .. }, Task::Watch { .. }) => true,
            (Task::LogStream { resource: old, .. }, Task::LogStream { resource: new, .. }) => old == new,
            // A job that was given up may never respond: its runner must end, and the connection with it.
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
            // Numbers identify them, and comparing whole jobs would be slow.
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

/// The connection settings of a cluster besides the session's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ClusterSource {
    /// None: the default of kubeconfig.
    Kubernetes { context: Option<String>, namespace: Option<String> },
    /// None: the default of the environment.
    Docker { host: Option<String> },
}

/// The specification of a repository of extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RepositorySource {
    pub name: String,
    pub url: String,
    /// A Git reference; empty: the newest commit.
    pub reference: String,
    /// The folder that contains the extensions.
    pub subpath: String,
}

/// The job of a `KubernetesApply`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplyJob {
    pub cluster: ClusterName,
    pub source: ApplySource,
    /// The images of the named image maps, in their order: how each is found in objects, and its reference in
    /// the cluster.
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

/// The source of the objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ApplySource {
    /// Their YAML.
    Text(String),
    /// A user's command that applies the objects and prints them.
    Command(Command),
}

/// Objects in the cluster that are no longer wanted, to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Leftovers {
    pub cluster: ClusterName,
    pub objects: Vec<Value>,
    /// A user's command that deletes what a deploy command has deployed.
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

/// The reason for a deletion of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CleanupReason {
    /// The Tiltfile no longer contains them.
    Unnamed,
    /// Their resource was disabled.
    Disabled,
    /// The `KubernetesApply` that contained them was deleted, or no longer contains them.
    Deleted,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum UpdateJob {
    Local(LocalJob),
    Deploy(Box<DeployJob>),
    /// The update cannot run, for this reason.
    Refused(Failure),
}

/// Run the command, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalJob {
    pub command: Option<Command>,
}

/// Build missing images, deliver them, apply the objects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeployJob {
    pub kubernetes: KubernetesResource,
    /// The images in build order.
    pub images: Vec<ImageJob>,
    /// The registry that the cluster announces, or else the one that the Tiltfile sets.
    pub registry: Option<Registry>,
    /// The platform of the nodes, if known.
    pub platform: Option<String>,
    /// The namespace of objects that name none.
    pub namespace: String,
    /// The images that must be delivered to the cluster. The others are only base images.
    pub delivered: Vec<ImageName>,
    /// The method of delivery.
    pub delivery: Delivery,
    /// A manual trigger without changes: running objects are deleted and recreated.
    pub rerun: bool,
    /// Part of the first round, in which many resources start at once.
    pub first: bool,
    /// A local command has just ended, and files that it wrote may not have been reported yet. The runner
    /// waits for that before it reads inputs, or everything would be built twice.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub follows_command: bool,
    /// Crashing pods. They are deleted even if the apply does not replace them, because Kubernetes delays
    /// their restarts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crashing: Vec<PodRef>,
    /// Images whose containers do not permit changes of files, whatever image and manifest say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<ImageName>,
    pub merge: ServerSideApply,
    /// The session runs in `ci`: nobody edits files, and unreachable dependencies are retried for a limited
    /// time only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

/// The objects to compare with what was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    pub id: u64,
    pub kubernetes: KubernetesResource,
    /// The injected images.
    pub images: Vec<(ImageName, String)>,
    pub suspects: Vec<ObjectRef>,
    /// The manifests, where a command deployed the objects.
    pub manifests: Vec<Value>,
    /// The namespace of objects that name none.
    pub namespace: String,
    pub merge: ServerSideApply,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum ImageJob {
    Build(Box<ImageTarget>),
    /// Reuse the image with this reference.
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

/// A container that receives live updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncTask {
    pub pod: PodRef,
    /// The container's name in the pod.
    pub container: String,
    pub id: ContainerId,
    /// The container runs under lilt's agent.
    pub agent: bool,
    /// The agent must not be copied into the container.
    pub without_agent: bool,
    pub live_update: LiveUpdate,
    /// The number of the last job that was given up before its result; 0: none.
    pub given_up: u64,
    /// As in [`DeployJob`].
    pub unattended: bool,
    /// The current job.
    pub job: Option<SyncJob>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncJob {
    pub update: u64,
    /// Set for one container of the update, which logs messages that must appear once.
    pub cause: Option<Cause>,
    pub paths: Vec<PathBuf>,
    /// If set, all synced files are copied, changed or not, except those ignored here.
    pub everything: Option<FileSet>,
}
