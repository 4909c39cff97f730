//! An object of any kind, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Which object: its kind and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    pub kind: String,
    pub name: String,
}

impl ObjectKey {
    pub fn new(kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: kind.into(), name: name.into() }
    }

    /// What a document says it is.
    pub fn of(object: &Value) -> Option<Self> {
        let kind = object.get("kind")?.as_str()?;
        let name = object.pointer("/metadata/name")?.as_str()?;
        Some(Self::new(kind, name))
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.kind.to_ascii_lowercase(), self.name)
    }
}

/// How an object says that it belongs to another, which made it.
pub fn owner_reference(owner: &ObjectKey, uid: &str) -> Value {
    serde_json::json!({
        "apiVersion": super::API_VERSION, "kind": owner.kind, "name": owner.name, "uid": uid,
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// An object without what the store adds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// With the name; without uid, version and time of creation.
    pub metadata: Map<String, Value>,
    /// `spec`, `status`, `data`.
    pub content: Map<String, Value>,
}

impl Object {
    /// Takes a whole document apart. What the store adds is left out.
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

    pub fn named(name: &str) -> Self {
        let metadata = Map::from_iter([("name".to_owned(), Value::from(name))]);
        Self { metadata, content: Map::new() }
    }

    pub fn get(&self, pointer: &str) -> Option<&Value> {
        let (first, rest) =
            pointer.trim_start_matches('/').split_once('/').unwrap_or((pointer.trim_start_matches('/'), ""));
        let value = if first == "metadata" {
            return pointer_in(&self.metadata, rest);
        } else {
            self.content.get(first)?
        };
        if rest.is_empty() { Some(value) } else { value.pointer(&format!("/{rest}")) }
    }

    pub fn text(&self, pointer: &str) -> &str {
        self.get(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The texts of a list.
    pub fn texts(&self, pointer: &str) -> Vec<String> {
        let items = self.get(pointer).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Sets an annotation that it does not have.
    pub fn annotate_unless_said(&mut self, key: &str, value: &str) {
        if self.annotation(key).is_some_and(|said| !said.is_empty()) {
            return;
        }
        let annotations = self.metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(annotations) = annotations {
            annotations.insert(key.to_owned(), Value::from(value));
        }
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.get("annotations")?.get(key)?.as_str()
    }
}

fn pointer_in<'m>(metadata: &'m Map<String, Value>, rest: &str) -> Option<&'m Value> {
    let (first, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let value = metadata.get(first)?;
    if rest.is_empty() { Some(value) } else { value.pointer(&format!("/{rest}")) }
}
