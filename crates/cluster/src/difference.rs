//! Computes the differences between an object in the cluster and what it would become.

use std::borrow::Cow;
use std::fmt;

use lilt_model::secret::Redactor;
use serde_json::Value;

/// Fields that the API server writes, or that nobody applies.
const NOT_COMPARED: &[&str] = &[
    "status",
    "metadata.managedFields",
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.creationTimestamp",
    "metadata.uid",
    "metadata.selfLink",
    "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
    "metadata.annotations.deployment.kubernetes.io/revision",
    "metadata.annotations.lilt.dev/deployed-by",
];
/// Longer values are truncated: ConfigMaps contain whole files.
const LONGEST: usize = 120;

/// One field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// For example `spec.template.spec.containers[web].image`.
    pub path: String,
    /// None if the field does not exist.
    pub before: Option<Value>,
    pub after: Option<Value>,
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(f, "{}: {} → {}", self.path, short(before), short(after)),
            (None, Some(after)) => write!(f, "{}: (none) → {}", self.path, short(after)),
            (Some(before), None) => write!(f, "{}: {} → (none)", self.path, short(before)),
            (None, None) => f.write_str(&self.path),
        }
    }
}

impl FieldChange {
    /// Redacts both values. Must be called before the change is formatted: a truncated value would not be recognized.
    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Self {
        // Formats values the way they are shown, for example lists of arguments as text.
        let redacted = |value: &Option<Value>| {
            value.as_ref().map(|value| {
                let text = text(value);
                match redactor.redact(&text) {
                    Cow::Owned(redacted) => Value::String(redacted),
                    Cow::Borrowed(_) => value.clone(),
                }
            })
        };
        Self { path: self.path.clone(), before: redacted(&self.before), after: redacted(&self.after) }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) if !text.contains('\n') => text.clone(),
        other => other.to_string(),
    }
}

fn short(value: &Value) -> String {
    let text = text(value);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the fields in which two versions of an object differ. Values of Secrets are redacted.
pub(crate) fn differences(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    compare(String::new(), Some(before), Some(after), &mut changes);
    if after["kind"] == "Secret" {
        changes.iter_mut().for_each(redact);
    }
    changes
}

fn redact(change: &mut FieldChange) {
    if !change.path.starts_with("data") && !change.path.starts_with("stringData") {
        return;
    }
    let (before, after) = match (change.before.is_some(), change.after.is_some()) {
        (true, true) => (Some("[redacted]"), Some("[redacted, other]")),
        (before, after) => (before.then_some("[redacted]"), after.then_some("[redacted]")),
    };
    (change.before, change.after) = (before.map(Value::from), after.map(Value::from));
}

fn compare(path: String, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<FieldChange>) {
    if before == after || NOT_COMPARED.contains(&path.as_str()) {
        return;
    }
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(path, old.get(key), new.get(key), changes);
            }
        }
        // Lists are compared by name only if every element has one in both versions.
        (Some(Value::Array(old)), Some(Value::Array(new))) if are_named(old) && are_named(new) => {
            let missing = |list: &[Value], one: &Value| list.iter().all(|other| other["name"] != one["name"]);
            let added = new.iter().filter(|one| missing(old, one));
            for element in old.iter().chain(added) {
                let named = |list: &'_ [Value]| -> Option<Value> {
                    list.iter().find(|other| other["name"] == element["name"]).cloned()
                };
                let path = format!("{path}[{}]", element["name"].as_str().unwrap_or_default());
                compare(path, named(old).as_ref(), named(new).as_ref(), changes);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                compare(format!("{path}[{at}]"), Some(old), Some(new), changes);
            }
        }
        _ => changes.push(FieldChange { path, before: before.cloned(), after: after.cloned() }),
    }
}

fn are_named(list: &[Value]) -> bool {
    let names = list.iter().map(|element| element.get("name").and_then(Value::as_str));
    let mut seen = Vec::new();
    !list.is_empty()
        && names.into_iter().all(|name| {
            name.is_some_and(|name| {
                !seen.contains(&name) && {
                    seen.push(name);
                    true
                }
            })
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_named_by_their_path() {
        let object = |image: &str, replicas: u32, extra: Value| {
            json!({"kind": "Deployment", "metadata": {"generation": replicas}, "status": {"x": replicas},
                "spec": {"replicas": replicas, "containers": [{"name": "web", "image": image}, extra], "list": [1, 2]}})
        };
        let before = object("a", 1, json!({"name": "old"}));
        let after = object("b", 2, json!({"name": "new"}));
        let lines: Vec<String> = differences(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "spec.replicas: 1 → 2",
                "spec.containers[web].image: a → b",
                "spec.containers[old]: {\"name\":\"old\"} → (none)",
                "spec.containers[new]: (none) → {\"name\":\"new\"}",
            ]
        );
        assert!(differences(&after, &after).is_empty());
    }

    #[test]
    fn values_are_redacted_before_they_are_shortened() {
        let secret = lilt_model::secret::Secret {
            name: "db".into(),
            key: "pw".into(),
            value: b"hunter2hunter2".to_vec(),
            encoded: "aHVudGVyMmh1bnRlcjI=".into(),
        };
        let redactor = Redactor::new(&[secret]);
        let value = |fill: usize| format!("{}hunter2hunter2{}", "x".repeat(fill), "x".repeat(200));
        let before = json!({"data": {"a": value(LONGEST - 7)}, "spec": {"args": [value(5)]}});
        let changes =
            differences(&before, &json!({"data": {"a": "b"}, "spec": {"args": ["-p", "hunter2hunter2"]}}));
        for change in &changes {
            let text = change.redacted(&redactor).to_string();
            assert!(!text.contains("hunter2") && text.contains("[redact"), "{text}");
        }
        assert_eq!(changes.len(), 2);
    }

    #[test]
    fn values_of_secrets_are_redacted() {
        let secret = |value: &str| json!({"kind": "Secret", "data": {"password": value, "user": "dQ=="}});
        let lines = differences(&secret("b2xk"), &secret("bmV3"));
        assert_eq!(lines[0].to_string(), "data.password: [redacted] → [redacted, other]");
        assert_eq!(lines.len(), 1);
    }
}
