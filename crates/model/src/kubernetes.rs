//! The spec of a resource that is deployed to Kubernetes.

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
    /// The cluster it is deployed to.
    #[serde(default, skip_serializing_if = "ClusterName::is_session")]
    pub cluster: ClusterName,
    /// In build order: an image follows those it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageTarget>,
    /// The objects as the user wrote them, in the order in which they are applied.
    pub objects: Vec<Value>,
    /// The location of each object, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Location>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwards: Vec<Forward>,
    /// Whether the resource waits for pods.
    pub pod_readiness: PodReadiness,
    /// Whether pods are expected although `objects` do not show it: an operator creates them, or the user says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expects_pods: bool,
    /// Timeout of an apply in seconds.
    pub apply_timeout_secs: u32,
    /// The subset of `images` that pods or the deploy command use directly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_deps: Vec<ImageName>,
    /// Where objects of other kinds have images. Only locators that match one of `objects`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_locators: Vec<ImageLocator>,
    /// Label sets. Pods with all labels of one of them belong to the resource, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_pod_selectors: Vec<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_strategy: Option<DiscoveryStrategy>,
    /// Commands that deploy instead of applying `objects`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// Whether lilt's agent must not be added to its pods.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_agent: bool,
}

/// Commands of the user that deploy and delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomDeploy {
    /// Prints the objects that it applied, as YAML.
    pub apply: Command,
    pub delete: Command,
    /// A change to one of these files triggers a deployment.
    pub files: FileSet,
}

/// How the pods of a resource are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscoveryStrategy {
    /// By their owners, and by `extra_pod_selectors`.
    Default,
    /// By `extra_pod_selectors` only.
    SelectorsOnly,
}

impl KubernetesResource {
    pub fn image(&self, name: &ImageName) -> Option<&ImageTarget> {
        self.images.iter().find(|image| image.name == *name)
    }

    /// Returns an image and all images that it builds on, without duplicates.
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
    /// Ready when its pods have succeeded.
    Succeeded,
}

/// A port forward from a local port to a port of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forward {
    pub host: String,
    pub local_port: u16,
    /// 0: the local port if the pod's containers declare it, or else the first declared one.
    pub container_port: u16,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Path of the link, without a leading slash.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

/// The address on this machine that a forward listens on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ForwardPlace {
    /// Empty: the host of the web port.
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

/// Identifies an object in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectRef {
    pub api_version: String,
    pub kind: String,
    /// Empty: the context's default namespace, or a cluster-scoped kind.
    #[serde(default)]
    pub namespace: String,
    pub name: String,
}

impl ObjectRef {
    /// Returns the identity of an object; none if it has no kind or no name.
    pub fn of(object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            api_version: text("/apiVersion")?,
            kind: text("/kind")?,
            namespace: text("/metadata/namespace").unwrap_or_default(),
            name: text("/metadata/name")?,
        })
    }

    /// Returns whether this identity, from a manifest, refers to an object in the cluster.
    ///
    /// A manifest may omit the namespace.
    pub fn means(&self, there: &ObjectRef) -> bool {
        let is_same_namespace = self.namespace.is_empty() || self.namespace == there.namespace;
        is_same_namespace
            && (&self.api_version, &self.kind, &self.name) == (&there.api_version, &there.kind, &there.name)
    }
}

/// The objects of one kind and namespace that one watch covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectScope {
    #[serde(default, skip_serializing_if = "ClusterName::is_session")]
    pub cluster: ClusterName,
    pub api_version: String,
    pub kind: String,
    /// Empty for cluster-scoped kinds.
    #[serde(default)]
    pub namespace: String,
    /// The name of the only object, if it lacks our label. None: all objects with our label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ObjectScope {
    /// Returns the scope of an applied object. Persistent volume claims and objects applied by commands have no label.
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

/// Formats as Tilt does: `web:deployment`, with the namespace if there is one.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.kind.to_lowercase())?;
        if !self.namespace.is_empty() {
            write!(f, ":{}", self.namespace)?;
        }
        Ok(())
    }
}
