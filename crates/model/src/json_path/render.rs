//! Renders the matches of an expression as text.

use serde_json::Value;

use super::{Match, Node, Walk, end_of_range, get, walk};

pub(super) fn render(list: &[Vec<Node>], value: Walk<'_>, current: &[Match]) -> Result<String, String> {
    let mut text = String::new();
    let mut index = 0;
    while index < list.len() {
        let block = &list[index];
        match block.first() {
            Some(Node::EndOfRange) => return Err("not in range, nothing to end".into()),
            Some(Node::Range) => {
                let end = end_of_range(list, index);
                for item in walk(&block[1..], value, current.to_vec())? {
                    text.push_str(&render(&list[index + 1..end], value, &[item])?);
                }
                index = end + 1;
            }
            _ => {
                let found = walk(block, value, current.to_vec())?;
                let values: Vec<String> =
                    found.iter().filter_map(|found| get(value.value, found)).map(format_value).collect();
                text.push_str(&values.join(" "));
                index += 1;
            }
        }
    }
    Ok(text)
}

/// Formats strings without quotes, everything else as JSON with sorted members.
fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Numbers in an expression are floats.
        Value::Number(number) => match number.as_f64() {
            Some(whole) if number.as_i64().is_none() && whole.fract() == 0.0 => format!("{whole:.0}"),
            _ => number.to_string(),
        },
        other => sorted(other).to_string(),
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::json_path::JsonPath;

    fn rendered(path: &str, lenient: bool) -> Result<String, String> {
        let value = json!({"items": [{"name": "a", "n": 1, "tags": ["x"]}, {"name": "b", "n": 2}]});
        JsonPath::parse(path)?.render(&value, lenient)
    }

    #[test]
    fn values_are_rendered_as_in_kubectl() {
        let cases = [
            ("{.items[*].name}", "a b"),
            ("names: {.items[*].name};", "names: a b;"),
            ("{.items[0].tags}{\"\\t\"}{.items[1].n}", "[\"x\"]\t2"),
            ("{range .items[*]}{.name}={.n}{'\\n'}{end}", "a=1\nb=2\n"),
            ("{.items[0]['name','n']}", "a 1"),
            ("{.items[1]}", "{\"n\":2,\"name\":\"b\"}"),
        ];
        for (path, text) in cases {
            assert_eq!(rendered(path, false).as_deref(), Ok(text), "{path}");
        }
    }

    #[test]
    fn missing_field_is_an_error_unless_lenient() {
        assert_eq!(rendered("{.absent}", false), Err("absent is not found".to_owned()));
        assert_eq!(rendered("[{.absent.more}]", true).as_deref(), Ok("[]"));
        assert_eq!(rendered("{range .absent[*]}x{end}", true).as_deref(), Ok(""));
    }
}
