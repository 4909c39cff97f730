//! Describes the fields of a kind from an OpenAPI document.

use serde_json::{Map, Value};

use crate::problem::Problem;

pub(super) fn explain(
    document: &Value,
    kind: &str,
    path: &[&str],
    recursive: bool,
) -> Result<String, Problem> {
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let schemas = schemas.ok_or_else(|| Problem::message("the OpenAPI document has no schemas"))?;
    let told = Document { schemas };
    let is_it = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.iter().any(|known| known["kind"] == kind))
    };
    let unknown = || Problem::message(format!("couldn't find resource for {kind:?} in the OpenAPI document"));
    let mut schema = schemas.values().find(is_it).ok_or_else(unknown)?;
    let mut text = format!("GROUP:      tilt.dev\nKIND:       {kind}\nVERSION:    v1alpha1\n\n");
    for (index, name) in path.iter().enumerate() {
        let missing = || Problem::message(format!("field {name:?} does not exist"));
        schema = told.fields(schema).and_then(|fields| fields.get(*name)).ok_or_else(missing)?;
        if index + 1 == path.len() {
            text.push_str(&format!("FIELD: {name} <{}>\n\n\n", told.type_of(schema)));
        }
    }
    let mut words = String::new();
    told.describe(schema, &mut words);
    let words = if words.is_empty() { "<empty>" } else { &words };
    text.push_str(&format!("DESCRIPTION:\n{}\n", indented(&wrapped(words, 76), 4)));
    if told.fields(schema).is_some() {
        text.push_str("FIELDS:\n");
        told.list(schema, 1, recursive, &mut Vec::new(), &mut text);
    }
    text.push('\n');
    Ok(text)
}

struct Document<'d> {
    schemas: &'d Map<String, Value>,
}

impl<'d> Document<'d> {
    /// Resolves a `$ref`; other schemas are returned unchanged.
    fn resolve(&self, schema: &'d Value) -> &'d Value {
        reference(schema).and_then(|name| self.schemas.get(name)).unwrap_or(schema)
    }

    /// Collects the descriptions of a schema and of those it consists of, a line each.
    fn describe(&self, schema: &'d Value, words: &mut String) {
        let schema = self.resolve(schema);
        if let Some(own) = schema.get("description").and_then(Value::as_str) {
            words.push_str(own);
            words.push('\n');
        }
        if let Some(inner) = within(schema) {
            self.describe(inner, words);
        }
    }

    /// Returns the fields of an object, of list items, or of map values.
    fn fields(&self, schema: &'d Value) -> Option<&'d Map<String, Value>> {
        self.owner(schema).get("properties").and_then(Value::as_object)
    }

    /// Returns the schema that has the fields.
    fn owner(&self, schema: &'d Value) -> &'d Value {
        let schema = self.resolve(schema);
        match within(schema) {
            Some(inner) => self.owner(inner),
            None => schema,
        }
    }

    fn type_of(&self, schema: &'d Value) -> String {
        if let Some(items) = schema.get("items") {
            return format!("[]{}", self.type_of(items));
        }
        if let Some(values) = schema.get("additionalProperties") {
            return format!("map[string]{}", self.type_of(values));
        }
        if let Some(one) = only(schema) {
            return self.type_of(one);
        }
        let said = self.resolve(schema).get("type").and_then(Value::as_str).unwrap_or("object");
        match (reference(schema), said) {
            (Some(name), "object") => name.rsplit('.').next().unwrap_or("Object").to_owned(),
            (_, "object") => "Object".to_owned(),
            (_, plain) => plain.to_owned(),
        }
    }

    fn list(
        &self,
        schema: &'d Value,
        level: usize,
        recursive: bool,
        seen: &mut Vec<*const Value>,
        text: &mut String,
    ) {
        let owner = self.owner(schema);
        // Recursive schemas are listed once.
        if seen.contains(&std::ptr::from_ref(owner)) {
            return;
        }
        seen.push(owner);
        let required = owner.get("required").and_then(Value::as_array);
        let mut fields: Vec<(&String, &Value)> = self.fields(schema).into_iter().flatten().collect();
        fields.sort_by_key(|(name, _)| *name);
        for (name, field) in fields {
            let indent = "  ".repeat(level);
            let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
            let mark = if is_required { " -required-" } else { "" };
            text.push_str(&format!("{indent}{name}\t<{}>{mark}\n", self.type_of(field)));
            if recursive {
                self.list(field, level + 1, recursive, seen, text);
            } else {
                let words = field.get("description").and_then(Value::as_str).unwrap_or("<no description>");
                let words = wrapped(words, 78 - 2 * level);
                text.push_str(&format!("{}\n\n", indented(&words, 2 * level + 2)));
            }
        }
        seen.pop();
    }
}

/// Returns the schema of list items, map values, or the only part of `allOf`.
fn within(schema: &Value) -> Option<&Value> {
    schema.get("items").or_else(|| schema.get("additionalProperties")).or_else(|| only(schema))
}

/// Returns the only entry of `allOf`, which wraps a reference that has siblings.
fn only(schema: &Value) -> Option<&Value> {
    schema.get("allOf").and_then(Value::as_array).and_then(|all| all.first())
}

/// Wraps a text into lines of at most `width` letters; longer words get their own line.
fn wrapped(text: &str, width: usize) -> String {
    let wrap = |line: &str| {
        let mut lines: Vec<String> = Vec::new();
        for word in line.split(' ') {
            match lines.last_mut() {
                Some(last) if last.chars().count() + 1 + word.chars().count() <= width => {
                    last.push(' ');
                    last.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines.join("\n")
    };
    text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
}

/// Indents all lines, also empty ones, as kubectl does.
fn indented(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    format!("{pad}{}", text.replace('\n', &format!("\n{pad}")))
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str).and_then(|text| text.rsplit('/').next())
}
