//! Label and field selectors.

use serde_json::Value;

use super::failure::Failure;

/// What a list or a watch is limited to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    at: Place,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Label(String),
    /// Names on the way to a field.
    Field(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    There,
    NotThere,
    Greater(i64),
    Less(i64),
}

impl Selection {
    pub(crate) fn read(labels: Option<&str>, fields: Option<&str>) -> Result<Self, Failure> {
        let mut terms = Vec::new();
        for text in split(labels.unwrap_or_default()) {
            let wrong = || Failure::bad_request(format!("unable to parse label selector: {text:?}"));
            let (key, test) = label_term(text).ok_or_else(wrong)?;
            terms.push(Term { at: Place::Label(key), test });
        }
        for text in split(fields.unwrap_or_default()) {
            let wrong = || Failure::bad_request(format!("unable to parse field selector: {text:?}"));
            let (path, test) = equality(text).ok_or_else(wrong)?;
            terms.push(Term { at: Place::Field(path.split('.').map(str::to_owned).collect()), test });
        }
        Ok(Self { terms })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn takes(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| term.takes(object))
    }

    /// The same for an object as text; what is everything needs no reading.
    pub(crate) fn takes_text(&self, text: &str) -> bool {
        self.is_everything() || serde_json::from_str(text).is_ok_and(|object| self.takes(&object))
    }
}

impl Term {
    fn takes(&self, object: &Value) -> bool {
        let found = match &self.at {
            Place::Label(key) => {
                object.pointer("/metadata/labels").and_then(|labels| labels.get(key)).and_then(text_of)
            }
            Place::Field(path) => {
                let value = path.iter().try_fold(object, |value, name| value.get(name));
                // A field that is not there is like an empty one.
                Some(value.and_then(text_of).unwrap_or_default())
            }
        };
        let number = || found.as_deref().and_then(|text| text.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => found.is_some_and(|found| values.contains(&found)),
            Test::NotIn(values) => !found.is_some_and(|found| values.contains(&found)),
            Test::There => found.is_some(),
            Test::NotThere => found.is_none(),
            Test::Greater(limit) => number().is_some_and(|number| number > *limit),
            Test::Less(limit) => number().is_some_and(|number| number < *limit),
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

/// At commas that are not in parentheses.
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

fn label_term(text: &str) -> Option<(String, Test)> {
    if let Some(key) = text.strip_prefix('!') {
        return key_of(key).map(|key| (key, Test::NotThere));
    }
    if let Some(found) = equality(text) {
        return Some((key_of(&found.0)?, found.1));
    }
    for (sign, make) in [('>', Test::Greater as fn(i64) -> Test), ('<', Test::Less)] {
        if let Some((key, limit)) = text.split_once(sign) {
            return Some((key_of(key)?, make(limit.trim().parse().ok()?)));
        }
    }
    let Some((key, rest)) = text.split_once(char::is_whitespace) else {
        return key_of(text).map(|key| (key, Test::There));
    };
    let rest = rest.trim();
    let (negative, list) = match rest.strip_prefix("notin") {
        Some(list) => (true, list),
        None => (false, rest.strip_prefix("in")?),
    };
    let list = list.trim().strip_prefix('(')?.strip_suffix(')')?;
    let values = list.split(',').map(|value| value.trim().to_owned()).collect();
    Some((key_of(key)?, if negative { Test::NotIn(values) } else { Test::In(values) }))
}

fn key_of(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    (!text.is_empty() && text.chars().all(is_plain)).then(|| text.to_owned())
}

fn equality(text: &str) -> Option<(String, Test)> {
    let (key, value, negative) = if let Some((key, value)) = text.split_once("!=") {
        (key, value, true)
    } else if let Some((key, value)) = text.split_once("==") {
        (key, value, false)
    } else {
        let (key, value) = text.split_once('=')?;
        (key, value, false)
    };
    let values = vec![value.trim().to_owned()];
    Some((key.trim().to_owned(), if negative { Test::NotIn(values) } else { Test::In(values) }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn takes(labels: &str, fields: &str) -> bool {
        let object = json!({"metadata": {"name": "web", "labels": {"app": "shop", "tier": "2"}}, "status": {"queued": true}});
        Selection::read(Some(labels), Some(fields)).expect("a selector").takes(&object)
    }

    #[test]
    fn labels_are_selected_as_kubernetes_does() {
        for selector in
            ["", "app", "app=shop", "app==shop,tier=2", "app in (a, shop)", "app notin (a,b)", "!other"]
        {
            assert!(takes(selector, ""), "{selector}");
        }
        for selector in
            ["other", "app!=shop", "app in (a,b),tier=2", "app notin (shop)", "!app", "tier>2", "tier<2"]
        {
            assert!(!takes(selector, ""), "{selector}");
        }
        assert!(takes("other!=x", ""), "what is not there is not x");
        assert!(takes("tier>1", ""));
    }

    #[test]
    fn fields_are_selected_by_their_path() {
        assert!(takes("", "metadata.name=web,status.queued=true"));
        assert!(!takes("", "metadata.name!=web"));
        assert!(takes("", "metadata.namespace="));
    }

    #[test]
    fn nonsense_is_refused() {
        for selector in ["app in", "app in (a", "a b c", "=", "tier>x"] {
            assert!(Selection::read(Some(selector), None).is_err(), "{selector}");
        }
        assert!(Selection::read(None, Some("metadata.name")).is_err());
    }
}
