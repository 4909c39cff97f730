//! Redacts the values in structured data and keeps its structure: names, paths, keys, images.
//!
//! A Deployment named `postgres` keeps its name even if a Secret has the value `postgres`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Redactor;
use crate::annotation;
use crate::yaml;

/// What a field contains, inferred from its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// Names or paths. Objects in it are examined field by field.
    Structure,
    /// Labels and selectors: all of it is structure.
    Labels,
    /// A map with keys that users choose: all of it is values.
    Data,
    /// YAML documents as text.
    Yaml,
    Dockerfile,
    Value,
}

/// Redacts `value`, the value of the field `field` (empty if it is in no field).
pub fn redact_values(field: &str, value: Value, redactor: &Redactor) -> Value {
    if redactor.is_empty() {
        return value;
    }
    redact(value, field_kind(field), redactor, Structure::default())
}

/// What is structure in some data, in addition to the general rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Structure<'a> {
    /// Names of fields, in lower case and without underscores.
    pub fields: &'a [&'a str],
    /// Texts that are names wherever they are the whole value.
    pub names: Option<&'a BTreeSet<String>>,
}

/// Redacts `value` and keeps the given structure, too.
pub fn redact_values_except(structure: Structure<'_>, value: Value, redactor: &Redactor) -> Value {
    redact(value, FieldKind::Value, redactor, structure)
}

fn redact(value: Value, kind: FieldKind, redactor: &Redactor, structure: Structure<'_>) -> Value {
    match value {
        _ if kind == FieldKind::Labels => value,
        Value::String(text) if structure.names.is_some_and(|names| names.contains(&text)) => {
            Value::String(text)
        }
        Value::String(text) => Value::String(redact_text(text, kind, redactor)),
        Value::Array(items) => {
            items.into_iter().map(|item| redact(item, kind, redactor, structure)).collect()
        }
        Value::Object(fields) => {
            let kind_of = |name: &str| match kind {
                FieldKind::Data if annotation::is_reference(name) => FieldKind::Labels,
                FieldKind::Data => FieldKind::Data,
                _ if structure.fields.contains(&normalized(name).as_str()) => FieldKind::Structure,
                _ => field_kind(name),
            };
            let redacted = |(name, value): (String, Value)| {
                let value = redact(value, kind_of(&name), redactor, structure);
                (name, value)
            };
            Value::Object(fields.into_iter().map(redacted).collect())
        }
        other => other,
    }
}

fn redact_text(text: String, kind: FieldKind, redactor: &Redactor) -> String {
    match kind {
        // The query of a URL contains values.
        FieldKind::Structure if !text.contains('?') => text,
        FieldKind::Yaml => redact_yaml(text, redactor),
        FieldKind::Dockerfile => redact_dockerfile(text, redactor),
        _ => redactor.redact(&text).into_owned(),
    }
}

/// Redacts the values in YAML documents. In a text that is not YAML, redacts everything.
fn redact_yaml(text: String, redactor: &Redactor) -> String {
    let redacted = redactor.redact(&text);
    if redacted == text {
        return text;
    }
    let encode =
        |document: Value| yaml::encode(&redact(document, FieldKind::Value, redactor, Structure::default()));
    let documents = yaml::documents(&text).and_then(|documents| {
        let objects = documents.iter().all(Value::is_object);
        let documents: Result<Vec<_>, _> = documents.into_iter().filter(|_| objects).map(encode).collect();
        documents.map(|documents| documents.join("\n---\n"))
    });
    documents.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| redacted.into_owned())
}

/// Redacts a Dockerfile except for instructions that name images and paths.
fn redact_dockerfile(text: String, redactor: &Redactor) -> String {
    const STRUCTURE: [&str; 6] = ["from", "copy", "workdir", "expose", "volume", "user"];
    let is_structure = |line: &str| {
        let word = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        STRUCTURE.contains(&word.as_str()) && !line.trim_end().ends_with('\\')
    };
    if redactor.redact(&text) == text {
        return text;
    }
    let mut redacted = String::with_capacity(text.len());
    // Lines between two such instructions are redacted together: a value may have several lines.
    let mut between = String::new();
    for line in text.split_inclusive('\n') {
        if is_structure(line) {
            redacted.push_str(&redactor.redact(&std::mem::take(&mut between)));
            redacted.push_str(line);
        } else {
            between.push_str(line);
        }
    }
    redacted.push_str(&redactor.redact(&between));
    redacted
}

/// Normalizes a field's name: `resource_deps` and `resourceDeps` are the same.
fn normalized(name: &str) -> String {
    name.chars().filter(|letter| *letter != '_').map(|letter| letter.to_ascii_lowercase()).collect()
}

fn field_kind(name: &str) -> FieldKind {
    const STRUCTURE: [&str; 69] = [
        "aliases",
        "ancestoruid",
        "apigroups",
        "apiversion",
        "cachefrom",
        "categories",
        "cluster",
        "componentid",
        "configfiles",
        "configs",
        "container",
        "containerid",
        "context",
        "dependson",
        "deps",
        "directory",
        "discoverystrategy",
        "dockerfile",
        "enabledmanifests",
        "envfile",
        "expose",
        "extratags",
        "filewatch",
        "filewatches",
        "group",
        "hold",
        "ignorecontainers",
        "imagemap",
        "imagemaps",
        "key",
        "kind",
        "links",
        "listkind",
        "network",
        "networks",
        "outputsimagerefto",
        "outputtag",
        "patterns",
        "platform",
        "plural",
        "pod",
        "port",
        "ports",
        "profiles",
        "protocol",
        "repofield",
        "required",
        "resource",
        "resourcedependencies",
        "resources",
        "resourceversion",
        "scheme",
        "service",
        "serviceaccount",
        "singular",
        "source",
        "sourcetiltfile",
        "spanid",
        "suppressunusedimagewarnings",
        "tagfield",
        "target",
        "targetport",
        "topologykey",
        "type",
        "uibuttons",
        "uid",
        "verbs",
        "volumes",
        "workdir",
    ];
    const STRUCTURE_ENDINGS: [&str; 13] = [
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
        "regexp",
    ];
    let name = normalized(name);
    match name.as_str() {
        "labels" | "matchlabels" | "matchexpressions" | "selectors" => FieldKind::Labels,
        name if name.ends_with("selector") => FieldKind::Labels,
        "data" | "stringdata" | "binarydata" | "annotations" | "environment" => FieldKind::Data,
        "yaml" | "serviceyaml" => FieldKind::Yaml,
        "dockerfilecontents" => FieldKind::Dockerfile,
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
        let others = [
            json!({"spec": {"selector": {"app": "postgres"}, "ports": [{"port": 5432, "targetPort": "postgres"}]}}),
            json!({"livenessProbe": {"httpGet": {"port": "postgres"}}, "serviceAccount": "postgres"}),
            json!({"topologySpreadConstraints": [{"topologyKey": "postgres"}]}),
            json!({"spec": {
                "group": "postgres",
                "names": {"plural": "postgres", "singular": "postgres", "shortNames": ["postgres"], "listKind": "postgres"},
                "schema": {"openAPIV3Schema": {"required": ["postgres"]}},
            }}),
            json!({"services": {"postgres": {
                "env_file": ["postgres"],
                "container_name": "postgres",
                "depends_on": ["postgres"],
                "networks": {"postgres": {"aliases": ["postgres"]}},
                "volumes": ["postgres:/data"],
            }}}),
            json!({"location": {"componentID": "postgres"}, "uiButtons": ["postgres"], "pod": "postgres"}),
        ];
        for other in others {
            assert_eq!(redacted(other.clone()), other);
        }
    }

    #[test]
    fn dockerfiles_keep_their_images_and_paths() {
        let text = "FROM postgres AS postgres\nENV PGUSER=postgres\nCOPY --from=postgres /postgres /\nRUN psql -U postgres\n";
        let expected = text
            .replace("PGUSER=postgres", &format!("PGUSER={REDACTED}"))
            .replace("-U postgres", &format!("-U {REDACTED}"));
        assert_eq!(redacted(json!({"dockerfileContents": text})), json!({"dockerfileContents": expected}));
    }

    #[test]
    fn further_fields_and_names_can_be_structure() {
        let names = BTreeSet::from(["postgres".to_owned()]);
        let value = json!({"x": "postgres", "y": "my postgres", "container_id": "my postgres"});
        let structure = Structure { fields: &["containerid"], names: Some(&names) };
        let expected = json!({"x": "postgres", "y": format!("my {REDACTED}"), "container_id": "my postgres"});
        assert_eq!(redact_values_except(structure, value, &redactor()), expected);
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
    fn references_between_objects_stay() {
        let object = json!({
            "metadata": {"uid": "postgres", "resourceVersion": "postgres", "ownerReferences": [{"uid": "postgres"}]},
            "spec": {"location": {"componentID": "postgres"}, "podName": "postgres", "container": "postgres"},
            "status": {"spanID": "postgres", "containerID": "postgres", "ancestorUID": "postgres"},
            "resource": "postgres",
            "annotations": {annotation::RESOURCE_DEPS: "[\"postgres\"]"},
        });
        assert_eq!(redacted(object.clone()), object);
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
        // Unchanged without a secret in it.
        let untouched = json!({"yaml": "b: 1\na: 2"});
        assert_eq!(redacted(untouched.clone()), untouched);
        // Not YAML: everything is redacted.
        let broken = json!({"yaml": "a: b: postgres"});
        assert_eq!(redacted(broken)["yaml"], format!("a: b: {REDACTED}"));
        assert_eq!(redacted(json!({"yaml": "postgres"}))["yaml"], REDACTED);
    }
}
