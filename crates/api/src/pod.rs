//! Pods, as a `KubernetesDiscovery` reports them.

use lilt_model::cluster as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::time::Time;

/// A pod, as reported by the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// UID of the topmost owner.
    #[serde(rename = "ancestorUID", default, skip_serializing_if = "is_empty")]
    pub ancestor_uid: String,
    /// Conditions of the pod.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub conditions: Vec<PodCondition>,
    /// Containers of the pod.
    pub containers: Vec<Container>,
    /// Time when the pod was created.
    pub created_at: Option<Time>,
    /// Whether the pod is being deleted.
    pub deleting: bool,
    /// Errors of the pod.
    pub errors: Vec<String>,
    /// Init containers of the pod.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub init_containers: Vec<Container>,
    /// Name of the pod.
    pub name: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// Direct owner of the pod.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub owner: Option<PodOwner>,
    /// One of `Pending`, `Running`, `Succeeded`, `Failed` and `Unknown`.
    pub phase: String,
    /// Hash of the pod template; differs between deployments.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub pod_template_spec_hash: String,
    /// Status as shown by `kubectl get pods`.
    pub status: String,
    /// UID of the pod.
    pub uid: String,
}

/// One aspect of the state of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// Time of the last change of `status`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_transition_time: Option<Time>,
    /// Human-readable details.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub message: String,
    /// Reason for the last change of `status`.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub reason: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Type of the condition, such as `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// The direct owner of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodOwner {
    /// API group and version of the owner.
    pub api_version: String,
    /// Time when the owner was created.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub creation_timestamp: Option<Time>,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// ID of the container in the container runtime.
    pub id: String,
    /// Image of the container.
    pub image: String,
    /// Name of the container.
    pub name: String,
    /// Ports that the container declares.
    pub ports: Vec<i32>,
    /// Whether the container is ready.
    pub ready: bool,
    /// Number of restarts.
    pub restarts: i32,
    /// State of the container.
    pub state: ContainerState,
}

/// State of a container; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerState {
    /// Set while the container runs.
    pub running: Option<ContainerStateRunning>,
    /// Set when the container has terminated.
    pub terminated: Option<ContainerStateTerminated>,
    /// Set while the container has not started.
    pub waiting: Option<ContainerStateWaiting>,
}

/// Details of a container that has not started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateWaiting {
    /// Reason why the container is waiting.
    pub reason: String,
}

/// Details of a running container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateRunning {
    /// Time when the container started.
    pub started_at: Option<Time>,
}

/// Details of a terminated container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateTerminated {
    /// Exit code of the process.
    pub exit_code: i32,
    /// Time when the container terminated.
    pub finished_at: Option<Time>,
    /// Reason why the container terminated.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub reason: String,
    /// Time when the container started.
    pub started_at: Option<Time>,
}

impl From<&model::Pod> for Pod {
    fn from(pod: &model::Pod) -> Self {
        let phase = match pod.phase {
            model::PodPhase::Pending => "Pending",
            model::PodPhase::Running => "Running",
            model::PodPhase::Succeeded => "Succeeded",
            model::PodPhase::Failed => "Failed",
            model::PodPhase::Unknown => "Unknown",
        };
        let containers = |init: bool| {
            pod.containers.iter().filter(|it| it.init == init).map(Container::from).collect::<Vec<_>>()
        };
        let owner = pod.nearest_owner.clone().zip(pod.owner_kind.clone());
        Self {
            ancestor_uid: pod.owners.last().map(ToString::to_string).unwrap_or_default(),
            conditions: pod.conditions.iter().map(PodCondition::from).collect(),
            containers: containers(false),
            created_at: Some(Time(pod.created)),
            deleting: pod.deleting,
            errors: pod.message.iter().cloned().collect(),
            init_containers: containers(true),
            name: pod.name.clone(),
            namespace: pod.namespace.clone(),
            owner: owner.map(|(name, (api_version, kind))| PodOwner {
                api_version,
                creation_timestamp: pod.owner_created.map(Time),
                kind,
                name,
            }),
            phase: phase.to_owned(),
            pod_template_spec_hash: pod.template_hash.clone().unwrap_or_default(),
            status: pod.status.clone(),
            uid: pod.uid.to_string(),
        }
    }
}

impl From<&model::PodCondition> for PodCondition {
    fn from(condition: &model::PodCondition) -> Self {
        Self {
            last_transition_time: Some(Time(condition.since)),
            message: condition.message.clone(),
            reason: condition.reason.clone(),
            status: if condition.met { "True" } else { "False" }.to_owned(),
            kind: condition.kind.clone(),
        }
    }
}

impl From<&model::Container> for Container {
    fn from(container: &model::Container) -> Self {
        Self {
            id: container.id.as_ref().map(ToString::to_string).unwrap_or_default(),
            image: container.image.clone(),
            name: container.name.clone(),
            ports: container.ports.iter().map(|port| i32::from(*port)).collect(),
            ready: container.ready,
            restarts: i32::try_from(container.restarts).unwrap_or(i32::MAX),
            state: ContainerState::from(&container.state),
        }
    }
}

impl From<&model::ContainerState> for ContainerState {
    fn from(state: &model::ContainerState) -> Self {
        match state {
            model::ContainerState::Waiting { reason, .. } => {
                Self { waiting: Some(ContainerStateWaiting { reason: reason.clone() }), ..Self::default() }
            }
            model::ContainerState::Running { since } => Self {
                running: Some(ContainerStateRunning { started_at: Some(Time(*since)) }),
                ..Self::default()
            },
            model::ContainerState::Terminated { exit_code, reason, started, finished, .. } => Self {
                terminated: Some(ContainerStateTerminated {
                    exit_code: *exit_code,
                    finished_at: Some(Time(*finished)),
                    reason: reason.clone(),
                    started_at: started.map(Time),
                }),
                ..Self::default()
            },
        }
    }
}
