//! The endless iterable that a `while` is rewritten to loop over.

// The interpreter's trait declares iteration unsafe to call; nothing unsafe is done here.
#![allow(unsafe_code)]

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::starlark_simple_value;
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct Endless;
starlark_simple_value!(Endless);

impl fmt::Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("forever")
    }
}

#[starlark_value(type = "forever")]
impl<'v> StarlarkValue<'v> for Endless {
    // SAFETY: the value is immutable and iterates over itself without state.
    unsafe fn iterate(&self, me: Value<'v>, _heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(me)
    }

    // SAFETY: as above.
    unsafe fn iter_next(&self, _index: usize, _heap: Heap<'v>) -> Option<Value<'v>> {
        Some(Value::new_none())
    }

    // SAFETY: as above.
    unsafe fn iter_stop(&self) {}
}
