//! An object of any kind, as JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ConfigMap;
use crate::object_kind::{ApiContent, ObjectKind, content_members};

/// The metadata field that lists the owners of an object.
pub const OWNER_REFERENCES: &str = "ownerReferences";

/// Identifies an object by its kind and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    pub kind: ObjectKind,
    pub name: String,
}

impl ObjectKey {
    pub fn new(kind: ObjectKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// Returns the kind and the name of a document, or `None` if it is not an object of the API.
    pub fn of(document: &Value) -> Option<Self> {
        let kind = document.get("kind")?.as_str()?;
        let name = document.pointer("/metadata/name")?.as_str()?;
        Some(Self::new(ObjectKind::named(kind)?, name))
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.kind.name().to_ascii_lowercase(), self.name)
    }
}

/// An object without the fields that the store sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// Metadata without `uid`, `resourceVersion` and `creationTimestamp`.
    pub metadata: Map<String, Value>,
    /// `spec`, `status` or `data`.
    pub content: Map<String, Value>,
}

impl Object {
    /// Creates an object without content.
    pub fn named(name: &str) -> Self {
        let metadata = Map::from_iter([("name".to_owned(), Value::from(name))]);
        Self { metadata, content: Map::new() }
    }

    pub fn new(name: &str, content: &impl ApiContent) -> Self {
        Self { content: content_members(content), ..Self::named(name) }
    }

    /// Splits a document into metadata and content. Drops the fields that the store sets.
    pub fn read(document: Value) -> Self {
        let Value::Object(mut content) = document else { return Self::default() };
        let mut metadata = match content.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        for added in ["uid", "resourceVersion", "creationTimestamp"] {
            metadata.remove(added);
        }
        for known in ["apiVersion", "kind"] {
            content.remove(known);
        }
        Self { metadata, content }
    }

    pub fn set_spec(&mut self, spec: &impl Serialize) {
        self.content.insert("spec".to_owned(), json!(spec));
    }

    pub fn set_status(&mut self, status: &impl Serialize) {
        self.content.insert("status".to_owned(), json!(status));
    }

    /// Sets the data of a `ConfigMap`.
    pub fn set_data(&mut self, map: &ConfigMap) {
        self.content.insert("data".to_owned(), json!(map.data));
    }

    /// Sets an annotation unless it already has a value that is not empty.
    pub fn annotate_if_absent(&mut self, key: &str, value: &str) {
        if self.annotation(key).is_none_or(str::is_empty) {
            self.annotate(key, value);
        }
    }

    pub fn annotate(&mut self, key: &str, value: &str) {
        let annotations = self.metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(annotations) = annotations {
            annotations.insert(key.to_owned(), Value::from(value));
        }
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.get("annotations")?.get(key)?.as_str()
    }

    /// Returns the UIDs of the owners.
    pub fn owner_uids(&self) -> impl Iterator<Item = &str> {
        let owners = self.metadata.get(OWNER_REFERENCES).and_then(Value::as_array);
        owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str())
    }

    /// Sets the only owner, replacing any others.
    pub fn set_owner(&mut self, owner: &ObjectKey, uid: &str) {
        let reference = json!({
            "apiVersion": super::API_VERSION, "kind": owner.kind.name(), "name": owner.name, "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        });
        self.metadata.insert(OWNER_REFERENCES.to_owned(), json!([reference]));
    }

    /// Removes an owner.
    pub fn remove_owner(&mut self, uid: &str) {
        if let Some(Value::Array(references)) = self.metadata.get_mut(OWNER_REFERENCES) {
            references.retain(|owner| owner["uid"].as_str() != Some(uid));
            if references.is_empty() {
                self.metadata.remove(OWNER_REFERENCES);
            }
        }
    }
}
