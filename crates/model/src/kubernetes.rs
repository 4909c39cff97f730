//! What a resource deploys to Kubernetes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::Command;
use crate::failure::Location;
use crate::files::FileSet;
use crate::image::ImageTarget;
use crate::locator::ImageLocator;
use crate::names::{ClusterName, ImageName};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KubernetesResource {
    /// Where it is deployed.
    #[serde(default, skip_serializing_if = "ClusterName::is_session")]
    pub cluster: ClusterName,
    /// Built in this order: an image stands behind those it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageTarget>,
    /// The objects as the user wrote them, in the order they are applied.
    pub objects: Vec<Value>,
    /// Where each object was written, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Location>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwards: Vec<Forward>,
    /// Whether pods are expected and waited for.
    pub pod_readiness: PodReadiness,
    /// Pods will come, although none of `objects` shows it: an operator makes them, or the user says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expects_pods: bool,
    /// Seconds that one apply may take.
    pub apply_timeout_secs: u32,
    /// Of `images`, those that pods or the deploy command use themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_deps: Vec<ImageName>,
    /// Where objects of other kinds keep images. Only those that match one of `objects`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_locators: Vec<ImageLocator>,
    /// Pods with all labels of one of these belong to it, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_pod_selectors: Vec<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_strategy: Option<DiscoveryStrategy>,
    /// Commands that deploy in place of `objects`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// lilt's agent must not be added to its pods.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_agent: bool,
}

/// Commands of the user's that deploy and delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomDeploy {
    /// Prints the objects that it applied, as YAML.
    pub apply: Command,
    pub delete: Command,
    /// A change to one of these deploys again.
    pub files: FileSet,
}

/// How the pods of a resource are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscoveryStrategy {
    /// By their owners and by `extra_pod_selectors`.
    Default,
    /// By `extra_pod_selectors` alone.
    SelectorsOnly,
}

impl KubernetesResource {
    pub fn image(&self, name: &ImageName) -> Option<&ImageTarget> {
        self.images.iter().find(|image| image.name == *name)
    }

    /// An image and all that it is built on, each once.
    pub fn with_bases<'a>(&'a self, image: &'a ImageTarget) -> Vec<&'a ImageTarget> {
        let mut found = vec![image];
        let mut looked_at = 0;
        while let Some(image) = found.get(looked_at).copied() {
            looked_at += 1;
            for base in image.depends_on.iter().filter_map(|base| self.image(base)) {
                if !found.iter().any(|known| known.name == base.name) {
                    found.push(base);
                }
            }
        }
        found
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PodReadiness {
    /// Ready when its pods are.
    #[default]
    Wait,
    /// Ready when applied: no pods are expected.
    Ignore,
    /// Ready when its pods have ended with success.
    Succeeded,
}

/// A local port that leads to a container's port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forward {
    pub host: String,
    pub local_port: u16,
    /// 0: the same as the local one if the pod's containers declare it, else the first that they declare.
    pub container_port: u16,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Appended to the link, without a leading slash.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

/// Where a forward listens on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ForwardPlace {
    /// Empty: where the dashboard listens.
    pub host: String,
    pub port: u16,
}

impl Forward {
    pub fn place(&self) -> ForwardPlace {
        ForwardPlace { host: self.host.clone(), port: self.local_port }
    }

    pub fn url(&self) -> String {
        let host = if self.host.is_empty() { "localhost" } else { &self.host };
        format!("http://{host}:{}/{}", self.local_port, self.path)
    }
}

/// Identifies an object of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectRef {
    pub api_version: String,
    pub kind: String,
    /// Empty: the context's default namespace, or a cluster-wide kind.
    #[serde(default)]
    pub namespace: String,
    pub name: String,
}

impl ObjectRef {
    /// Reads the identity of an object; none if kind or name is missing.
    pub fn of(object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            api_version: text("/apiVersion")?,
            kind: text("/kind")?,
            namespace: text("/metadata/namespace").unwrap_or_default(),
            name: text("/metadata/name")?,
        })
    }

    /// Whether this, as a manifest has it, is that object of the cluster. A manifest need not say in which namespace.
    pub fn means(&self, there: &ObjectRef) -> bool {
        let place = self.namespace.is_empty() || self.namespace == there.namespace;
        place && (&self.api_version, &self.kind, &self.name) == (&there.api_version, &there.kind, &there.name)
    }
}

/// Objects of one kind in one place that are followed together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectScope {
    #[serde(default, skip_serializing_if = "ClusterName::is_session")]
    pub cluster: ClusterName,
    pub api_version: String,
    pub kind: String,
    /// Empty for cluster-wide kinds.
    #[serde(default)]
    pub namespace: String,
    /// One that does not carry our label; none: all that do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ObjectScope {
    /// That of an object which was applied. Claims get no label, and neither does what a command applies.
    pub fn of(cluster: &ClusterName, object: &ObjectRef, labelled: bool) -> Self {
        let alone = !labelled || object.kind == "PersistentVolumeClaim";
        Self {
            cluster: cluster.clone(),
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone(),
            name: alone.then(|| object.name.clone()),
        }
    }

    pub fn object(&self, name: &str) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        }
    }
}

/// `web:deployment`, as Tilt prints objects; with the namespace when there is one.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.kind.to_lowercase())?;
        if !self.namespace.is_empty() {
            write!(f, ":{}", self.namespace)?;
        }
        Ok(())
    }
}
