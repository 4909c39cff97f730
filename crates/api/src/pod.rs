//! Pods, as a `KubernetesDiscovery` reports them.

use lilt_model::cluster as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;
use super::time::Time;

/// A pod, as the cluster tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// What it came of.
    #[serde(rename = "ancestorUID", default, skip_serializing_if = "is_empty")]
    pub ancestor_uid: String,
    /// What the cluster says of it.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub conditions: Vec<PodCondition>,
    /// Its containers.
    pub containers: Vec<Container>,
    /// When it was made.
    pub created_at: Option<Time>,
    /// Whether it is about to go.
    pub deleting: bool,
    /// What is wrong with it.
    pub errors: Vec<String>,
    /// Those that run before the others.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub init_containers: Vec<Container>,
    /// The name.
    pub name: String,
    /// The namespace in the cluster; without one it is that of the kubeconfig context.
    pub namespace: String,
    /// What made it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub owner: Option<PodOwner>,
    /// Pending, Running, Succeeded, Failed or Unknown.
    pub phase: String,
    /// Tells pods of one deployment from those of the next.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub pod_template_spec_hash: String,
    /// How it is, as `kubectl get pods` says it.
    pub status: String,
    /// Its uid.
    pub uid: String,
}

/// Something that is so of a pod, or is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// Since when it is so.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_transition_time: Option<Time>,
    /// More about it, for people.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub message: String,
    /// Why, in a word or a sentence.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub reason: String,
    /// True, False or Unknown.
    pub status: String,
    /// What it is about, such as Ready.
    #[serde(rename = "type")]
    pub kind: String,
}

/// What made a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct PodOwner {
    /// Group and version of the object.
    pub api_version: String,
    /// When that was made.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub creation_timestamp: Option<Time>,
    /// What the object is.
    pub kind: String,
    /// The name.
    pub name: String,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// What the container runtime calls it.
    pub id: String,
    /// The image that it runs.
    pub image: String,
    /// The name.
    pub name: String,
    /// The ports that it declares.
    pub ports: Vec<i32>,
    /// Whether it is ready.
    pub ready: bool,
    /// How often it was started again.
    pub restarts: i32,
    /// How it is; one of three.
    pub state: ContainerState,
}

/// How a container is; one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerState {
    /// Set while it runs.
    pub running: Option<ContainerStateRunning>,
    /// Set when it has ended.
    pub terminated: Option<ContainerStateTerminated>,
    /// Set while it has not begun.
    pub waiting: Option<ContainerStateWaiting>,
}

/// It has not begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateWaiting {
    /// Why, in a word or a sentence.
    pub reason: String,
}

/// It runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateRunning {
    /// When it began.
    pub started_at: Option<Time>,
}

/// It has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateTerminated {
    /// The code that the process ended with.
    pub exit_code: i32,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// Why, in a word or a sentence.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<_>"))]
    pub reason: String,
    /// When it began.
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
