//! What `elems`, `elem_ords`, `codepoints` and `codepoint_ords` return: an iterable view of a string.

// The interpreter's trait declares iteration unsafe to call; nothing unsafe is done here.
#![allow(unsafe_code)]

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::starlark_simple_value;
use starlark::values::ValueError;
use starlark::values::tuple::AllocTuple;
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

use super::byte_string::{byte_at, byte_to_char, resolve_index};
use super::limits::check_list;
use super::text::quote;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Allocative)]
pub(crate) enum Unit {
    Element,
    ElementNumber,
    Codepoint,
    CodepointNumber,
}

#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct Elements {
    pub(crate) text: String,
    pub(crate) unit: Unit,
}
starlark_simple_value!(Elements);

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        quote(&self.text, &mut text);
        let method = match self.unit {
            Unit::Element => "elems",
            Unit::ElementNumber => "elem_ords",
            Unit::Codepoint => "codepoints",
            Unit::CodepointNumber => "codepoint_ords",
        };
        write!(f, "{text}.{method}()")
    }
}

impl Elements {
    /// Whether the elements are bytes.
    fn by_byte(&self) -> bool {
        matches!(self.unit, Unit::Element | Unit::ElementNumber)
    }
}

#[starlark_value(type = "string.elems")]
impl<'v> StarlarkValue<'v> for Elements {
    fn length(&self) -> starlark::Result<i32> {
        match self.by_byte() {
            true => Ok(i32::try_from(self.text.len()).unwrap_or(i32::MAX)),
            false => ValueError::unsupported(self, "len()"),
        }
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        match self.unit {
            Unit::Element => Ok(heap.alloc(byte_at(&self.text, index)?)),
            Unit::ElementNumber => {
                let found = resolve_index("string.elems", self.text.len(), index)?;
                Ok(heap.alloc(i32::from(self.text.as_bytes()[found])))
            }
            _ => ValueError::unsupported_with(self, "[]", index),
        }
    }

    // SAFETY: the value is immutable and has no iteration count, so no call can find it in an inconsistent state.
    // Otherwise a tuple is iterated, which has its own implementation.
    unsafe fn iterate(&self, me: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        if self.by_byte() || self.text.is_ascii() {
            return Ok(me);
        }
        // The positions of characters are not known.
        check_list(self.text.len(), heap)?;
        let number = |character: char| heap.alloc(i32::try_from(u32::from(character)).unwrap_or(i32::MAX));
        Ok(match self.unit {
            Unit::CodepointNumber => heap.alloc(AllocTuple(self.text.chars().map(number))),
            _ => heap.alloc(AllocTuple(self.text.chars())),
        })
    }

    // SAFETY: as above.
    unsafe fn iter_next(&self, index: usize, heap: Heap<'v>) -> Option<Value<'v>> {
        let byte = *self.text.as_bytes().get(index)?;
        Some(match self.unit {
            Unit::ElementNumber | Unit::CodepointNumber => heap.alloc(i32::from(byte)),
            Unit::Element | Unit::Codepoint => heap.alloc(byte_to_char(byte)),
        })
    }

    // SAFETY: as above.
    unsafe fn iter_stop(&self) {}
}
