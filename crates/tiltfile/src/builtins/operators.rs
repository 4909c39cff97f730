//! Operators that the front end calls in place of the interpreter's, which differ from Tilt's or have no limits.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use super::format;
use super::methods::is_set;
use crate::values::{byte_string, equality, limits};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn __percent__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        match left.unpack_str() {
            Some(text) => Ok(heap.alloc(format::percent(text, right, heap)?)),
            None => left.percent(right, heap),
        }
    }

    fn __plus__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        limits::check_sum(left, right, heap)?;
        left.add(right, heap)
    }

    /// Returns what `left += …` adds, after a check of the limits.
    fn __addend__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        limits::check_sum(left, right, heap)?;
        Ok(right)
    }

    fn __times__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        limits::check_product(left, right, heap)?;
        left.mul(right, heap)
    }

    fn __shift__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        limits::check_shift(left, right)?;
        left.left_shift(right, heap)
    }

    fn __equal__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
    ) -> starlark::Result<bool> {
        equality::are_equal(left, right)
    }

    fn __unequal__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
    ) -> starlark::Result<bool> {
        Ok(!equality::are_equal(left, right)?)
    }

    fn __index__<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(require = pos)] index: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        match value.unpack_str() {
            Some(text) => Ok(heap.alloc(byte_string::byte_at(text, index)?)),
            None => {
                // Checked here for Tilt's error message.
                if let (kind @ ("list" | "tuple"), Ok(length)) = (value.get_type(), value.length()) {
                    byte_string::resolve_index(kind, usize::try_from(length).unwrap_or(0), index)?;
                }
                value.at(index, heap)
            }
        }
    }

    fn __slice__<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(require = pos)] start: Value<'v>,
        #[starlark(require = pos)] end: Value<'v>,
        #[starlark(require = pos, default = NoneOr::None)] step: NoneOr<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let given = |part: Value<'v>| Some(part).filter(|part| !part.is_none());
        let (start, end, step) = (given(start), given(end), step.into_option());
        match value.unpack_str() {
            Some(text) => Ok(heap.alloc(&*byte_string::slice(text, start, end, step)?)),
            None => value.slice(start, end, step, heap),
        }
    }

    fn __less__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        match subset(left, right, heap)? {
            Some((all, fewer)) => Ok(all && fewer),
            None => Ok(left.compare(right)?.is_lt()),
        }
    }

    fn __at_most__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        match subset(left, right, heap)? {
            Some((all, _)) => Ok(all),
            None => Ok(left.compare(right)?.is_le()),
        }
    }

    fn __greater__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        match subset(right, left, heap)? {
            Some((all, fewer)) => Ok(all && fewer),
            None => Ok(left.compare(right)?.is_gt()),
        }
    }

    fn __at_least__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        match subset(right, left, heap)? {
            Some((all, _)) => Ok(all),
            None => Ok(left.compare(right)?.is_ge()),
        }
    }
}

/// Returns whether one set is a subset of another, and whether it has fewer elements; none if they are no sets.
fn subset<'v>(one: Value<'v>, other: Value<'v>, heap: Heap<'v>) -> starlark::Result<Option<(bool, bool)>> {
    if !is_set(one) || !is_set(other) {
        return Ok(None);
    }
    let mut count = 0;
    for element in one.iterate(heap)? {
        if !other.is_in(element)? {
            return Ok(Some((false, false)));
        }
        count += 1;
    }
    Ok(Some((true, count < other.iterate(heap)?.count())))
}
