//! The text of values: `str`, `repr`, `print` and the formats, as in Tilt.
//!
//! Containers are walked here, because the interpreter formats functions and numbers inside of them differently.

use std::fmt::Write;

use starlark::values::bytes::StarlarkBytes;
use starlark::values::dict::DictRef;
use starlark::values::float::StarlarkFloat;
use starlark::values::list::ListRef;
use starlark::values::set::SetRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value, ValueLike};

use super::LiveUpdateStep;
use super::elements::{Elements, Unit};
use super::limits::{MAX_REPR_LENGTH, check_text};
use super::probe::ActionValue;
use super::structure::Structure;
use crate::failure::{raise, too_much_memory};
use crate::registry;
use crate::source::defined_name;

/// The longest excerpt of a value in a message, in characters.
const EXCERPT: usize = 60;
/// How deep values are written: the walk is recursive.
const DEPTH: usize = 500;

/// Formats a value for `print`: strings as they are.
pub(crate) fn display<'v>(value: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
    let mut out = String::new();
    write_display(value, heap, &mut out)?;
    Ok(out)
}

/// Formats a value as in a Tiltfile: strings quoted.
pub(crate) fn to_repr<'v>(value: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
    let mut out = String::new();
    write_repr(value, heap, &mut out)?;
    Ok(out)
}

pub(crate) fn write_display<'v>(value: Value<'v>, heap: Heap<'v>, out: &mut String) -> starlark::Result<()> {
    match (value.unpack_str(), value.downcast_ref::<StarlarkBytes>()) {
        (Some(text), _) => out.push_str(text),
        (None, Some(bytes)) => out.push_str(&String::from_utf8_lossy(bytes.as_bytes())),
        (None, None) => return write_repr(value, heap, out),
    }
    check_text(out.len(), heap)
}

/// The length is limited: shared values are written each time.
pub(crate) fn write_repr<'v>(value: Value<'v>, heap: Heap<'v>, out: &mut String) -> starlark::Result<()> {
    let max_length = out.len() + MAX_REPR_LENGTH;
    Writer::new(Some(heap), max_length, out).value(value);
    match out.len() > max_length {
        true => Err(raise(too_much_memory())),
        false => check_text(out.len(), heap),
    }
}

/// As [`to_repr`], for a value without sets inside.
pub(crate) fn repr_simple(value: Value<'_>) -> String {
    let mut out = String::new();
    Writer::new(None, MAX_REPR_LENGTH, &mut out).value(value);
    out
}

/// Returns the beginning of the text of a value, for messages.
pub(crate) fn excerpt(value: Value<'_>) -> String {
    let mut out = String::new();
    Writer::new(None, EXCERPT, &mut out).value(value);
    out.chars().take(EXCERPT).collect()
}

struct Writer<'v, 'o> {
    /// Needed to iterate over a set.
    heap: Option<Heap<'v>>,
    /// Writing stops at this length.
    max_length: usize,
    out: &'o mut String,
    /// The values around the one being written.
    path: Vec<Value<'v>>,
    /// Whether the next element is the first.
    first: bool,
}

impl<'v, 'o> Writer<'v, 'o> {
    fn new(heap: Option<Heap<'v>>, max_length: usize, out: &'o mut String) -> Self {
        Self { heap, max_length, out, path: Vec::new(), first: true }
    }

    fn value(&mut self, value: Value<'v>) {
        if self.out.len() > self.max_length {
            return;
        }
        if let Some(text) = value.unpack_str() {
            return quote(text, self.out);
        }
        if let Some(number) = value.downcast_ref::<StarlarkFloat>() {
            return self.out.push_str(&float(number.0, Exponent::Lower));
        }
        let (open, close) = if ListRef::from_value(value).is_some() {
            ("[", "]")
        } else if TupleRef::from_value(value).is_some() {
            ("(", ")")
        } else if DictRef::from_value(value).is_some() {
            ("{", "}")
        } else if is_set(value) {
            ("set([", "])")
        } else if Structure::from_value(value).is_some() {
            ("struct(", ")")
        } else {
            return self.out.push_str(&repr_scalar(value));
        };
        self.out.push_str(open);
        if self.path.len() > DEPTH || self.path.iter().any(|outer| outer.ptr_eq(value)) {
            self.out.push_str("...");
        } else {
            self.path.push(value);
            let outer = std::mem::replace(&mut self.first, true);
            self.elements(value);
            self.first = outer;
            self.path.pop();
        }
        self.out.push_str(close);
    }

    fn elements(&mut self, value: Value<'v>) {
        if let Some(list) = ListRef::from_value(value) {
            list.iter().for_each(|element| self.element(element));
        } else if let Some(tuple) = TupleRef::from_value(value) {
            tuple.content().iter().for_each(|element| self.element(*element));
            if tuple.len() == 1 {
                self.out.push(',');
            }
        } else if let Some(dict) = DictRef::from_value(value) {
            for (key, element) in dict.iter() {
                self.element(key);
                self.out.push_str(": ");
                self.value(element);
            }
        } else if let Some(structure) = Structure::from_value(value) {
            for (name, element) in structure.fields() {
                self.separate();
                self.out.push_str(name);
                self.out.push_str(" = ");
                self.value(element);
            }
        } else if let Some(Ok(set)) = self.heap.map(|heap| value.iterate(heap)) {
            set.for_each(|element| self.element(element));
        }
    }

    fn element(&mut self, value: Value<'v>) {
        self.separate();
        self.value(value);
    }

    fn separate(&mut self) {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push_str(", ");
        }
    }
}

/// Returns the values inside of a list, tuple, dict or struct; none if it is frozen.
pub(crate) fn nested_values(value: Value<'_>) -> Vec<Value<'_>> {
    if value.unpack_frozen().is_some() {
        return Vec::new();
    }
    if let Some(list) = ListRef::from_value(value) {
        return list.content().to_vec();
    }
    if let Some(tuple) = TupleRef::from_value(value) {
        return tuple.content().to_vec();
    }
    if let Some(dict) = DictRef::from_value(value) {
        return dict.iter().flat_map(|(key, value)| [key, value]).collect();
    }
    Structure::from_value(value)
        .map(|structure| structure.fields().map(|(_, value)| value).collect())
        .unwrap_or_default()
}

fn is_set(value: Value<'_>) -> bool {
    matches!(SetRef::unpack_value(value), Ok(Some(_)))
}

/// Formats a value that is no container.
fn repr_scalar(value: Value<'_>) -> String {
    let text = value.to_repr();
    if value.get_type() != "function" || text.starts_with('<') {
        return text;
    }
    match defined_name(&text) {
        Some(name) => format!("<function {name}>"),
        None => format!("<built-in function {}>", registry::full_name(value).unwrap_or(text)),
    }
}

/// Returns the type name of `type()`.
pub(crate) fn type_name(value: Value<'_>) -> &str {
    let by_codepoint = |view: &Elements| matches!(view.unit, Unit::Codepoint | Unit::CodepointNumber);
    if value.downcast_ref::<Elements>().is_some_and(by_codepoint) {
        return "string.codepoints";
    }
    if let Some(step) = value.downcast_ref::<LiveUpdateStep>() {
        return step.type_name();
    }
    if let Some(action) = value.downcast_ref::<ActionValue>() {
        return action.type_name();
    }
    match value.get_type() {
        "function" if defined_name(&value.to_repr()).is_none() => "builtin_function_or_method",
        other => other,
    }
}

/// Returns the text in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::new();
    quote(text, &mut out);
    out
}

/// Writes a text in double quotes, with escapes for invisible characters.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0b' => out.push_str("\\v"),
            '\x0c' => out.push_str("\\f"),
            '\0'..'\x20' | '\x7f' => drop(write!(out, "\\x{:02x}", u32::from(character))),
            _ if is_visible(character) => out.push(character),
            '\0'..='\u{ffff}' => drop(write!(out, "\\u{:04x}", u32::from(character))),
            _ => drop(write!(out, "\\U{:08x}", u32::from(character))),
        }
    }
    out.push('"');
}

fn is_visible(character: char) -> bool {
    // After another character, so that combining marks count as visible.
    character.is_ascii() || ['a', character].iter().collect::<String>().escape_debug().count() == 2
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exponent {
    Lower,
    Upper,
}

impl Exponent {
    fn letter(self) -> char {
        if self == Self::Lower { 'e' } else { 'E' }
    }
}

/// Formats a number as the shortest text that parses to it, with a point or an exponent.
pub(crate) fn float(number: f64, exponent: Exponent) -> String {
    if let Some(special) = not_finite(number) {
        return special.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    if number != 0.0 && !(-4..6).contains(&power) {
        return with_exponent(digits, power, exponent);
    }
    let text = format!("{number}");
    if text.contains('.') { text } else { text + ".0" }
}

/// Formats a number as `%e`: six digits after the point.
pub(crate) fn scientific(number: f64, exponent: Exponent) -> String {
    if let Some(special) = not_finite(number) {
        return special.to_owned();
    }
    let text = format!("{number:.6e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    with_exponent(digits, power.parse().unwrap_or(0), exponent)
}

/// Formats a number as `%f`.
pub(crate) fn fixed(number: f64) -> String {
    not_finite(number).map_or_else(|| format!("{number:.6}"), str::to_owned)
}

fn not_finite(number: f64) -> Option<&'static str> {
    match number {
        f64::INFINITY => Some("+inf"),
        f64::NEG_INFINITY => Some("-inf"),
        _ if number.is_nan() => Some("nan"),
        _ => None,
    }
}

fn with_exponent(digits: &str, power: i32, exponent: Exponent) -> String {
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}{}{sign}{:02}", exponent.letter(), power.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_formatted_as_in_tilt() {
        let text = |number| float(number, Exponent::Lower);
        assert_eq!(text(1.0), "1.0");
        assert_eq!(text(-0.0), "-0.0");
        assert_eq!(text(123_456.789), "123456.789");
        assert_eq!(text(1_234_567.0), "1.234567e+06");
        assert_eq!(text(0.0001), "0.0001");
        assert_eq!(text(0.000_01), "1e-05");
        assert_eq!(text(1e100), "1e+100");
        assert_eq!(text(f64::INFINITY), "+inf");
        assert_eq!(scientific(1234.5678, Exponent::Upper), "1.234568E+03");
        assert_eq!(fixed(0.5), "0.500000");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(quoted("a\"\\\n\x07\x01"), r#""a\"\\\n\a\x01""#);
        assert_eq!(quoted("é日\u{301}😀"), "\"é日\u{301}😀\"");
        assert_eq!(quoted("\u{200b}\u{ad}\u{e000}\u{f0000}"), r#""\u200b\u00ad\ue000\U000f0000""#);
    }
}
