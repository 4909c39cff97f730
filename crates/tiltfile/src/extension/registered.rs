//! The extensions and repositories that the Tiltfile registers, by `v1alpha1.extension` and `v1alpha1.extension_repo`,
//! and the defaults.

use serde_json::{Value, json};

use super::repository::OFFICIAL;
use crate::declarations::{Declarations, LoadedExtension};

/// The repository of extensions that are not registered otherwise.
const DEFAULT_REPOSITORY: &str = "default";

/// The declaration of a repository of extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RepositorySpec {
    pub(super) name: String,
    pub(super) url: String,
    /// Empty: the newest.
    pub(super) reference: String,
    /// The folder in the repository that contains the extensions.
    pub(super) subpath: String,
}

/// Returns the registered extension, or else one of the repository whose load host the name begins with, or else one of
/// the default repository.
pub(super) fn extension(objects: &[Value], name: &str) -> LoadedExtension {
    let registered_name = object_name(name);
    if let Some(object) = of_kind(objects, "Extension").find(|object| is_named(object, &registered_name)) {
        return LoadedExtension {
            repository: spec(object, "repoName"),
            path: spec(object, "repoPath"),
            name: registered_name,
        };
    }
    let hosted = name.split_once('/').and_then(|(host, path)| {
        let object = of_kind(objects, "ExtensionRepo").find(|object| spec(object, "loadHost") == host)?;
        Some((text(object, "/metadata/name"), path.to_owned()))
    });
    let (repository, path) = hosted.unwrap_or((DEFAULT_REPOSITORY.to_owned(), name.to_owned()));
    LoadedExtension { name: registered_name, repository, path }
}

/// Returns the registered repository, or else the official one.
pub(super) fn repository(objects: &[Value], name: &str) -> RepositorySpec {
    match of_kind(objects, "ExtensionRepo").find(|object| is_named(object, name)) {
        Some(object) => RepositorySpec {
            name: name.to_owned(),
            url: spec(object, "url"),
            reference: spec(object, "ref"),
            subpath: spec(object, "gitSubpath"),
        },
        None => {
            RepositorySpec { name: name.to_owned(), url: OFFICIAL.to_owned(), ..RepositorySpec::default() }
        }
    }
}

/// Marks the extensions that were loaded by the Tiltfile, as Tilt does: they are not run again as API objects.
pub(crate) fn note_loaded(declared: &mut Declarations) {
    for extension in std::mem::take(&mut declared.loaded_extensions) {
        let known = |object: &&mut Value| {
            object.get("kind").and_then(Value::as_str) == Some("Extension")
                && is_named(object, &extension.name)
        };
        let annotation = ("tilt.dev/managed-by", "tiltfile.loader");
        match declared.api_objects.iter_mut().find(known) {
            Some(object) => object["metadata"]["annotations"][annotation.0] = json!(annotation.1),
            None => declared.api_objects.push(json!({
                "apiVersion": "tilt.dev/v1alpha1",
                "kind": "Extension",
                "metadata": {"name": extension.name, "annotations": {annotation.0: annotation.1}},
                "spec": {"repoName": extension.repository, "repoPath": extension.path},
            })),
        }
    }
}

/// Returns the objects of a kind, the last one first: it wins.
fn of_kind<'o>(objects: &'o [Value], kind: &'static str) -> impl Iterator<Item = &'o Value> {
    objects.iter().rev().filter(move |object| object.get("kind").and_then(Value::as_str) == Some(kind))
}

fn is_named(object: &Value, name: &str) -> bool {
    object.pointer("/metadata/name").and_then(Value::as_str) == Some(name)
}

fn spec(object: &Value, field: &str) -> String {
    text(object, &format!("/spec/{field}"))
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The name of an API object cannot hold every character that a path can.
fn object_name(name: &str) -> String {
    match name {
        "." => "_".to_owned(),
        ".." => "__".to_owned(),
        _ => name.replace(['/', '%'], "_"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_names_become_object_names() {
        assert_eq!(object_name("tests/golang"), "tests_golang");
        assert_eq!(object_name("a%b"), "a_b");
        assert_eq!(object_name(".."), "__");
        assert_eq!(object_name("cert_manager"), "cert_manager");
    }

    fn objects() -> Vec<Value> {
        vec![
            json!({"kind": "ExtensionRepo", "metadata": {"name": "team"},
                "spec": {"url": "file:///team", "loadHost": "internal"}}),
            json!({"kind": "Extension", "metadata": {"name": "nested_x"},
                "spec": {"repoName": "team", "repoPath": "y"}}),
        ]
    }

    fn found(name: &str) -> (String, String) {
        let extension = extension(&objects(), name);
        (extension.repository, extension.path)
    }

    #[test]
    fn extension_name_resolves_to_repository_and_path() {
        let pair = |repository: &str, path: &str| (repository.to_owned(), path.to_owned());
        assert_eq!(found("nested/x"), pair("team", "y"));
        assert_eq!(found("internal/a/b"), pair("team", "a/b"));
        assert_eq!(found("tests/golang"), pair("default", "tests/golang"));
        assert_eq!(found("internal"), pair("default", "internal"));
        assert_eq!(repository(&objects(), "team").url, "file:///team");
        assert_eq!(repository(&objects(), "default").url, OFFICIAL);
    }

    #[test]
    fn loaded_extension_is_recorded_once() {
        let mut declared = Declarations { api_objects: objects(), ..Declarations::default() };
        let loaded = |name| extension(&objects(), name);
        declared.loaded_extensions = vec![loaded("nested/x"), loaded("dotenv"), loaded("dotenv")];
        note_loaded(&mut declared);
        assert_eq!(declared.api_objects.len(), 3);
        for object in &declared.api_objects[1..] {
            assert_eq!(object["metadata"]["annotations"]["tilt.dev/managed-by"], "tiltfile.loader");
        }
    }
}
