//! `-o custom-columns=NAME:.metadata.name,…`.

use lilt_model::json_path::JsonPath;
use serde_json::Value;

use super::rows::aligned;
use crate::problem::Problem;
use crate::template::printed;

#[derive(Debug)]
pub(crate) struct Columns {
    columns: Vec<(String, JsonPath)>,
    headers: bool,
}

impl Columns {
    pub(crate) fn read(text: &str, headers: bool) -> Result<Self, Problem> {
        if text.is_empty() {
            return Err(Problem::message("custom-columns format specified but no custom columns given"));
        }
        let column = |part: &str| {
            let wrong = || {
                Problem::message(format!(
                    "unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>"
                ))
            };
            let (head, path) = part.split_once(':').ok_or_else(wrong)?;
            Ok((head.to_owned(), parse_relaxed_path(path)?))
        };
        Ok(Self { columns: text.split(',').map(column).collect::<Result<_, Problem>>()?, headers })
    }

    /// Parses a file with headers in the first line and paths in the second.
    pub(crate) fn read_file(text: &str, headers: bool) -> Result<Self, Problem> {
        let mut lines = text.lines();
        let mut words = || lines.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>();
        let (names, paths) = (words(), words());
        if names.is_empty() || names.len() != paths.len() {
            let words = format!(
                "number of headers ({}) and field specifications ({}) don't match",
                names.len(),
                paths.len()
            );
            return Err(Problem::message(words));
        }
        let column = |(head, path): (&str, &str)| Ok((head.to_owned(), parse_relaxed_path(path)?));
        let columns = names.into_iter().zip(paths).map(column).collect::<Result<_, Problem>>()?;
        Ok(Self { columns, headers })
    }

    pub(crate) fn print(&self, objects: &[Value]) -> Result<String, Problem> {
        let headers = self.columns.iter().map(|(head, _)| head.clone()).collect();
        let mut rows: Vec<Vec<String>> = if self.headers { vec![headers] } else { Vec::new() };
        for object in objects {
            rows.push(self.columns.iter().map(|(_, path)| cell(object, path)).collect::<Result<_, _>>()?);
        }
        Ok(aligned(&rows))
    }
}

fn cell(object: &Value, path: &JsonPath) -> Result<String, Problem> {
    let found = path.values(object, true).map_err(Problem::message)?;
    let words = found.iter().map(|value| match value {
        Value::Null => "<nil>".to_owned(),
        other => printed(other),
    });
    let words: Vec<String> = words.collect();
    Ok(if words.is_empty() { "<none>".to_owned() } else { words.join(",") })
}

/// Parses kubectl's relaxed paths: `x.y`, `.x.y`, `{x.y}` and `{.x.y}` are the same.
pub(crate) fn parse_relaxed_path(text: &str) -> Result<JsonPath, Problem> {
    let bare = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or_else(|| unexpected(text))?,
        None => text,
    };
    if bare.is_empty() || bare.contains(['{', '}']) {
        return Err(unexpected(text));
    }
    let dot = if bare.starts_with(['.', '[', '$', '@']) { "" } else { "." };
    JsonPath::parse(&format!("{{{dot}{bare}}}"))
        .map_err(|error| Problem::message(format!("error parsing jsonpath {text}, {error}")))
}

fn unexpected(text: &str) -> Problem {
    Problem::message(format!(
        "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{{name1.name2}}' or '{{.name1.name2}}', not {text:?}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn relaxed_paths_are_accepted() {
        let value = json!({"a": {"b": 1}});
        for path in ["a.b", ".a.b", "{a.b}", "{.a.b}"] {
            let found = parse_relaxed_path(path).expect("a path").values(&value, true);
            assert_eq!(found, Ok(vec![json!(1)]), "{path}");
        }
        for path in ["", "{}", "{.a", "{.a}{.b}"] {
            assert!(parse_relaxed_path(path).is_err(), "{path}");
        }
    }

    #[test]
    fn column_file_has_headers_and_paths() {
        let columns = Columns::read_file("A   B\n.a.b .c\n", true).expect("columns");
        assert_eq!(columns.print(&[json!({"a": {"b": 1}})]).expect("a table"), "A     B\n1     <none>\n");
        assert!(Columns::read_file("A\n.a .b\n", true).is_err());
        assert!(Columns::read("A", true).is_err() && Columns::read("", true).is_err());
    }
}
