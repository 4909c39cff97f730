//! What `range` returns. The interpreter's own is limited to small numbers, and a builtin that iterates over it, such as
//! `max`, cannot be cancelled: this one ends when the load must.

// The interpreter's trait declares iteration unsafe to call; nothing unsafe is done here.
#![allow(unsafe_code)]

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::starlark_simple_value;
use starlark::values::float::UnpackFloat;
use starlark::values::{
    Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value, ValueLike, starlark_value,
};

use super::byte_string;
use super::text::type_name;
use crate::failure::refuse;
use crate::halt::Halt;

#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct Range {
    start: i64,
    stop: i64,
    /// Never 0.
    step: i64,
    /// How many elements it has.
    pub(crate) count: i64,
    #[allocative(skip)]
    halt: Halt,
}
starlark_simple_value!(Range);

impl Range {
    pub(crate) fn new(start: i64, stop: i64, step: i64, halt: Halt) -> starlark::Result<Self> {
        match step {
            0 => Err(refuse("range: step argument must not be zero")),
            _ => Ok(Self { start, stop, step, count: count(start, stop, step), halt }),
        }
    }

    fn element(&self, index: i64) -> i64 {
        self.start.saturating_add(self.step.saturating_mul(index))
    }

    /// Returns what decides equality: `stop` does not count.
    fn identity(&self) -> (i64, Option<i64>, Option<i64>) {
        let count = self.count;
        (count, (count > 0).then_some(self.start), (count > 1).then_some(self.step))
    }
}

fn count(start: i64, stop: i64, step: i64) -> i64 {
    // With more bits, so that nothing overflows.
    let (distance, step) = (i128::from(stop) - i128::from(start), i128::from(step));
    let whole = distance / step + i128::from(distance % step != 0);
    if distance.signum() == step.signum() { i64::try_from(whole).unwrap_or(i64::MAX) } else { 0 }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.start, self.step) {
            (0, 1) => write!(f, "range({})", self.stop),
            (start, 1) => write!(f, "range({start}, {})", self.stop),
            (start, step) => write!(f, "range({start}, {}, {step})", self.stop),
        }
    }
}

#[starlark_value(type = "range")]
impl<'v> StarlarkValue<'v> for Range {
    fn to_bool(&self) -> bool {
        self.count > 0
    }

    fn length(&self) -> starlark::Result<i32> {
        // The builtin `len` returns the full count.
        Ok(i32::try_from(self.count).unwrap_or(i32::MAX))
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let found = byte_string::resolve_index("range", usize::try_from(self.count).unwrap_or(0), index)?;
        Ok(heap.alloc(self.element(i64::try_from(found).unwrap_or(i64::MAX))))
    }

    fn slice(
        &self,
        start: Option<Value<'v>>,
        stop: Option<Value<'v>>,
        step: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let part = byte_string::resolve_slice(self.count, start, stop, step)?;
        let (start, stop) = (self.element(part.start), self.element(part.end));
        Ok(heap.alloc(Self::new(start, stop, self.step.saturating_mul(part.step), self.halt.clone())?))
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<Self>().is_some_and(|other| other.identity() == self.identity()))
    }

    fn is_in(&self, other: Value<'v>) -> starlark::Result<bool> {
        let Some(number) = UnpackFloat::unpack_value(other)? else {
            let kind = type_name(other);
            return Err(refuse(format!("'in <range>' requires integer as left operand, not {kind}")));
        };
        // A float is truncated, and one that is too large is in no range.
        let number = match i64::unpack_value(other) {
            Ok(Some(number)) => number,
            _ if number.0.abs() < 2_f64.powi(63) => number.0.trunc() as i64,
            _ => return Ok(false),
        };
        let distance = i128::from(number) - i128::from(self.start);
        let (index, left) = (distance / i128::from(self.step), distance % i128::from(self.step));
        Ok(left == 0 && (0..i128::from(self.count)).contains(&index))
    }

    // SAFETY: the value is immutable and iterates over itself without state.
    unsafe fn iterate(&self, me: Value<'v>, _heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(me)
    }

    // SAFETY: as above.
    unsafe fn iter_next(&self, index: usize, heap: Heap<'v>) -> Option<Value<'v>> {
        // Missing elements do not matter: the load fails.
        let index = i64::try_from(index).ok().filter(|_| !self.halt.is_requested())?;
        (index < self.count).then(|| heap.alloc(self.element(index)))
    }

    // SAFETY: as above.
    unsafe fn iter_stop(&self) {}
}
