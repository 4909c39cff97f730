//! Who asks for what a controller does.

use lilt_api::{ObjectKey, ObjectKind};
use lilt_model::ResourceName;
use serde::{Deserialize, Serialize};

/// A resource of a Tiltfile or an API object.
///
/// What a controller does is the same for both; they differ in where the specification comes from and who sees the status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Resource(ResourceName),
    Object(ObjectKey),
}

impl Owner {
    /// The object of a kind with this name.
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
