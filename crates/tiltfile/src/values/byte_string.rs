//! Strings indexed by bytes, as in Tilt.
//!
//! The interpreter's strings are always UTF-8, Tilt's need not be: a byte of a character that was cut becomes U+FFFD,
//! which is also what a terminal or a browser shows.

use std::borrow::Cow;

use starlark::values::Value;

use super::text::type_name;
use crate::failure::refuse;

/// Returns the byte at an index, as a character.
pub(crate) fn byte_at(text: &str, index: Value<'_>) -> starlark::Result<char> {
    Ok(byte_to_char(text.as_bytes()[resolve_index("string", text.len(), index)?]))
}

/// Resolves an index of a value of this type; a negative one counts from the end.
pub(crate) fn resolve_index(kind: &str, length: usize, index: Value<'_>) -> starlark::Result<usize> {
    let given = as_index(index).map_err(|why| refuse(format!("{kind} index: {why}")))?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let found = if given < 0 { given + length } else { given };
    match usize::try_from(found).ok().filter(|_| found < length) {
        Some(found) => Ok(found),
        None if length == 0 => Err(refuse(format!("index {given} out of range: empty {kind}"))),
        None => {
            let last = length - 1;
            Err(refuse(format!("{kind} index {given} out of range [{}:{last}]", -length)))
        }
    }
}

pub(crate) fn slice<'t>(
    text: &'t str,
    start: Option<Value<'_>>,
    end: Option<Value<'_>>,
    step: Option<Value<'_>>,
) -> starlark::Result<Cow<'t, str>> {
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let bounds = resolve_slice(length, start, end, step)?;
    match bounds.step {
        1 => Ok(substring(text, to_usize(bounds.start), to_usize(bounds.end.max(bounds.start)))),
        _ => Ok(Cow::Owned(every_nth(text.as_bytes(), &bounds))),
    }
}

/// The elements that `[start:end:step]` selects.
pub(crate) struct SliceBounds {
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Never 0.
    pub(crate) step: i64,
}

/// Resolves a slice of a value that has `length` elements.
pub(crate) fn resolve_slice(
    length: i64,
    start: Option<Value<'_>>,
    end: Option<Value<'_>>,
    step: Option<Value<'_>>,
) -> starlark::Result<SliceBounds> {
    let step = match step.filter(|step| !step.is_none()) {
        None => 1,
        Some(step) => as_index(step).map_err(|why| refuse(format!("invalid slice step: {why}")))?,
    };
    if step == 0 {
        return Err(refuse("zero is not a valid slice step"));
    }
    let (first, last) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let (default_start, default_end) = if step > 0 { (first, last) } else { (last, first) };
    let start = resolve_bound("start", start, length, default_start)?.clamp(first, last);
    let end = resolve_bound("end", end, length, default_end)?.clamp(first, last);
    Ok(SliceBounds { start, end, step })
}

/// Resolves a range of a string; the end is not before the start.
pub(crate) fn byte_range(
    text: &str,
    start: Option<Value<'_>>,
    end: Option<Value<'_>>,
) -> starlark::Result<(usize, usize)> {
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let start = resolve_bound("start", start, length, 0)?.clamp(0, length);
    let end = resolve_bound("end", end, length, length)?.clamp(0, length);
    Ok((to_usize(start), to_usize(end.max(start))))
}

/// Returns a range of bytes. Bytes that are no whole character become U+FFFD.
pub(crate) fn substring(text: &str, start: usize, end: usize) -> Cow<'_, str> {
    match text.get(start..end) {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(decode(&text.as_bytes()[start..end])),
    }
}

/// Returns a single byte as a character: only ASCII is one.
pub(crate) fn byte_to_char(byte: u8) -> char {
    if byte.is_ascii() { char::from(byte) } else { char::REPLACEMENT_CHARACTER }
}

fn decode(bytes: &[u8]) -> String {
    let mut decoded = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        decoded.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    decoded
}

fn every_nth(bytes: &[u8], bounds: &SliceBounds) -> String {
    let mut index = bounds.start;
    let mut taken = Vec::new();
    while if bounds.step > 0 { index < bounds.end } else { index > bounds.end } {
        taken.extend(bytes.get(to_usize(index)));
        index += bounds.step;
    }
    decode(&taken)
}

fn to_usize(index: i64) -> usize {
    usize::try_from(index).unwrap_or(0)
}

/// Resolves a bound of a slice; a negative one counts from the end.
fn resolve_bound(which: &str, given: Option<Value<'_>>, length: i64, default: i64) -> starlark::Result<i64> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(default) };
    let given = as_index(given).map_err(|why| refuse(format!("invalid {which} index: {why}")))?;
    Ok(if given < 0 { given + length } else { given })
}

fn as_index(value: Value<'_>) -> Result<i64, String> {
    match value.unpack_i32() {
        Some(number) => Ok(number.into()),
        None if value.get_type() == "int" => Err(format!("{} out of range", value.to_str())),
        None => Err(format!("got {}, want int", type_name(value))),
    }
}
