//! Limits of the results of operators: a single operation cannot be cancelled, and one that exceeds the memory ends
//! lilt. They are far above what a Tiltfile needs.

use starlark::values::float::UnpackFloat;
use starlark::values::{Heap, UnpackValue, Value};

use crate::failure::{raise, refuse, too_much_memory};

/// The most memory of the values of one file, in bytes.
pub(crate) const HEAP_SIZE: usize = 1 << 30;
/// The longest string, in bytes.
pub(crate) const MAX_TEXT_LENGTH: usize = 1 << 27;
/// The longest text of a value, in bytes.
pub(crate) const MAX_REPR_LENGTH: usize = 1 << 24;
/// The longest list or tuple, in elements.
const MAX_LIST_LENGTH: usize = 1 << 25;
/// The largest number, in decimal digits: larger ones take long to multiply and to print.
pub(crate) const MAX_DIGITS: usize = 50_000;
/// The largest shift, as in Tilt.
const MAX_SHIFT: i32 = 512;
/// Smaller values are left to the interpreter's own check of its heap.
const SMALL: usize = 1 << 16;

/// Checks the length of a new string.
pub(crate) fn check_text(length: usize, heap: Heap<'_>) -> starlark::Result<()> {
    check(length, MAX_TEXT_LENGTH, 1, heap)
}

/// Checks the length of a new list or tuple.
pub(crate) fn check_list(length: usize, heap: Heap<'_>) -> starlark::Result<()> {
    check(length, MAX_LIST_LENGTH, size_of::<Value<'_>>(), heap)
}

fn check(length: usize, longest: usize, each: usize, heap: Heap<'_>) -> starlark::Result<()> {
    let size = length.saturating_mul(each);
    match length > longest || (size > SMALL && heap.allocated_bytes().saturating_add(size) > HEAP_SIZE) {
        true => Err(raise(too_much_memory())),
        false => Ok(()),
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    List,
}

/// Returns the length of a string, list or tuple.
fn length_of(value: Value<'_>) -> Option<(Kind, usize)> {
    if let Some(text) = value.unpack_str() {
        return Some((Kind::Text, text.len()));
    }
    matches!(value.get_type(), "list" | "tuple")
        .then(|| (Kind::List, value.length().map_or(0, |length| usize::try_from(length).unwrap_or(0))))
}

pub(crate) fn check_sum<'v>(left: Value<'v>, right: Value<'v>, heap: Heap<'v>) -> starlark::Result<()> {
    match (length_of(left), length_of(right)) {
        (Some((Kind::Text, one)), Some((Kind::Text, other))) => check_text(one + other, heap),
        (Some((Kind::List, one)), Some((Kind::List, other))) => check_list(one + other, heap),
        _ => Ok(()),
    }
}

pub(crate) fn check_product<'v>(left: Value<'v>, right: Value<'v>, heap: Heap<'v>) -> starlark::Result<()> {
    match (left.get_type(), right.get_type()) {
        ("int", "int") if left.unpack_i32().is_none() || right.unpack_i32().is_none() => {
            match digits(left) + digits(right) > MAX_DIGITS {
                true => Err(refuse("the product is too large a number")),
                false => Ok(()),
            }
        }
        ("int", _) => check_repeat(right, left, heap),
        (_, "int") => check_repeat(left, right, heap),
        _ => Ok(()),
    }
}

/// Returns how many digits a large number has; 0 for numbers of a usual size.
fn digits(number: Value<'_>) -> usize {
    let usual = UnpackFloat::unpack_value(number).ok().flatten().is_some_and(|number| number.0.is_finite());
    if usual { 0 } else { number.to_str().len() }
}

fn check_repeat<'v>(sequence: Value<'v>, count: Value<'v>, heap: Heap<'v>) -> starlark::Result<()> {
    let Some((kind, length)) = length_of(sequence).filter(|(_, length)| *length > 0) else { return Ok(()) };
    let Some(count) = count.unpack_i32() else {
        return Err(refuse(format!("repeat count {} too large", count.to_str())));
    };
    let product = length.saturating_mul(usize::try_from(count).unwrap_or(0));
    let longest = match kind {
        Kind::Text => MAX_TEXT_LENGTH,
        Kind::List => MAX_LIST_LENGTH,
    };
    if product > longest {
        return Err(refuse(format!("excessive repeat ({length} * {count} elements)")));
    }
    match kind {
        Kind::Text => check_text(product, heap),
        Kind::List => check_list(product, heap),
    }
}

pub(crate) fn check_shift(left: Value<'_>, right: Value<'_>) -> starlark::Result<()> {
    if left.get_type() != "int" || right.get_type() != "int" {
        return Ok(());
    }
    match right.unpack_i32() {
        Some(count) if count < 0 => Err(refuse(format!("negative shift count: {count}"))),
        Some(_) if digits(left) > MAX_DIGITS => Err(refuse("too large a number to be shifted")),
        Some(count) if count >= MAX_SHIFT => Err(refuse(format!("shift count too large: {count}"))),
        Some(_) => Ok(()),
        None => Err(refuse(format!("{} out of range", right.to_str()))),
    }
}
