//! Template functions: Go's, and the two that kubectl adds (`exists`, `base64decode`).

use std::cmp::Ordering;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

pub(super) const FUNCTIONS: [&str; 17] = [
    "and",
    "base64decode",
    "eq",
    "exists",
    "ge",
    "gt",
    "index",
    "le",
    "len",
    "lt",
    "ne",
    "not",
    "or",
    "print",
    "printf",
    "println",
    "slice",
];

pub(super) fn call(name: &str, arguments: Vec<Value>) -> Result<Value, String> {
    match name {
        "and" | "or" => arguments.last().cloned().ok_or_else(|| wrong_number(name)),
        "not" => one(name, &arguments).map(|value| Value::Bool(!is_true(value))),
        "len" => length(one(name, &arguments)?).map(Value::from),
        "index" => index(&arguments).cloned(),
        "slice" => slice(&arguments),
        "exists" => Ok(Value::Bool(index(&arguments).is_ok_and(|found| !found.is_null()))),
        "base64decode" => decode(one(name, &arguments)?),
        "print" => Ok(Value::String(print(&arguments))),
        "println" => {
            let words: Vec<String> = arguments.iter().map(printed).collect();
            Ok(Value::String(format!("{}\n", words.join(" "))))
        }
        "printf" => formatted(&arguments).map(Value::String),
        _ => compare(name, &arguments).map(Value::Bool),
    }
}

fn wrong_number(name: &str) -> String {
    format!("wrong number of args for {name}")
}

fn one<'v>(name: &str, arguments: &'v [Value]) -> Result<&'v Value, String> {
    match arguments {
        [one] => Ok(one),
        _ => Err(wrong_number(name)),
    }
}

/// Returns whether a value counts as true: it is not empty.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// Formats a value as Go prints it.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let words: Vec<String> = items.iter().map(printed).collect();
            format!("[{}]", words.join(" "))
        }
        Value::Object(members) => {
            let mut words: Vec<String> =
                members.iter().map(|(name, value)| format!("{name}:{}", printed(value))).collect();
            words.sort();
            format!("map[{}]", words.join(" "))
        }
        plain => plain.to_string(),
    }
}

/// Joins values, with a space between two that are not strings.
fn print(values: &[Value]) -> String {
    let mut text = String::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 && !value.is_string() && !values[index - 1].is_string() {
            text.push(' ');
        }
        text.push_str(&printed(value));
    }
    text
}

fn length(value: &Value) -> Result<usize, String> {
    match value {
        Value::String(text) => Ok(text.len()),
        Value::Array(items) => Ok(items.len()),
        Value::Object(members) => Ok(members.len()),
        other => Err(format!("len of type {}", type_of(other))),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

fn index(arguments: &[Value]) -> Result<&Value, String> {
    let (value, keys) = arguments.split_first().ok_or_else(|| wrong_number("index"))?;
    keys.iter().try_fold(value, |value, key| match (value, key) {
        (Value::Array(items), Value::Number(number)) => {
            let at = number.as_u64().and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| items.get(at)).ok_or_else(|| format!("index out of range: {number}"))
        }
        (Value::Object(members), Value::String(name)) => Ok(members.get(name).unwrap_or(&Value::Null)),
        (value, key) => Err(format!("cannot index {} with {}", type_of(value), type_of(key))),
    })
}

fn slice(arguments: &[Value]) -> Result<Value, String> {
    let (value, bounds) = arguments.split_first().ok_or_else(|| wrong_number("slice"))?;
    let length = length(value)?;
    let bound = |at: usize, else_branch: usize| match bounds.get(at) {
        None => Ok(else_branch),
        Some(bound) => {
            let bound = bound.as_u64().and_then(|bound| usize::try_from(bound).ok());
            bound.filter(|bound| *bound <= length).ok_or("slice bounds out of range".to_owned())
        }
    };
    let (start, end) = (bound(0, 0)?, bound(1, length)?);
    match value {
        Value::String(text) => {
            let part = text.get(start..end).ok_or("slice bounds out of range")?;
            Ok(Value::from(part))
        }
        Value::Array(items) => {
            let part = items.get(start..end).ok_or("slice bounds out of range")?;
            Ok(Value::from(part.to_vec()))
        }
        other => Err(format!("can't slice {}", type_of(other))),
    }
}

fn decode(value: &Value) -> Result<Value, String> {
    let text = value.as_str().ok_or("base64decode takes a text")?;
    let bytes = BASE64_STANDARD.decode(text).map_err(|error| format!("base64 decode failed: {error}"))?;
    Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned()))
}

fn compare(name: &str, arguments: &[Value]) -> Result<bool, String> {
    let (first, others) = arguments.split_first().ok_or_else(|| wrong_number(name))?;
    match (name, others) {
        ("eq", [_, ..]) => Ok(others.iter().any(|other| is_equal(first, other))),
        ("ne", [other]) => Ok(!is_equal(first, other)),
        ("lt", [other]) => Ok(order(first, other)?.is_lt()),
        ("le", [other]) => Ok(order(first, other)?.is_le()),
        ("gt", [other]) => Ok(order(first, other)?.is_gt()),
        ("ge", [other]) => Ok(order(first, other)?.is_ge()),
        _ => Err(wrong_number(name)),
    }
}

fn is_equal(left: &Value, right: &Value) -> bool {
    left == right || matches!(order(left, right), Ok(Ordering::Equal))
}

fn order(left: &Value, right: &Value) -> Result<Ordering, String> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
        _ => None,
    };
    order.ok_or_else(|| "incompatible types for comparison".to_owned())
}

/// Implements `printf` with `%s`, `%v`, `%d`, `%q`, `%t`, `%f`, `%x`, widths, precision, `-` and `0`.
fn formatted(arguments: &[Value]) -> Result<String, String> {
    let (format, values) = arguments.split_first().ok_or_else(|| wrong_number("printf"))?;
    let format = format.as_str().ok_or("printf takes a text first")?;
    let mut values = values.iter();
    let mut text = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let length = after.find(|letter: char| !"+-0123456789.# ".contains(letter)).unwrap_or(after.len());
        let Some(verb) = after[length..].chars().next() else {
            text.push_str("%!(NOVERB)");
            return Ok(text);
        };
        rest = &after[length + verb.len_utf8()..];
        if verb == '%' {
            text.push('%');
            continue;
        }
        match values.next() {
            Some(value) => text.push_str(&padded(&after[..length], verb, value)),
            None => text.push_str(&format!("%!{verb}(MISSING)")),
        }
    }
    text.push_str(rest);
    Ok(text)
}

fn padded(flags: &str, verb: char, value: &Value) -> String {
    let shape = flags.trim_start_matches(['-', '+', '0', '#', ' ']);
    let marks = &flags[..flags.len() - shape.len()];
    let (width, precision) = match shape.split_once('.') {
        Some((width, precision)) => (width.parse().unwrap_or(0), Some(precision.parse().unwrap_or(0))),
        None => (shape.parse().unwrap_or(0), None),
    };
    let word = format_verb(verb, value, precision);
    let missing = usize::saturating_sub(width, word.chars().count());
    if marks.contains('-') {
        format!("{word}{}", " ".repeat(missing))
    } else {
        let filler = if marks.contains('0') { "0" } else { " " };
        format!("{}{word}", filler.repeat(missing))
    }
}

fn format_verb(verb: char, value: &Value, precision: Option<usize>) -> String {
    match (verb, value) {
        ('q', Value::String(text)) => format!("{text:?}"),
        ('x', Value::Number(number)) if number.is_i64() => {
            format!("{:x}", number.as_i64().unwrap_or_default())
        }
        ('f' | 'g' | 'e', Value::Number(number)) => {
            format!("{:.*}", precision.unwrap_or(6), number.as_f64().unwrap_or_default())
        }
        ('s', Value::String(text)) => {
            precision.map_or_else(|| text.clone(), |letters| text.chars().take(letters).collect())
        }
        ('v', value) => printed(value),
        ('d', Value::Number(number)) if number.is_i64() || number.is_u64() => number.to_string(),
        ('t', Value::Bool(flag)) => flag.to_string(),
        ('s', Value::Array(_) | Value::Object(_)) => printed(value),
        (verb, value) => format!("%!{verb}({}={})", type_of(value), printed(value)),
    }
}
