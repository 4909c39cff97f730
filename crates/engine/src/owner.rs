//! The owner of a controller's work.

use lilt_api::{ObjectKey, ObjectKind};
use lilt_model::ResourceName;
use serde::{Deserialize, Serialize};

/// A resource of a Tiltfile or an API object.
///
/// Controllers treat both alike. They differ in the source of the specification and in where the status is
/// shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Resource(ResourceName),
    Object(ObjectKey),
}

impl Owner {
    /// Returns the object of a kind with this name as an owner.
    pub fn object(kind: ObjectKind, name: impl Into<String>) -> Self {
        Owner::Object(ObjectKey::new(kind, name))
    }
}

impl From<&ResourceName> for Owner {
    fn from(name: &ResourceName) -> Self {
        Owner::Resource(name.clone())
    }
}

impl From<&ObjectKey> for Owner {
    fn from(key: &ObjectKey) -> Self {
        Owner::Object(key.clone())
    }
}
