//! What the assembly looks at in a Kubernetes object.

use lilt_model::Location;
use lilt_model::kubernetes::PodReadiness;
use serde_json::{Map, Value};

use crate::declare::ObjectDeclaration;
use crate::failure::Place;
use lilt_model::reference::Reference;

const DEFAULT_NAMESPACE: &str = "default";

#[derive(Debug)]
pub(super) struct Object {
    pub(super) place: Place,
    origin: Location,
    value: Value,
}

impl From<ObjectDeclaration> for Object {
    fn from(declaration: ObjectDeclaration) -> Self {
        Self { place: declaration.place, origin: declaration.origin, value: declaration.value }
    }
}

impl Object {
    fn text(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    pub(super) fn kind(&self) -> &str {
        self.text("/kind")
    }

    pub(super) fn namespace(&self) -> &str {
        Some(self.text("/metadata/namespace")).filter(|name| !name.is_empty()).unwrap_or(DEFAULT_NAMESPACE)
    }

    pub(super) fn group(&self) -> &str {
        self.text("/apiVersion").split_once('/').map_or("core", |(group, _)| group)
    }

    /// The template that its pods are made from. Of kinds that Kubernetes itself has; others may use the same field
    /// names for other things.
    fn pod_template(&self) -> Option<&Value> {
        match (self.group(), self.kind()) {
            ("core", "Pod") => Some(&self.value),
            ("core", "PodTemplate") => self.value.get("template"),
            ("core", "ReplicationController") | ("apps" | "extensions", _) | ("batch", "Job") => {
                self.value.pointer("/spec/template").filter(|template| template.get("spec").is_some())
            }
            ("batch", "CronJob") => self.value.pointer("/spec/jobTemplate/spec/template"),
            _ => None,
        }
    }

    /// Whether it makes pods and so is a resource of its own.
    pub(super) fn is_workload(&self) -> bool {
        self.pod_template().is_some() || (self.group() == "batch" && matches!(self.kind(), "Job" | "CronJob"))
    }

    /// The images of its containers, init containers first, each once.
    pub(super) fn images(&self) -> Vec<Reference> {
        let mut images: Vec<Reference> = Vec::new();
        let Some(spec) = self.pod_template().and_then(|template| template.get("spec")) else { return images };
        for field in ["initContainers", "containers"] {
            let containers = spec.get(field).and_then(Value::as_array).into_iter().flatten();
            let named = containers.filter_map(|container| container.get("image")?.as_str());
            for image in named.filter_map(|image| Reference::parse(image).ok()) {
                if !images.contains(&image) {
                    images.push(image);
                }
            }
        }
        images
    }

    /// The labels of the pods that a service leads to; none if it is no service or selects nothing.
    pub(super) fn selector(&self) -> Option<&Map<String, Value>> {
        let selector = self.value.pointer("/spec/selector").and_then(Value::as_object);
        selector.filter(|selector| self.kind() == "Service" && self.group() == "core" && !selector.is_empty())
    }

    pub(super) fn pod_labels(&self) -> Option<&Map<String, Value>> {
        self.pod_template()?.pointer("/metadata/labels")?.as_object()
    }

    /// Whether this is a service that leads to the pods of `workload`.
    pub(super) fn selects_pods_of(&self, workload: &Object) -> bool {
        let (Some(selector), Some(labels)) = (self.selector(), workload.pod_labels()) else { return false };
        let same_place = self.namespace() == DEFAULT_NAMESPACE || self.namespace() == workload.namespace();
        same_place && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// What its kind says about waiting for pods.
    pub(super) fn pod_readiness(&self) -> PodReadiness {
        match (self.group(), self.kind()) {
            ("batch", "CronJob") => PodReadiness::Ignore,
            _ => PodReadiness::Wait,
        }
    }
}

/// Kinds that others need come first, as kustomize orders them; the rest keeps its order.
pub(super) fn in_apply_order(objects: Vec<Object>) -> (Vec<Value>, Vec<Location>) {
    const FIRST: [&str; 22] = [
        "Namespace",
        "ResourceQuota",
        "StorageClass",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ServiceAccount",
        "PodSecurityPolicy",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "ConfigMap",
        "Secret",
        "Service",
        "LimitRange",
        "PriorityClass",
        "Deployment",
        "StatefulSet",
        "CronJob",
        "PodDisruptionBudget",
    ];
    let mut objects = objects;
    let rank = |object: &Object| FIRST.iter().position(|kind| *kind == object.kind()).unwrap_or(FIRST.len());
    objects.sort_by_key(rank);
    objects.into_iter().map(|object| (object.value, object.origin)).unzip()
}
