//! Objects that are made once and that somebody filled in since: what they hold now is nowhere else.

use std::fmt;

use kube::api::DynamicObject;
use lilt_model::Failure;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::settings::ServerSideApply;
use serde_json::Value;

use super::reference;
use super::target::{CREATE_ONCE, MAX_LISTED_FIELDS, Target, is_create_once, is_immutable};
use crate::connect::{Cluster, IN_CLUSTER};

/// Why an object is not deleted, and how a person does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptObject {
    /// With the namespace it is in.
    pub object: ObjectRef,
    /// Which fields are no longer what its manifest says; none if the API server does not tell.
    pub fields: Vec<String>,
    /// What deletes it.
    pub command: String,
}

impl fmt::Display for KeptObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keeping {} ({CREATE_ONCE}): not as its manifest says", self.object)?;
        let told: Vec<&str> = self.fields.iter().take(MAX_LISTED_FIELDS).map(String::as_str).collect();
        if !told.is_empty() {
            write!(f, ": {}", told.join(", "))?;
        }
        if self.fields.len() > MAX_LISTED_FIELDS {
            write!(f, " and {} more", self.fields.len() - MAX_LISTED_FIELDS)?;
        }
        write!(f, "; to delete it: {}", self.command)
    }
}

impl Cluster {
    /// Which of these objects a deletion leaves alone.
    pub async fn kept(&self, objects: &[Value]) -> Result<Vec<KeptObject>, Failure> {
        let mut all = Vec::new();
        for object in objects {
            all.extend(self.kept_object(object).await?);
        }
        Ok(all)
    }

    /// None if it may go: it is not made once, is not there, or still is what its manifest says.
    pub(crate) async fn kept_object(&self, manifest: &Value) -> Result<Option<KeptObject>, Failure> {
        if !is_create_once(manifest) {
            return Ok(None);
        }
        let object = reference(manifest)?;
        let found = self.kinds.find(&object.api_version, &object.kind).await;
        let kind = found.map_err(|error| self.failure("asking which kinds it knows", &error))?;
        let Some(kind) = kind else { return Ok(None) };
        let target = self.target(&object, kind);
        let there = target.api.get_opt(&target.object.name).await.map_err(|error| target.refused(&error))?;
        let Some(there) = there.filter(|there| there.metadata.deletion_timestamp.is_none()) else {
            return Ok(None);
        };
        let manifest = &as_written(manifest);
        let fields = match target.diff(manifest, ServerSideApply::Auto).await {
            Ok(changes) => {
                let changed = changes.into_iter().map(|change| change.path).filter(|path| is_content(path));
                let fields: Vec<String> = changed.chain(added(&there, manifest)).collect();
                if fields.is_empty() {
                    return Ok(None);
                }
                fields
            }
            // That it would have to be another object is an answer, too.
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

/// Without what the API server writes: what is known of an object that was applied by hand is how the cluster returned it, and
/// with that it could only be applied to the same version.
fn as_written(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| {
            !matches!(key.as_str(), "uid" | "resourceVersion" | "creationTimestamp" | "generation")
        });
    }
    manifest
}

/// Labels and annotations hold no work of anybody's, and the manifest may lack those that lilt gave; which image was built
/// is not in it at all.
fn is_content(path: &str) -> bool {
    // Keys are what people call them.
    if path.starts_with("data.") || path.starts_with("binaryData.") {
        return true;
    }
    let noted = path.starts_with("metadata.") || path.contains(".metadata.");
    !noted && !path.ends_with(".image") && !path.ends_with(".imagePullPolicy")
}

/// What a ConfigMap or Secret holds besides: applying its manifest would leave that, so that no dry run tells of it.
fn added(there: &DynamicObject, manifest: &Value) -> Vec<String> {
    let holds = |part: &str, key: &str| manifest.get(part).is_some_and(|it| it.get(key).is_some());
    let mut fields = Vec::new();
    for part in ["data", "binaryData"] {
        let Some(entries) = there.data.get(part).and_then(Value::as_object) else { continue };
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
    fn what_was_added_is_told_and_what_the_manifest_names_is_not() {
        let there: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "login"},
            "data": {"a": "", "b": "", "c": ""}, "binaryData": {"d": ""}}))
        .expect("it is an object");
        let manifest = json!({"data": {"a": "1"}, "stringData": {"b": "1"}});
        assert_eq!(added(&there, &manifest), ["data.c", "binaryData.d"]);
    }

    #[test]
    fn what_the_cluster_wrote_is_not_compared() {
        let returned =
            json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": "2"}, "data": {"uid": "3"}});
        assert_eq!(as_written(&returned), json!({"metadata": {"name": "a"}, "data": {"uid": "3"}}));
    }

    #[test]
    fn notes_and_images_are_no_content() {
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
    fn it_is_told_how_to_delete_it() {
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
