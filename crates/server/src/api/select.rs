//! Label and field selectors.

use serde_json::Value;

use super::status_error::StatusError;

/// Limits a list or a watch to objects that match all of its terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: SelectedField,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SelectedField {
    Label(String),
    /// The names on the path of the field.
    Path(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

impl Selector {
    pub(crate) fn parse(labels: Option<&str>, fields: Option<&str>) -> Result<Self, StatusError> {
        let mut terms = Vec::new();
        for text in split(labels.unwrap_or_default()) {
            let invalid = || StatusError::bad_request(format!("unable to parse label selector: {text:?}"));
            let (key, operator) = parse_label_term(text).ok_or_else(invalid)?;
            terms.push(Term { field: SelectedField::Label(key), operator });
        }
        for text in split(fields.unwrap_or_default()) {
            let invalid = || StatusError::bad_request(format!("unable to parse field selector: {text:?}"));
            let (path, operator) = parse_equality(text).ok_or_else(invalid)?;
            terms.push(Term {
                field: SelectedField::Path(path.split('.').map(str::to_owned).collect()),
                operator,
            });
        }
        Ok(Self { terms })
    }

    pub(crate) fn selects_everything(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| term.matches(object))
    }

    /// Returns whether an object, given as JSON, matches. Without terms it is not parsed.
    pub(crate) fn matches_text(&self, text: &str) -> bool {
        self.selects_everything() || serde_json::from_str(text).is_ok_and(|object| self.matches(&object))
    }
}

impl Term {
    fn matches(&self, object: &Value) -> bool {
        let found = match &self.field {
            SelectedField::Label(key) => {
                object.pointer("/metadata/labels").and_then(|labels| labels.get(key)).and_then(text_of)
            }
            SelectedField::Path(path) => {
                let value = path.iter().try_fold(object, |value, name| value.get(name));
                // A missing field is equivalent to an empty one.
                Some(value.and_then(text_of).unwrap_or_default())
            }
        };
        let number = || found.as_deref().and_then(|text| text.parse::<i64>().ok());
        match &self.operator {
            Operator::In(values) => found.is_some_and(|found| values.contains(&found)),
            Operator::NotIn(values) => !found.is_some_and(|found| values.contains(&found)),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
            Operator::GreaterThan(limit) => number().is_some_and(|number| number > *limit),
            Operator::LessThan(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|term| !term.is_empty())
    .collect()
}

fn parse_label_term(text: &str) -> Option<(String, Operator)> {
    if let Some(key) = text.strip_prefix('!') {
        return parse_key(key).map(|key| (key, Operator::DoesNotExist));
    }
    if let Some(found) = parse_equality(text) {
        return Some((parse_key(&found.0)?, found.1));
    }
    for (sign, make) in [('>', Operator::GreaterThan as fn(i64) -> Operator), ('<', Operator::LessThan)] {
        if let Some((key, limit)) = text.split_once(sign) {
            return Some((parse_key(key)?, make(limit.trim().parse().ok()?)));
        }
    }
    let Some((key, rest)) = text.split_once(char::is_whitespace) else {
        return parse_key(text).map(|key| (key, Operator::Exists));
    };
    let rest = rest.trim();
    let (negative, list) = match rest.strip_prefix("notin") {
        Some(list) => (true, list),
        None => (false, rest.strip_prefix("in")?),
    };
    let list = list.trim().strip_prefix('(')?.strip_suffix(')')?;
    let values = list.split(',').map(|value| value.trim().to_owned()).collect();
    Some((parse_key(key)?, if negative { Operator::NotIn(values) } else { Operator::In(values) }))
}

fn parse_key(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    (!text.is_empty() && text.chars().all(is_plain)).then(|| text.to_owned())
}

fn parse_equality(text: &str) -> Option<(String, Operator)> {
    let (key, value, negative) = if let Some((key, value)) = text.split_once("!=") {
        (key, value, true)
    } else if let Some((key, value)) = text.split_once("==") {
        (key, value, false)
    } else {
        let (key, value) = text.split_once('=')?;
        (key, value, false)
    };
    let values = vec![value.trim().to_owned()];
    Some((key.trim().to_owned(), if negative { Operator::NotIn(values) } else { Operator::In(values) }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(labels: &str, fields: &str) -> bool {
        let object = json!({"metadata": {"name": "web", "labels": {"app": "shop", "tier": "2"}}, "status": {"queued": true}});
        Selector::parse(Some(labels), Some(fields)).expect("a selector").matches(&object)
    }

    #[test]
    fn labels_are_selected_as_kubernetes_does() {
        for selector in
            ["", "app", "app=shop", "app==shop,tier=2", "app in (a, shop)", "app notin (a,b)", "!other"]
        {
            assert!(matches(selector, ""), "{selector}");
        }
        for selector in
            ["other", "app!=shop", "app in (a,b),tier=2", "app notin (shop)", "!app", "tier>2", "tier<2"]
        {
            assert!(!matches(selector, ""), "{selector}");
        }
        assert!(matches("other!=x", ""), "what is not there is not x");
        assert!(matches("tier>1", ""));
    }

    #[test]
    fn fields_are_selected_by_their_path() {
        assert!(matches("", "metadata.name=web,status.queued=true"));
        assert!(!matches("", "metadata.name!=web"));
        assert!(matches("", "metadata.namespace="));
    }

    #[test]
    fn invalid_selectors_are_refused() {
        for selector in ["app in", "app in (a", "a b c", "=", "tier>x"] {
            assert!(Selector::parse(Some(selector), None).is_err(), "{selector}");
        }
        assert!(Selector::parse(None, Some("metadata.name")).is_err());
    }
}
