//! What `elems`, `codepoints` and their numbered kin return: a view of a string that can be iterated.

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::starlark_simple_value;
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

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

#[starlark_value(type = "string.elems")]
impl<'v> StarlarkValue<'v> for Elements {
    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.text.chars().count()).unwrap_or(i32::MAX))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        let number = |number: u32| heap.alloc(i32::try_from(number).unwrap_or(i32::MAX));
        Ok(match self.unit {
            Unit::ElementNumber => self.text.bytes().map(|byte| number(byte.into())).collect(),
            Unit::CodepointNumber => self.text.chars().map(|character| number(character.into())).collect(),
            // Strings count by characters here, so an element is one.
            Unit::Element | Unit::Codepoint => {
                self.text.chars().map(|character| heap.alloc(character)).collect()
            }
        })
    }
}
