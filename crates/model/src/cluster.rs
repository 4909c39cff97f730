//! What a cluster reports: its connection, its pods and their containers.

mod address;
mod delivery;
mod product;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kubernetes::ObjectRef;
use crate::names::{ClusterName, ContainerId, Uid};
use crate::registry::Registry;
use crate::time::Timestamp;

pub use address::{Reach, is_public};
pub use delivery::{Delivery, Nodes};
pub use product::{Product, Runtime};

/// The cluster that kubeconfig selects, as far as it is known before the first connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterAddress {
    pub context: String,
    /// The URL of the API server.
    pub server: String,
}

/// A context of the user's kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeContext {
    pub name: String,
    /// The name of its cluster in kubeconfig, from which local clusters are recognized.
    pub cluster: String,
    /// The namespace of objects without one; empty if kubeconfig has none.
    pub namespace: String,
    /// The product that created the cluster, inferred from the paths of its files.
    pub product_by_files: Product,
}

impl KubeContext {
    /// Returns the product that created the cluster, inferred from its name, or else from the paths of its files.
    pub fn product(&self) -> Product {
        match Product::of_cluster(&self.cluster) {
            Product::Unknown => self.product_by_files,
            product => product,
        }
    }
}

/// What is known of a cluster once connected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterInfo {
    pub context: String,
    /// The URL of the API server.
    #[serde(default)]
    pub server: String,
    /// The name of the context's cluster in kubeconfig.
    #[serde(default)]
    pub cluster: String,
    #[serde(default)]
    pub product: Product,
    /// The namespace of objects without one.
    pub namespace: String,
    /// A kubeconfig with this context alone, for commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_path: Option<std::path::PathBuf>,
    pub server_version: String,
    /// The nodes' platform, such as `linux/amd64`, if it is known.
    pub platform: Option<String>,
    #[serde(default)]
    pub runtime: Runtime,
    /// The registry that the cluster announces.
    pub registry: Option<Registry>,
    /// Address of a page about setting up a registry, as the cluster announces it in place of a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_help: Option<String>,
    /// Whether the cluster runs images of the Docker engine that builds them, without a push.
    #[serde(default)]
    pub shares_engine: bool,
    /// Commands of the user that run `ctr` on a node, one for each node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_commands: Vec<String>,
}

/// Identifies a pod by cluster, namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodRef {
    #[serde(default, skip_serializing_if = "ClusterName::is_session")]
    pub cluster: ClusterName,
    pub namespace: String,
    pub name: String,
}

/// A pod as the cluster reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    #[serde(default, skip_serializing_if = "ClusterName::is_session")]
    pub cluster: ClusterName,
    pub namespace: String,
    pub name: String,
    pub uid: Uid,
    /// Uids of all its owners, nearest first: the replica set, then the deployment.
    pub owners: Vec<Uid>,
    /// The name of the nearest owner, such as the replica set. It distinguishes the rollouts of a workload.
    pub nearest_owner: Option<String>,
    /// The nearest owner's `apiVersion` and `kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_kind: Option<(String, String)>,
    /// When the nearest owner was created, if it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_created: Option<Timestamp>,
    /// The label `tilt.dev/pod-template-hash`.
    pub template_hash: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub created: Timestamp,
    pub deleting: bool,
    pub phase: PodPhase,
    /// Whether its conditions report it as ready.
    pub ready: bool,
    /// What kubectl shows as STATUS: `Running`, `CrashLoopBackOff`, `ImagePullBackOff` …
    pub status: String,
    /// The message of a bad status, if the cluster reports one.
    pub message: Option<String>,
    pub conditions: Vec<PodCondition>,
    /// Init containers first.
    pub containers: Vec<Container>,
}

impl Pod {
    pub fn reference(&self) -> PodRef {
        PodRef { cluster: self.cluster.clone(), namespace: self.namespace.clone(), name: self.name.clone() }
    }

    pub fn restarts(&self) -> u32 {
        self.containers.iter().map(|container| container.restarts).sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PodPhase {
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodCondition {
    /// `PodScheduled`, `Initialized`, `Ready` …
    pub kind: String,
    pub met: bool,
    pub reason: String,
    pub message: String,
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    pub name: String,
    pub init: bool,
    /// None until the container is created.
    pub id: Option<ContainerId>,
    /// The run before this one, if the container was restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<ContainerId>,
    /// How that run ended: exit code and reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_exit: Option<(i32, String)>,
    /// The image as the pod's spec names it.
    pub image: String,
    /// Whether it runs under lilt's agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agent: bool,
    /// Declared ports, in order.
    pub ports: Vec<u16>,
    pub state: ContainerState,
    pub ready: bool,
    pub restarts: u32,
    #[serde(default)]
    pub restart_policy: RestartPolicy,
}

/// When a container that has ended is restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestartPolicy {
    #[default]
    Always,
    OnFailure,
    Never,
}

impl Container {
    /// Returns whether it has ended and will not be restarted in this pod.
    pub fn has_ended_for_good(&self) -> bool {
        let ContainerState::Terminated { exit_code, .. } = &self.state else { return false };
        match self.restart_policy {
            RestartPolicy::Always => false,
            RestartPolicy::OnFailure => *exit_code == 0,
            RestartPolicy::Never => true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ContainerState {
    Waiting {
        reason: String,
        message: String,
    },
    Running {
        since: Timestamp,
    },
    Terminated {
        exit_code: i32,
        reason: String,
        message: String,
        /// None if the cluster does not report it: the container may never have run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started: Option<Timestamp>,
        finished: Timestamp,
    },
}

/// A Kubernetes event. "Event" means an event of the engine elsewhere in lilt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub about: Subject,
    pub warning: bool,
    pub reason: String,
    pub message: String,
    /// The probe that failed, if it reports a failed probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeKind>,
    pub at: Timestamp,
}

/// The probes that a kubelet runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    Liveness,
    Readiness,
    Startup,
}

/// The object that a notice is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Pod(PodRef),
    /// Another object, with its uid and those of all its owners, nearest first.
    Object {
        object: ObjectRef,
        uids: Vec<Uid>,
    },
}

impl Notice {
    pub fn pod(&self) -> Option<&PodRef> {
        match &self.about {
            Subject::Pod(pod) => Some(pod),
            Subject::Object { .. } => None,
        }
    }
}

/// A notice in the form in which the web port sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ReportedNotice {
    /// `pod/web-1`, `replicaset/web-6b487f9d4c` …
    pub about: String,
    pub warning: bool,
    pub reason: String,
    pub message: String,
    pub at: Timestamp,
}

impl From<&Notice> for ReportedNotice {
    fn from(notice: &Notice) -> Self {
        let about = match &notice.about {
            Subject::Pod(pod) => format!("pod/{}", pod.name),
            Subject::Object { object, .. } => format!("{}/{}", object.kind.to_lowercase(), object.name),
        };
        Self {
            about,
            warning: notice.warning,
            reason: notice.reason.clone(),
            message: notice.message.trim().to_owned(),
            at: notice.at,
        }
    }
}

/// A condition in the status of an object of any kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectCondition {
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// An applied object as it is in the cluster, in the form in which the web port sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ReportedObject {
    /// `web:deployment`, with the namespace where that is not the session's.
    pub name: String,
    /// Empty for kinds without conditions.
    pub conditions: Vec<ObjectCondition>,
    /// That it is gone, is being deleted, or may not be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<String>"))]
    pub remark: String,
}

/// Formats the notice as Tilt does. Messages of probes end with an empty line, which is removed.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, namespace, name) = match &self.about {
            Subject::Pod(PodRef { namespace, name, .. }) => ("pod".to_owned(), namespace, name),
            Subject::Object { object, .. } => (object.kind.to_lowercase(), &object.namespace, &object.name),
        };
        write!(f, "[event: {kind} ")?;
        if !matches!(namespace.as_str(), "" | "default") {
            write!(f, "{namespace}/")?;
        }
        write!(f, "{name}] {}", self.message.trim())
    }
}
