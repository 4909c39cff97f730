//! The extensions and repositories that the Tiltfile registers, by `v1alpha1.extension` and `v1alpha1.extension_repo`,
//! and the defaults.

use lilt_api::{
    API_VERSION, ApiContent, Extension, ExtensionRepo, ExtensionSpec, ObjectKey, ObjectKind, parse_content,
    sanitize_name,
};
use serde::de::DeserializeOwned;
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
    let registered_name = sanitize_name(name);
    if let Some((_, extension)) = of_kind::<Extension>(objects).find(|(name, _)| *name == registered_name) {
        let ExtensionSpec { repo_name, repo_path, .. } = extension.spec;
        return LoadedExtension { repository: repo_name, path: repo_path, name: registered_name };
    }
    let hosted = name.split_once('/').and_then(|(host, path)| {
        let (name, _) =
            of_kind::<ExtensionRepo>(objects).find(|(_, repository)| repository.spec.load_host == host)?;
        Some((name, path.to_owned()))
    });
    let (repository, path) = hosted.unwrap_or((DEFAULT_REPOSITORY.to_owned(), name.to_owned()));
    LoadedExtension { name: registered_name, repository, path }
}

/// Returns the registered repository, or else the official one.
pub(super) fn repository(objects: &[Value], name: &str) -> RepositorySpec {
    match of_kind::<ExtensionRepo>(objects).find(|(registered, _)| registered == name) {
        Some((_, repository)) => RepositorySpec {
            name: name.to_owned(),
            url: repository.spec.url,
            reference: repository.spec.reference,
            subpath: repository.spec.git_subpath,
        },
        None => {
            RepositorySpec { name: name.to_owned(), url: OFFICIAL.to_owned(), ..RepositorySpec::default() }
        }
    }
}

/// Marks the extensions that were loaded by the Tiltfile, as Tilt does: they are not run again as API objects.
pub(crate) fn note_loaded(declared: &mut Declarations) {
    for extension in std::mem::take(&mut declared.loaded_extensions) {
        let key = ObjectKey::new(ObjectKind::Extension, &extension.name);
        let known = |object: &&mut Value| ObjectKey::of(object).as_ref() == Some(&key);
        let annotation = ("tilt.dev/managed-by", "tiltfile.loader");
        match declared.api_objects.iter_mut().find(known) {
            Some(object) => object["metadata"]["annotations"][annotation.0] = json!(annotation.1),
            None => declared.api_objects.push(json!({
                "apiVersion": API_VERSION,
                "kind": ObjectKind::Extension.name(),
                "metadata": {"name": extension.name, "annotations": {annotation.0: annotation.1}},
                "spec": ExtensionSpec {
                    repo_name: extension.repository,
                    repo_path: extension.path,
                    args: Vec::new(),
                },
            })),
        }
    }
}

/// Returns the registered objects of a kind by name, the last one first: it wins.
fn of_kind<C: ApiContent + DeserializeOwned>(objects: &[Value]) -> impl Iterator<Item = (String, C)> {
    objects.iter().rev().filter_map(|object| {
        let key = ObjectKey::of(object).filter(|key| key.kind == C::KIND)?;
        // What is registered could be parsed when it was declared.
        Some((key.name, parse_content(object.as_object()?).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
