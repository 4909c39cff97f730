//! The parts of a Kubernetes object that the assembly reads.

use lilt_model::Location;
use serde_json::{Map, Value};

use crate::declarations::ObjectDeclaration;
use crate::failure::SourceSpan;
use crate::kinds::ObjectKinds;
use crate::values::ObjectId;
use lilt_model::reference::Reference;

const DEFAULT_NAMESPACE: &str = "default";

#[derive(Debug)]
pub(super) struct Object {
    pub(super) span: SourceSpan,
    origin: Location,
    value: Value,
}

impl From<ObjectDeclaration> for Object {
    fn from(declaration: ObjectDeclaration) -> Self {
        Self { span: declaration.span, origin: declaration.origin, value: declaration.value }
    }
}

impl Object {
    pub(super) fn id(&self) -> ObjectId {
        let group = self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let [name, kind, namespace, group] =
            [self.name(), self.kind(), self.namespace(), group].map(str::to_owned);
        ObjectId { name, kind, namespace, group }
    }

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

    /// Returns its pod template. Only of built-in kinds: custom resources may use the same field names for other things.
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

    /// Its line in a YAML file, or the call that declared it.
    pub(super) fn origin(&self) -> &Location {
        &self.origin
    }

    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// Whether it creates pods from a template.
    pub(super) fn has_pod_template(&self) -> bool {
        self.kind() != "Pod" && self.pod_template().is_some()
    }

    /// Returns its images, each once: those of containers (init containers first), of volumes, at the paths that the user
    /// declared, and of environment variables if they are among `in_env_vars`.
    pub(super) fn images(
        &self,
        kinds: &ObjectKinds,
        in_env_vars: impl Fn(&Reference) -> bool,
    ) -> Result<Vec<Reference>, String> {
        let mut images: Vec<Reference> = Vec::new();
        let mut add = |image: Reference| {
            if !images.contains(&image) {
                images.push(image);
            }
        };
        let spec = self.pod_template().and_then(|template| template.get("spec"));
        let list = |field: &str| spec.and_then(|spec| spec.get(field)?.as_array()).into_iter().flatten();
        let containers = || list("initContainers").chain(list("containers"));
        for container in containers() {
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            add(Reference::parse(image).map_err(|problem| problem.message)?);
        }
        for image in list("volumes").filter_map(|volume| volume.pointer("/image/reference")?.as_str()) {
            add(Reference::parse(image).map_err(|problem| problem.message)?);
        }
        kinds.images(&self.value)?.into_iter().for_each(&mut add);
        let variables = containers().filter_map(|container| container.get("env")?.as_array()).flatten();
        let values = variables.filter_map(|variable| variable.get("value")?.as_str());
        for image in values.filter_map(|value| Reference::parse(value).ok()).filter(in_env_vars) {
            add(image);
        }
        Ok(images)
    }

    /// Returns the selector of a service; none if it is no service or selects nothing.
    pub(super) fn selector(&self) -> Option<&Map<String, Value>> {
        let selector = self.value.pointer("/spec/selector").and_then(Value::as_object);
        selector.filter(|selector| self.kind() == "Service" && self.group() == "core" && !selector.is_empty())
    }

    /// Returns the labels of the pods that it creates; a pod itself creates none.
    pub(super) fn pod_labels(&self) -> Option<&Map<String, Value>> {
        self.pod_template().filter(|_| self.has_pod_template())?.pointer("/metadata/labels")?.as_object()
    }

    /// Whether this is a service that selects the pods of `workload`.
    pub(super) fn selects_pods_of(&self, workload: &Object) -> bool {
        let (Some(selector), Some(labels)) = (self.selector(), workload.pod_labels()) else { return false };
        let same_place = self.namespace() == DEFAULT_NAMESPACE || self.namespace() == workload.namespace();
        same_place && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

/// Sorts kinds that others depend on first, as kustomize does; the rest keeps its order.
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
