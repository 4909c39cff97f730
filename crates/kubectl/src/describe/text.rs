//! Formats an object as indented lines.

use serde_json::{Map, Value};

use crate::printers::paired;

/// Metadata that is printed at the top, or omitted.
const OMITTED_METADATA: [&str; 5] = ["managedFields", "name", "namespace", "labels", "annotations"];

pub(super) fn describe(object: &Value) -> String {
    let metadata = object.get("metadata").and_then(Value::as_object);
    let name = metadata.and_then(|metadata| metadata.get("name")).and_then(Value::as_str).unwrap_or_default();
    let mut lines = Lines::default();
    lines.pair(0, "Name", name);
    lines.pair(0, "Namespace", "");
    lines.map("Labels", metadata.and_then(|it| it.get("labels")), "=");
    lines.map("Annotations", metadata.and_then(|it| it.get("annotations")), ": ");
    let empty = Map::new();
    lines.members(0, object.as_object().unwrap_or(&empty), true);
    lines.text()
}

/// Collects lines, and aligns the values of consecutive pairs.
#[derive(Default)]
struct Lines {
    done: String,
    pairs: Vec<Vec<String>>,
}

impl Lines {
    fn pair(&mut self, level: usize, label: &str, value: &str) {
        let mut lines = value.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        self.pairs.push(vec![format!("{}{label}:", "  ".repeat(level)), first]);
        self.pairs.extend(lines.map(|line| vec!["  ".repeat(level), line.to_owned()]));
    }

    fn line(&mut self, level: usize, text: &str) {
        let pairs = std::mem::take(&mut self.pairs);
        self.done.push_str(&rows(&pairs));
        self.done.push_str(&format!("{}{text}\n", "  ".repeat(level)));
    }

    fn text(mut self) -> String {
        self.done.push_str(&rows(&self.pairs));
        self.done
    }

    /// Prints the entries of a map, one per line.
    fn map(&mut self, label: &str, map: Option<&Value>, between: &str) {
        let members = map.and_then(Value::as_object);
        let mut words: Vec<String> = members
            .into_iter()
            .flatten()
            .map(|(name, value)| format!("{name}{between}{}", value.as_str().unwrap_or_default().trim_end()))
            .collect();
        words.sort();
        let words = if words.is_empty() { "<none>".to_owned() } else { words.join("\n") };
        self.pair(0, label, &words);
    }

    fn members(&mut self, level: usize, members: &Map<String, Value>, is_top: bool) {
        let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
        sorted.sort_by_key(|(name, _)| *name);
        for (name, value) in sorted {
            match value {
                Value::Object(inner) => {
                    self.line(level, &format!("{}:", label(name)));
                    if is_top && name == "metadata" {
                        let shown =
                            |(name, _): &(&String, &Value)| !OMITTED_METADATA.contains(&name.as_str());
                        let inner =
                            inner.iter().filter(shown).map(|(name, value)| (name.clone(), value.clone()));
                        self.members(level + 1, &inner.collect(), false);
                    } else {
                        self.members(level + 1, inner, false);
                    }
                }
                Value::Array(items) => {
                    self.line(level, &format!("{}:", label(name)));
                    self.items(level + 1, items);
                }
                plain => self.pair(level, &label(name), &words(plain)),
            }
        }
    }

    fn items(&mut self, level: usize, items: &[Value]) {
        for item in items {
            match item {
                Value::Object(members) => self.members(level, members, false),
                plain => self.line(level, &words(plain)),
            }
        }
    }
}

fn rows(pairs: &[Vec<String>]) -> String {
    paired(pairs).lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// Turns `lastClickedAt` into `Last Clicked At`; abbreviations stay together.
fn label(name: &str) -> String {
    let mut words: Vec<String> = vec![String::new()];
    let letters: Vec<char> = name.chars().collect();
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| letters.get(index));
        let after = letters.get(index + 1);
        let begins = letter.is_uppercase()
            && (before.is_some_and(|before| !before.is_uppercase())
                || (before.is_some() && after.is_some_and(|after| after.is_lowercase())));
        if begins {
            words.push(String::new());
        }
        words.last_mut().expect("invariant: there is one from the beginning").push(*letter);
    }
    let upper = ["api", "url", "uid", "osb", "guid"];
    let word = |word: &String| {
        if upper.contains(&word.to_lowercase().as_str()) {
            return word.to_uppercase();
        }
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_described_like_kubectl() {
        let object = json!({
            "apiVersion": "tilt.dev/v1alpha1", "kind": "UIButton",
            "metadata": {"name": "restart", "uid": "u", "labels": {"b": "2", "a": "1"}, "managedFields": [{"x": 1}],
                         "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"text": "Restart", "location": {"componentID": "web", "componentType": "Resource"},
                     "inputs": [{"name": "n"}, {"name": "m", "hidden": null}], "args": ["a", 2], "requiresConfirmation": true},
        });
        insta::assert_snapshot!(describe(&object));
    }

    #[test]
    fn field_names_become_labels() {
        for (name, words) in [
            ("apiVersion", "API Version"),
            ("componentID", "Component ID"),
            ("lastClickedAt", "Last Clicked At"),
            ("podUID", "Pod UID"),
            ("HTTPGet", "HTTP Get"),
            ("url", "URL"),
            ("id", "Id"),
        ] {
            assert_eq!(label(name), words);
        }
    }
}
