//! Finds create-once objects that were edited since: their data exists nowhere else, so they are not deleted.

use std::fmt;

use kube::api::DynamicObject;
use lilt_model::Failure;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::settings::ServerSideApply;
use serde_json::Value;

use super::reference;
use super::target::{CREATE_ONCE, MAX_LISTED_FIELDS, Target, is_create_once, is_immutable};
use crate::connect::{Cluster, IN_CLUSTER};

/// An object that is not deleted: why, and how a person deletes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptObject {
    /// Includes its namespace.
    pub object: ObjectRef,
    /// The fields that differ from the manifest; empty if the API server does not report them.
    pub fields: Vec<String>,
    /// The command that deletes it.
    pub command: String,
}

impl fmt::Display for KeptObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keeping {} ({CREATE_ONCE}): not as its manifest says", self.object)?;
        let listed: Vec<&str> = self.fields.iter().take(MAX_LISTED_FIELDS).map(String::as_str).collect();
        if !listed.is_empty() {
            write!(f, ": {}", listed.join(", "))?;
        }
        if self.fields.len() > MAX_LISTED_FIELDS {
            write!(f, " and {} more", self.fields.len() - MAX_LISTED_FIELDS)?;
        }
        write!(f, "; to delete it: {}", self.command)
    }
}

impl Cluster {
    /// Returns those of these objects that a deletion would keep.
    pub async fn kept(&self, objects: &[Value]) -> Result<Vec<KeptObject>, Failure> {
        let mut all = Vec::new();
        for object in objects {
            all.extend(self.kept_object(object).await?);
        }
        Ok(all)
    }

    /// Returns none if the object may be deleted: it is not create-once, does not exist, or equals its manifest.
    pub(crate) async fn kept_object(&self, manifest: &Value) -> Result<Option<KeptObject>, Failure> {
        if !is_create_once(manifest) {
            return Ok(None);
        }
        let object = reference(manifest)?;
        let found = self.kinds.find(&object.api_version, &object.kind).await;
        let kind = found.map_err(|error| self.failure("asking which kinds it knows", &error))?;
        let Some(kind) = kind else { return Ok(None) };
        let target = self.target(&object, kind);
        let current =
            target.api.get_opt(&target.object.name).await.map_err(|error| target.refused(&error))?;
        let Some(current) = current.filter(|current| current.metadata.deletion_timestamp.is_none()) else {
            return Ok(None);
        };
        let manifest = &as_written(manifest);
        let fields = match target.diff(manifest, ServerSideApply::Auto).await {
            Ok(changes) => {
                let changed = changes.into_iter().map(|change| change.path).filter(|path| is_content(path));
                let fields: Vec<String> = changed.chain(added(&current, manifest)).collect();
                if fields.is_empty() {
                    return Ok(None);
                }
                fields
            }
            // The change of an immutable field is a difference, too.
            Err(error) if is_immutable(&error) => Vec::new(),
            Err(error) => return Err(target.refused(&error)),
        };
        Ok(Some(target.kept(fields)))
    }
}

impl Target<'_> {
    fn kept(&self, fields: Vec<String>) -> KeptObject {
        let ObjectRef { kind, name, namespace, .. } = &self.object;
        let mut command = "kubectl".to_owned();
        let context = self.cluster.context();
        if !context.is_empty() && context != IN_CLUSTER {
            command += &format!(" --context {context}");
        }
        command += &format!(" delete {} {name}", kind.to_lowercase());
        if !namespace.is_empty() {
            command += &format!(" -n {namespace}");
        }
        KeptObject { object: self.object.clone(), fields, command }
    }
}

/// Removes fields that the API server writes.
///
/// The manifest of an object that another tool applied comes from the cluster. With these fields it could only be
/// applied to the same version.
fn as_written(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| {
            !matches!(key.as_str(), "uid" | "resourceVersion" | "creationTimestamp" | "generation")
        });
    }
    manifest
}

/// Whether a field holds data that somebody may have entered.
///
/// Labels, annotations and images do not: the manifest may lack those that lilt sets.
fn is_content(path: &str) -> bool {
    // Keys of data are arbitrary names.
    if path.starts_with("data.") || path.starts_with("binaryData.") {
        return true;
    }
    let noted = path.starts_with("metadata.") || path.contains(".metadata.");
    !noted && !path.ends_with(".image") && !path.ends_with(".imagePullPolicy")
}

/// Returns entries of a ConfigMap or Secret that the manifest lacks. An apply would leave them, so a dry run does not
/// report them.
fn added(current: &DynamicObject, manifest: &Value) -> Vec<String> {
    let holds = |part: &str, key: &str| manifest.get(part).is_some_and(|it| it.get(key).is_some());
    let mut fields = Vec::new();
    for part in ["data", "binaryData"] {
        let Some(entries) = current.data.get(part).and_then(Value::as_object) else { continue };
        let unnamed = entries.keys().filter(|key| !holds(part, key) && !holds("stringData", key));
        fields.extend(unnamed.map(|key| format!("{part}.{key}")));
    }
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn added_entries_are_reported_and_named_ones_are_not() {
        let current: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "login"},
            "data": {"a": "", "b": "", "c": ""}, "binaryData": {"d": ""}}))
        .expect("it is an object");
        let manifest = json!({"data": {"a": "1"}, "stringData": {"b": "1"}});
        assert_eq!(added(&current, &manifest), ["data.c", "binaryData.d"]);
    }

    #[test]
    fn server_written_metadata_is_not_compared() {
        let returned =
            json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": "2"}, "data": {"uid": "3"}});
        assert_eq!(as_written(&returned), json!({"metadata": {"name": "a"}, "data": {"uid": "3"}}));
    }

    #[test]
    fn metadata_and_images_are_no_content() {
        let content = [
            "data.TOKEN",
            "data.the.image",
            "data.a.metadata.b",
            "spec.size",
            "spec.template.spec.containers[a].env[B].value",
        ];
        assert!(content.iter().all(|path| is_content(path)));
        let other = [
            "metadata.labels.app.kubernetes.io/managed-by",
            "spec.template.metadata.labels.tilt.dev/pod-template-hash",
            "spec.template.spec.containers[a].image",
        ];
        assert!(!other.iter().any(|path| is_content(path)));
    }

    #[test]
    fn kept_object_message_lists_fields_and_command() {
        let object = ObjectRef {
            api_version: "v1".into(),
            kind: "Secret".into(),
            name: "login".into(),
            namespace: "n".into(),
        };
        let kept = |fields: Vec<String>| {
            KeptObject { object: object.clone(), fields, command: "kubectl delete secret login -n n".into() }
                .to_string()
        };
        assert_eq!(
            kept(vec!["data.a".into(), "data.b".into()]),
            "Keeping login:secret:n (lilt.dev/create-once): not as its manifest says: data.a, data.b; \
             to delete it: kubectl delete secret login -n n"
        );
        assert!(kept(vec!["x".into(); MAX_LISTED_FIELDS + 1]).contains("x and 1 more;"));
        assert!(kept(Vec::new()).contains("not as its manifest says; to delete it"));
    }
}
