//! Values that have to do with images and Kubernetes objects.

use std::fmt;
use std::hash::Hasher;

use allocative::Allocative;
use lilt_model::reference::Reference;
use starlark::any::ProvidesStaticType;
use starlark::collections::StarlarkHasher;
use starlark::starlark_simple_value;
use starlark::values::{
    Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value,
};

use super::text::quoted;

/// What `custom_build` returns.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct CustomBuildValue(#[allocative(skip)] pub(crate) Reference);
starlark_simple_value!(CustomBuildValue);

impl fmt::Display for CustomBuildValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "custom_build({})", quoted(&self.0.to_string()))
    }
}

#[starlark_value(type = "custom_build")]
impl<'v> StarlarkValue<'v> for CustomBuildValue {}

/// The argument of `workload_to_resource_function`: the object that a resource is named after.
#[derive(Clone, Debug, PartialEq, Eq, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct ObjectId {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    /// Empty for the core group.
    pub(crate) group: String,
}
starlark_simple_value!(ObjectId);

impl ObjectId {
    fn part(&self, name: &str) -> Option<&str> {
        match name {
            "name" => Some(&self.name),
            "kind" => Some(&self.kind),
            "namespace" => Some(&self.namespace),
            "group" => Some(&self.group),
            _ => None,
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.name, &self.kind, &self.namespace, &self.group].map(|part| part.to_lowercase());
        f.write_str(&parts.join(":"))
    }
}

#[starlark_value(type = "K8sObjectID")]
impl<'v> StarlarkValue<'v> for ObjectId {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        self.part(attribute).map(|part| heap.alloc(part))
    }

    fn dir_attr(&self) -> Vec<String> {
        ["name", "kind", "namespace", "group"].map(str::to_owned).into()
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        hasher.write(self.to_string().as_bytes());
        Ok(())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<ObjectId>() == Some(self))
    }
}
