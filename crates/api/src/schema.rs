//! Derives [`Kind`]s from the JSON schemas of the types.
//!
//! Keeps only what OpenAPI, `explain` and validation need. The details of JSON schemas, such as `anyOf` for optional
//! fields, `enum` for closed sets and defaults, are dropped.

use std::collections::BTreeMap;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use crate::kinds::{COMMON_FIELDS, Field, Kind, Part, Type};
use crate::object_kind::{self, ApiContent, ObjectKind};

type Definitions = Map<String, Value>;

/// Returns all kinds, and the parts that they use.
pub(crate) fn derive() -> (Vec<Kind>, BTreeMap<&'static str, Part>) {
    // In a schema for serialization, the required fields are those that are always written.
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let roots = object_kind::schemas(&mut generator);
    let definitions = generator.take_definitions(true);
    let kinds = roots.into_iter().map(|root| root.kind(&definitions)).collect();
    let parts = definitions.iter().filter(|(_, schema)| is_object(schema)).map(|(name, schema)| {
        let part = Part { description: description(schema), fields: fields(schema, &definitions) };
        (leak(name), part)
    });
    (kinds, parts.collect())
}

/// The schema and the names of a kind.
pub(crate) struct Root {
    kind: ObjectKind,
    plural: &'static str,
    short_names: &'static [&'static str],
    schema: Value,
}

impl Root {
    pub(crate) fn of<K: ApiContent>(generator: &mut SchemaGenerator) -> Self {
        let schema = K::json_schema(generator).to_value();
        Self { kind: K::KIND, plural: K::PLURAL, short_names: K::SHORT_NAMES, schema }
    }

    fn kind(self, definitions: &Definitions) -> Kind {
        let Self { kind, plural, short_names, schema } = self;
        let mut fields = fields(&schema, definitions);
        fields.retain(|field| COMMON_FIELDS.iter().all(|common| common.name != field.name));
        // `spec` and `status` are both optional.
        fields.iter_mut().for_each(|field| field.required = false);
        Kind { kind, name: kind.name(), plural, short_names, description: description(&schema), fields }
    }
}

/// Leaks a name or description, which lives as long as the program.
fn leak(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

/// Returns the doc comment as one line.
fn description(schema: &Value) -> &'static str {
    leak(&schema["description"].as_str().unwrap_or_default().replace('\n', " "))
}

fn is_object(schema: &Value) -> bool {
    schema["type"] == "object" && schema.get("additionalProperties").is_none()
}

fn fields(schema: &Value, definitions: &Definitions) -> Vec<Field> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let field = |(position, (name, schema)): (usize, (&String, &Value))| Field {
        name: leak(name),
        of: type_of(schema, definitions),
        required: is_required(name),
        description: description(schema),
        position,
    };
    let mut fields: Vec<Field> = properties.enumerate().map(field).collect();
    fields.sort_by_key(|field| field.name);
    fields
}

fn type_of(schema: &Value, definitions: &Definitions) -> Type {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return named(name, &definitions[name]);
    }
    // An optional field is a choice between its type and null.
    if let Some(choices) = schema["anyOf"].as_array() {
        let present = choices.iter().find(|choice| choice["type"] != "null");
        return present.map_or(Type::Any, |choice| type_of(choice, definitions));
    }
    let name = match &schema["type"] {
        Value::Array(names) => names.iter().find(|name| **name != "null").and_then(Value::as_str),
        name => name.as_str(),
    };
    match name {
        Some("string") => Type::Text,
        Some("boolean") => Type::Bool,
        Some("integer") if schema["format"] == "int64" => Type::Int64,
        Some("integer") => Type::Int32,
        Some("array") => Type::List(Box::new(type_of(&schema["items"], definitions))),
        Some("object") => Type::Map,
        _ => Type::Any,
    }
}

fn named(name: &str, schema: &Value) -> Type {
    match name {
        "Time" => Type::Time,
        "MicroTime" => Type::MicroTime,
        "Duration" => Type::Duration,
        part if is_object(schema) => Type::Part(leak(part)),
        // A closed set of strings.
        _ => Type::Text,
    }
}
