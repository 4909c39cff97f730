//! JSON and YAML: `read_*`, `decode_*`, `encode_*`.

use std::cell::Cell;
use std::path::Path;

use lilt_model::Failure;
use serde_json::Value as Json;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::DictRef;
use starlark::values::float::UnpackFloat;
use starlark::values::{Heap, UnpackValue, Value, ValueLike};

use super::kubernetes::explain;
use crate::arguments::Function;
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};
use crate::values::structure::Structure;
use crate::values::text::excerpt;
use crate::values::{Blob, Environ};
use lilt_model::yaml;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// The value of a YAML file, or `default` if it does not exist.
    fn read_yaml<'v>(
        paths: Value<'v>,
        default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let read = read("read_yaml", paths, default, load_state(eval))?;
        match read {
            Read::Default(value) => Ok(value),
            Read::Text(text, path) => one_document(&text, &path, Some(Path::new(&path)), eval.heap()),
        }
    }

    /// The values of all documents of a YAML file, or `default` if it does not exist.
    fn read_yaml_stream<'v>(
        paths: Value<'v>,
        default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        match read("read_yaml_stream", paths, default, load_state(eval))? {
            Read::Default(value) => Ok(value),
            Read::Text(text, path) => all_documents(&text, &path, Some(Path::new(&path)), eval.heap()),
        }
    }

    /// The value of a YAML text.
    fn decode_yaml<'v>(yaml: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let text = Function("decode_yaml").argument("yaml", yaml).string()?;
        one_document(&text, &source(yaml), None, eval.heap())
    }

    /// The values of all documents of a YAML text.
    fn decode_yaml_stream<'v>(
        yaml: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let text = Function("decode_yaml_stream").argument("yaml", yaml).string()?;
        all_documents(&text, &source(yaml), None, eval.heap())
    }

    /// A value as YAML.
    fn encode_yaml<'v>(obj: Value<'v>) -> starlark::Result<Blob> {
        let text = to_yaml("encode_yaml", obj)?;
        Ok(Blob { text, source: "encode_yaml".to_owned() })
    }

    /// A list of values as a YAML text of as many documents.
    fn encode_yaml_stream<'v>(objs: Value<'v>) -> starlark::Result<Blob> {
        let values = Function("encode_yaml_stream").argument("objs", objs).elements();
        let documents: Vec<_> =
            values.into_iter().map(|value| to_yaml("encode_yaml_stream", value)).collect::<Result<_, _>>()?;
        Ok(Blob { text: documents.join("---\n"), source: "encode_yaml_stream".to_owned() })
    }

    /// The value of a JSON file, or `default` if it does not exist.
    fn read_json<'v>(
        paths: Value<'v>,
        default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        match read("read_json", paths, default, load_state(eval))? {
            Read::Default(value) => Ok(value),
            Read::Text(text, path) => from_json_text(&text, &path, eval.heap()),
        }
    }

    /// The value of a JSON text.
    fn decode_json<'v>(json: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let text = Function("decode_json").argument("json", json).string()?;
        from_json_text(&text, &source(json), eval.heap())
    }

    /// A value as JSON.
    fn encode_json<'v>(obj: Value<'v>) -> starlark::Result<String> {
        let value = yaml::sorted(&to_json("encode_json", obj)?);
        let text = serde_json::to_string_pretty(&value)
            .map_err(|error| raise(Failure::internal(format!("encode_json: {error}"))))?;
        Ok(text + "\n")
    }
}

enum Read<'v> {
    /// With the path.
    Text(String, String),
    Default(Value<'v>),
}

fn read<'v>(
    function: &'static str,
    path: Value<'v>,
    default: Option<Value<'v>>,
    state: &LoadState<'_>,
) -> starlark::Result<Read<'v>> {
    let path = Function(function).argument("paths", path).path_or_directory(state)?;
    match (state.read(&path), default) {
        (Ok(content), _) => Ok(Read::Text(yaml::decode(&content).into_owned(), path.display().to_string())),
        (Err(error), Some(default)) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(Read::Default(default))
        }
        (Err(error), _) => Err(raise(state.unreadable(&path, &error))),
    }
}

fn source(value: Value<'_>) -> String {
    value.downcast_ref::<Blob>().map_or("a text of the Tiltfile".to_owned(), |blob| blob.source.clone())
}

fn one_document<'v>(
    text: &str,
    source: &str,
    path: Option<&Path>,
    heap: Heap<'v>,
) -> starlark::Result<Value<'v>> {
    let document = yaml::document(text).map_err(|error| raise(explain(&error, text, source, path)))?;
    Ok(from_json(&document, heap))
}

fn all_documents<'v>(
    text: &str,
    source: &str,
    path: Option<&Path>,
    heap: Heap<'v>,
) -> starlark::Result<Value<'v>> {
    let documents = yaml::documents(text).map_err(|error| raise(explain(&error, text, source, path)))?;
    let values: Vec<Value<'v>> = documents.iter().map(|document| from_json(document, heap)).collect();
    Ok(heap.alloc(values))
}

fn from_json_text<'v>(text: &str, source: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| raise(Failure::user(format!("invalid JSON in {source}: {error}"))))?;
    if let Some(number) = numbers(text).find(|number| !is_supported(number)) {
        let words = format!("the number {number} in {source} is not supported");
        return Err(raise(Failure::user(words).hint(
            "as in Tilt, a number without a decimal point must be an integer of at most 64 bits, without an exponent",
        )));
    }
    Ok(convert(&json, heap, &|number| heap.alloc(number)))
}

/// Returns the numbers of a valid JSON text as they are written.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])?..];
            if let Some(string) = rest.strip_prefix('"') {
                rest = after_string(string);
                continue;
            }
            let is_part = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
            let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
            let (number, after) = rest.split_at(end);
            rest = after;
            return Some(number);
        }
    })
}

fn after_string(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.find(|letter| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    });
    end.map_or("", |end| &text[end + 1..])
}

/// Whether Tilt can represent a number: with a point it is a float, otherwise an integer of 64 bits.
fn is_supported(number: &str) -> bool {
    number.contains('.') || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
}

fn to_yaml(function: &'static str, value: Value<'_>) -> starlark::Result<String> {
    yaml::encode(&to_json(function, value)?)
        .map_err(|error| raise(Failure::internal(format!("{function}: {}", error.message))))
}

/// Converts a value that was read from YAML, where whole numbers are integers, however they are written.
pub(super) fn from_json<'v>(json: &Json, heap: Heap<'v>) -> Value<'v> {
    convert(json, heap, &|number| match yaml::json_number(number).and_then(|number| number.as_i64()) {
        Some(number) => heap.alloc(number),
        None => heap.alloc(number),
    })
}

/// `float` converts the numbers that are not integers of 64 bits.
fn convert<'v>(json: &Json, heap: Heap<'v>, float: &dyn Fn(f64) -> Value<'v>) -> Value<'v> {
    match json {
        Json::Null => Value::new_none(),
        Json::Bool(flag) => Value::new_bool(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => heap.alloc(number),
            (None, Some(number), _) => heap.alloc(number),
            (None, None, number) => float(number.unwrap_or(f64::NAN)),
        },
        Json::String(text) => heap.alloc(text.as_str()),
        Json::Array(items) => {
            heap.alloc(items.iter().map(|item| convert(item, heap, float)).collect::<Vec<_>>())
        }
        Json::Object(fields) => {
            let fields: SmallMap<Value<'v>, Value<'v>> = fields
                .iter()
                .map(|(key, value)| {
                    (heap.alloc_str(key).to_value().get_hashed(), convert(value, heap, float))
                })
                .filter_map(|(key, value)| Some((key.ok()?, value)))
                .fold(SmallMap::new(), |mut map, (key, value)| {
                    map.insert_hashed(key, value);
                    map
                });
            heap.alloc(starlark::values::dict::Dict::new(fields))
        }
    }
}

fn to_json(function: &'static str, value: Value<'_>) -> starlark::Result<Json> {
    to_json_at(function, value, 0, &Cell::new(0))
}

/// Deeper values cannot be read by any parser.
const DEPTH: usize = 500;
/// Shared values are written each time: a small value may become huge.
const VALUES: usize = 1_000_000;

fn to_json_at(
    function: &'static str,
    value: Value<'_>,
    depth: usize,
    seen: &Cell<usize>,
) -> starlark::Result<Json> {
    seen.set(seen.get() + 1);
    if seen.get() > VALUES {
        return Err(Function(function).refuse("the value is too large"));
    }
    if depth > DEPTH {
        return Err(Function(function).refuse("the value is nested too deep"));
    }
    let inner = |value| to_json_at(function, value, depth + 1, seen);
    if let Some(blob) = value.downcast_ref::<Blob>() {
        return Ok(Json::String(blob.text.clone()));
    }
    if let Some(dict) = DictRef::from_value(value) {
        let mut fields = serde_json::Map::new();
        for (key, value) in dict.iter() {
            let name = key.unpack_str().ok_or_else(|| {
                Function(function).refuse(format!(
                    "keys must be strings, not {}: {}",
                    key.get_type(),
                    excerpt(key)
                ))
            })?;
            fields.insert(name.to_owned(), inner(value)?);
        }
        return Ok(Json::Object(fields));
    }
    if let Some(structure) = Structure::from_value(value) {
        let fields = structure.fields().map(|(name, value)| Ok((name.to_owned(), inner(value)?)));
        return fields.collect::<starlark::Result<serde_json::Map<_, _>>>().map(Json::Object);
    }
    if value.downcast_ref::<Environ>().is_some() {
        let variables = crate::environment::all().into_iter();
        return Ok(Json::Object(variables.map(|(name, value)| (name, Json::String(value))).collect()));
    }
    let sequence = starlark::values::list::ListRef::from_value(value)
        .map(|list| list.content())
        .or_else(|| starlark::values::tuple::TupleRef::from_value(value).map(|tuple| tuple.content()));
    if let Some(items) = sequence {
        return items.iter().map(|item| inner(*item)).collect::<starlark::Result<Vec<_>>>().map(Json::Array);
    }
    match value.get_type() {
        "NoneType" => Ok(Json::Null),
        "bool" => Ok(Json::Bool(value.to_bool())),
        "string" => Ok(Json::String(value.unpack_str().unwrap_or_default().to_owned())),
        "int" => {
            // Also beyond 64 bits: its text are the digits.
            let number = value.to_str().parse::<serde_json::Number>();
            number.map(Json::Number).map_err(|error| Function(function).refuse(format!("{value}: {error}")))
        }
        "float" => {
            let number = UnpackFloat::unpack_value(value).ok().flatten().map(|number| number.0);
            let number = number.and_then(yaml::json_number).map(Json::Number);
            number.ok_or_else(|| Function(function).refuse(format!("{value} cannot be encoded")))
        }
        other => Err(Function(function).refuse(format!("a {other} cannot be encoded: {}", excerpt(value)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_numbers_are_found_verbatim() {
        let text = r#"{"1": [2.0, -3], "a\"4\\": 5e6, "": 0}"#;
        assert_eq!(numbers(text).collect::<Vec<_>>(), ["2.0", "-3", "5e6", "0"]);
        let refused: Vec<&str> = ["1", "1.5", "1.0e3", "18446744073709551615", "1e3", "18446744073709551616"]
            .into_iter()
            .filter(|number| !is_supported(number))
            .collect();
        assert_eq!(refused, ["1e3", "18446744073709551616"]);
    }
}
