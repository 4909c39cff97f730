//! How snapshots show a project.

use serde_json::Value;

/// Enough YAML to read a project by; scalars are JSON's.
pub(crate) fn yaml(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let nested = |value: &Value| match value {
        Value::Object(fields) if !fields.is_empty() => format!("\n{}", yaml(value, depth + 1)),
        Value::Array(items) if items.iter().any(|item| item.is_object()) => {
            format!("\n{}", yaml(value, depth + 1))
        }
        short => format!(" {short}"),
    };
    let lines: Vec<String> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{indent}{key}:{}", nested(value))).collect()
        }
        Value::Array(items) => {
            items.iter().map(|item| format!("{indent}- {}", yaml(item, depth + 1).trim_start())).collect()
        }
        scalar => vec![format!("{indent}{scalar}")],
    };
    lines.join("\n")
}
