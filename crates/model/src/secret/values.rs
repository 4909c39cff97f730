//! Redacts the values of structured data and leaves its structure: names, paths, keys, images.
//!
//! A Deployment named `postgres` keeps its name where a Secret has the value `postgres`.

use serde_json::Value;

use super::Redactor;
use crate::yaml;

/// What a field holds, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// Names or paths. Objects within are examined field by field.
    Structure,
    /// Labels and what selects by them: all of it is structure.
    Labels,
    /// A map from keys that users choose: all of it is values.
    Data,
    /// A text of YAML documents.
    Yaml,
    Value,
}

/// Redacts `value`, which stands in a field of this name (empty if in none).
pub fn redact_values(field: &str, value: Value, redactor: &Redactor) -> Value {
    redact(value, field_kind(field), redactor)
}

fn redact(value: Value, kind: FieldKind, redactor: &Redactor) -> Value {
    match value {
        _ if kind == FieldKind::Labels => value,
        Value::String(text) => Value::String(redact_text(text, kind, redactor)),
        Value::Array(items) => items.into_iter().map(|item| redact(item, kind, redactor)).collect(),
        Value::Object(fields) => {
            let kind_of = |name: &str| if kind == FieldKind::Data { kind } else { field_kind(name) };
            let redacted = |(name, value): (String, Value)| {
                let value = redact(value, kind_of(&name), redactor);
                (name, value)
            };
            Value::Object(fields.into_iter().map(redacted).collect())
        }
        other => other,
    }
}

fn redact_text(text: String, kind: FieldKind, redactor: &Redactor) -> String {
    match kind {
        // A query of a URL's path has values.
        FieldKind::Structure if !text.contains('?') => text,
        FieldKind::Yaml => redact_yaml(text, redactor),
        _ => redactor.redact(&text).into_owned(),
    }
}

/// Redacts the values in a text of YAML documents; everything in a text that is not YAML.
fn redact_yaml(text: String, redactor: &Redactor) -> String {
    let redacted = redactor.redact(&text);
    if redacted == text {
        return text;
    }
    let encode = |document: Value| yaml::encode(&redact(document, FieldKind::Value, redactor));
    let documents = yaml::documents(&text).and_then(|documents| {
        let objects = documents.iter().all(Value::is_object);
        let documents: Result<Vec<_>, _> = documents.into_iter().filter(|_| objects).map(encode).collect();
        documents.map(|documents| documents.join("\n---\n"))
    });
    documents.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| redacted.into_owned())
}

fn field_kind(name: &str) -> FieldKind {
    const STRUCTURE: [&str; 26] = [
        "apigroups",
        "apiversion",
        "cluster",
        "configfiles",
        "context",
        "deps",
        "dockerfile",
        "enabledmanifests",
        "extratags",
        "ignorecontainers",
        "imagemaps",
        "key",
        "kind",
        "patterns",
        "protocol",
        "resourcedependencies",
        "resources",
        "scheme",
        "service",
        "source",
        "sourcetiltfile",
        "suppressunusedimagewarnings",
        "target",
        "type",
        "verbs",
        "workdir",
    ];
    const STRUCTURE_ENDINGS: [&str; 12] = [
        "dir",
        "host",
        "hosts",
        "image",
        "images",
        "name",
        "names",
        "namespace",
        "namespaces",
        "path",
        "paths",
        "ref",
    ];
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "labels" | "matchlabels" | "matchexpressions" | "selectors" => FieldKind::Labels,
        name if name.ends_with("selector") => FieldKind::Labels,
        "data" | "stringdata" | "binarydata" | "annotations" | "environment" => FieldKind::Data,
        "yaml" | "serviceyaml" => FieldKind::Yaml,
        name if STRUCTURE.contains(&name) => FieldKind::Structure,
        name if STRUCTURE_ENDINGS.iter().any(|ending| name.ends_with(ending)) => FieldKind::Structure,
        _ => FieldKind::Value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::secret::Secret;

    const REDACTED: &str = "[redacted secret db:user]";

    fn redactor() -> Redactor {
        let secret = Secret {
            name: "db".into(),
            key: "user".into(),
            value: "postgres".into(),
            encoded: "cG9zdGdyZXM=".into(),
        };
        Redactor::new(&[secret])
    }

    fn redacted(value: Value) -> Value {
        redact_values("", value, &redactor())
    }

    #[test]
    fn structure_of_objects_stays() {
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "postgres", "namespace": "postgres", "labels": {"app": "postgres"}},
            "spec": {
                "serviceName": "postgres",
                "selector": {"matchLabels": {"app": "postgres"}},
                "containers": [{
                    "name": "postgres",
                    "image": "postgres",
                    "volumeMounts": [{"name": "postgres", "mountPath": "/var/postgres"}],
                    "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "db", "key": "postgres"}}}],
                }],
            },
        });
        assert_eq!(redacted(object.clone()), object);
        let service =
            json!({"spec": {"selector": {"app": "postgres"}, "ports": [{"targetPort": "postgres"}]}});
        assert_eq!(redacted(service.clone())["spec"]["selector"], service["spec"]["selector"]);
    }

    #[test]
    fn values_of_objects_are_redacted() {
        let cases = [
            json!({"kind": "Secret", "stringData": {"name": "postgres"}}),
            json!({"kind": "Secret", "data": {"path": "cG9zdGdyZXM="}}),
            json!({"kind": "ConfigMap", "data": {"x": "user=postgres"}}),
            json!({"metadata": {"annotations": {"path": "postgres"}}}),
            json!({"env": [{"name": "X", "value": "postgres"}]}),
            json!({"args": ["-U", "postgres"], "command": "psql -U postgres"}),
            json!({"httpGet": {"path": "/health?user=postgres"}}),
            json!({"environment": {"name": "postgres"}}),
        ];
        for case in cases {
            let text = redacted(case.clone()).to_string();
            assert!(text.contains(REDACTED) && !text.contains("postgres"), "{case}: {text}");
        }
    }

    #[test]
    fn keys_are_never_redacted() {
        let object = json!({"data": {"postgres": "x"}, "postgres": {"postgres": 1}});
        assert_eq!(redacted(object.clone()), object);
    }

    #[test]
    fn values_in_yaml_texts_are_redacted() {
        let text = "kind: A\nmetadata:\n  name: postgres\n\n---\nargs:\n- postgres\n";
        let expected = format!("kind: A\nmetadata:\n  name: postgres\n\n---\nargs:\n- '{REDACTED}'\n");
        let read = |text: &str| yaml::documents(text);
        let found = redacted(json!({"yaml": text}));
        assert_eq!(read(found["yaml"].as_str().unwrap()), read(&expected));
        // Not changed at all without a secret in it.
        let untouched = json!({"yaml": "b: 1\na: 2"});
        assert_eq!(redacted(untouched.clone()), untouched);
        // No YAML: better too much than too little.
        let broken = json!({"yaml": "a: b: postgres"});
        assert_eq!(redacted(broken)["yaml"], format!("a: b: {REDACTED}"));
        assert_eq!(redacted(json!({"yaml": "postgres"}))["yaml"], REDACTED);
    }
}
