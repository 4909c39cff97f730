//! `struct` and `module`: immutable values with named fields.

use std::fmt;
use std::hash::Hash;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::collections::{SmallMap, StarlarkHasher};
use starlark::starlark_complex_value;
use starlark::values::{
    Coerce, Freeze, Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Trace, Value, ValueLifetimeless,
    ValueLike, starlark_value,
};

use crate::source::ASSERT;

/// A `struct(…)`, its fields in order of their names.
#[derive(
    Clone,
    Debug,
    Default,
    Trace,
    Coerce,
    Freeze,
    ProvidesStaticType,
    NoSerialize,
    Allocative,
    StarlarkPagablePanic,
)]
#[repr(C)]
pub(crate) struct StructureGen<V: ValueLifetimeless> {
    fields: SmallMap<String, V>,
}
starlark_complex_value!(pub(crate) Structure);

impl<'v> Structure<'v> {
    pub(crate) fn new(fields: impl IntoIterator<Item = (String, Value<'v>)>) -> Self {
        let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (unmasked(name), value)).collect();
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { fields: fields.into_iter().collect() }
    }
}

impl<'v, V: ValueLike<'v>> StructureGen<V> {
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, Value<'v>)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.to_value()))
    }

    fn get(&self, name: &str) -> Option<Value<'v>> {
        let name = if name == ASSERT { "assert" } else { name };
        self.fields.get(name).map(|value| value.to_value())
    }
}

/// Restores the name `assert`, which the front end replaces.
fn unmasked(name: String) -> String {
    if name == ASSERT { "assert".to_owned() } else { name }
}

impl<'v, V: ValueLike<'v>> fmt::Display for StructureGen<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct(")?;
        for (index, (name, value)) in self.fields().enumerate() {
            let between = if index == 0 { "" } else { ", " };
            write!(f, "{between}{name} = {}", value.to_repr())?;
        }
        f.write_str(")")
    }
}

#[starlark_value(type = "struct")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for StructureGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn get_attr(&self, attribute: &str, _heap: Heap<'v>) -> Option<Value<'v>> {
        self.get(attribute)
    }

    fn dir_attr(&self) -> Vec<String> {
        self.fields.keys().cloned().collect()
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        let Some(other) = Structure::from_value(other) else { return Ok(false) };
        if self.fields.len() != other.fields.len() {
            return Ok(false);
        }
        for ((name, value), (other_name, other_value)) in self.fields().zip(other.fields()) {
            if name != other_name || !value.equals(other_value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        for (name, value) in self.fields() {
            name.hash(hasher);
            value.write_hash(hasher)?;
        }
        Ok(())
    }

    /// Merges the fields; of two with one name the right one wins.
    fn add(&self, other: Value<'v>, heap: Heap<'v>) -> Option<starlark::Result<Value<'v>>> {
        let other = Structure::from_value(other)?;
        let both: SmallMap<String, Value<'v>> =
            self.fields().chain(other.fields()).map(|(name, value)| (name.to_owned(), value)).collect();
        Some(Ok(heap.alloc(Structure::new(both))))
    }
}

/// A `module(name, …)`.
#[derive(
    Clone,
    Debug,
    Default,
    Trace,
    Coerce,
    Freeze,
    ProvidesStaticType,
    NoSerialize,
    Allocative,
    StarlarkPagablePanic,
)]
#[repr(C)]
pub(crate) struct NamedModuleGen<V: ValueLifetimeless> {
    #[freeze(identity)]
    name: String,
    members: SmallMap<String, V>,
}
starlark_complex_value!(pub(crate) NamedModule);

impl<'v> NamedModule<'v> {
    pub(crate) fn new(name: String, members: impl IntoIterator<Item = (String, Value<'v>)>) -> Self {
        let members = members.into_iter().map(|(name, value)| (unmasked(name), value)).collect();
        Self { name, members }
    }
}

impl<V: ValueLifetimeless> fmt::Display for NamedModuleGen<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<module {:?}>", self.name)
    }
}

#[starlark_value(type = "module")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for NamedModuleGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn get_attr(&self, attribute: &str, _heap: Heap<'v>) -> Option<Value<'v>> {
        let name = if attribute == ASSERT { "assert" } else { attribute };
        self.members.get(name).map(|value| value.to_value())
    }

    fn dir_attr(&self) -> Vec<String> {
        let mut names: Vec<String> = self.members.keys().cloned().collect();
        names.sort();
        names
    }
}
