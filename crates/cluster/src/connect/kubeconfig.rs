//! Reads and merges kubeconfig files as client-go's `clientcmd` does.
//!
//! kube's own reader refuses a whole file for one incomplete entry, and takes an empty path for the file's folder.
#![allow(clippy::disallowed_methods, reason = "the one place that reads kubeconfig files")]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use kube::config::{Kubeconfig, NamedContext};
use lilt_model::Failure;
use serde_json::{Map, Value};

/// The documents of one kubeconfig file.
#[derive(Debug)]
pub(super) struct KubeconfigFile {
    pub(super) path: PathBuf,
    pub(super) documents: Vec<Value>,
}

impl KubeconfigFile {
    /// Reads a file; none if it does not exist.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Unreadable> {
        let unreadable = |cause: String, error| Unreadable { path: path.to_owned(), cause, error };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error.to_string(), Some(error))),
        };
        let documents = lilt_model::kubeconfig::documents(&bytes).map_err(|cause| unreadable(cause, None))?;
        Ok(Some(Self { path: path.to_owned(), documents }))
    }

    /// Returns the folder that relative paths of the file start from.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// A kubeconfig file that exists and cannot be used.
#[derive(Debug)]
pub(super) struct Unreadable {
    path: PathBuf,
    cause: String,
    error: Option<io::Error>,
}

impl Unreadable {
    /// Returns the failure of a connection.
    fn into_failure(self) -> Failure {
        let failure = Failure::environment(format!("cannot read the kubeconfig {}", self.path.display()))
            .detail(&self.cause)
            .hint("set KUBECONFIG to a valid file, or fix this one");
        self.caused(failure)
    }

    /// Returns the failure of a Tiltfile's load, which has a detail and a hint of its own.
    pub(super) fn into_short_failure(self) -> Failure {
        let Self { path, cause, .. } = &self;
        let failure = Failure::environment(format!("cannot read the kubeconfig {}: {cause}", path.display()));
        self.caused(failure)
    }

    fn caused(&self, failure: Failure) -> Failure {
        match &self.error {
            Some(error) => failure.caused_by(error),
            None => failure,
        }
    }
}

/// Several kubeconfig files in one.
#[derive(Default)]
pub(super) struct Merged {
    pub(super) kubeconfig: Kubeconfig,
    pub(super) files: Vec<KubeconfigFile>,
    /// The file that has a user.
    pub(super) users: BTreeMap<String, PathBuf>,
}

impl Merged {
    /// Returns the context that is selected.
    pub(super) fn current(&self) -> Option<String> {
        self.kubeconfig.current_context.clone().filter(|name| !name.is_empty())
    }

    pub(super) fn context(&self, name: &str) -> Option<&NamedContext> {
        self.kubeconfig.contexts.iter().find(|known| known.name == name)
    }
}

/// Reads and merges the files: the first one that has an entry wins, and missing files are skipped.
///
/// Returns none if no file exists.
pub(super) fn read(paths: &[PathBuf]) -> Result<Option<Merged>, Failure> {
    let mut merged: Option<Merged> = None;
    for path in paths {
        let Some(file) = KubeconfigFile::read(path).map_err(Unreadable::into_failure)? else { continue };
        let unreadable = |cause| Unreadable { path: path.clone(), cause, error: None }.into_failure();
        let config = typed(&file).map_err(unreadable)?;
        let merged = merged.get_or_insert_default();
        for user in &config.auth_infos {
            merged.users.entry(user.name.clone()).or_insert_with(|| path.clone());
        }
        let earlier = std::mem::take(&mut merged.kubeconfig);
        merged.kubeconfig =
            earlier.merge(config).map_err(|error| unreadable(crate::error::causes(&error)))?;
        merged.files.push(file);
    }
    Ok(merged)
}

fn typed(file: &KubeconfigFile) -> Result<Kubeconfig, String> {
    let mut all = Kubeconfig::default();
    for document in &file.documents {
        let mut document = document.clone();
        complete(&mut document, file.folder());
        let config: Kubeconfig = serde_json::from_value(document).map_err(|error| error.to_string())?;
        all = all.merge(config).map_err(|error| crate::error::causes(&error))?;
    }
    Ok(all)
}

/// Drops what is empty, fills in what kube insists on, and makes paths absolute.
fn complete(document: &mut Value, folder: &Path) {
    drop_empty(document);
    for (list, entry) in [("clusters", "cluster"), ("users", "user"), ("contexts", "context")] {
        let entries = document.get_mut(list).and_then(Value::as_array_mut);
        for named in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
            named.entry("name").or_insert_with(|| "".into());
            let Some(fields) = named.get_mut(entry).and_then(Value::as_object_mut) else { continue };
            match list {
                "contexts" => {
                    fields.entry("cluster").or_insert_with(|| "".into());
                }
                "clusters" => resolve(fields, "certificate-authority", folder),
                _ => complete_user(fields, folder),
            }
        }
    }
}

fn complete_user(fields: &mut Map<String, Value>, folder: &Path) {
    for field in ["client-certificate", "client-key", "tokenFile"] {
        resolve(fields, field, folder);
    }
    if let Some(provider) = fields.get_mut("auth-provider").and_then(Value::as_object_mut) {
        provider.entry("name").or_insert_with(|| "".into());
    }
    // A bare name is searched for in PATH.
    if let Some(exec) = fields.get_mut("exec").and_then(Value::as_object_mut)
        && exec
            .get("command")
            .and_then(Value::as_str)
            .is_some_and(|it| it.contains(std::path::MAIN_SEPARATOR))
    {
        resolve(exec, "command", folder);
    }
}

fn resolve(fields: &mut Map<String, Value>, field: &str, folder: &Path) {
    if let Some(Value::String(path)) = fields.get_mut(field)
        && let Some(absolute) = folder.join(path.as_str()).to_str()
    {
        *path = absolute.to_owned();
    }
}

/// Drops nulls and empty strings, which mean "not set". Extensions belong to others and stay as they are.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null() && *value != "");
            for (_, value) in fields.iter_mut().filter(|(name, _)| *name != "extensions") {
                drop_empty(value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn parse(bytes: &[u8], folder: &Path) -> Result<Kubeconfig, String> {
        let documents = lilt_model::kubeconfig::documents(bytes)?;
        typed(&KubeconfigFile { path: folder.join("config"), documents })
    }

    #[test]
    fn first_file_wins_per_entry_and_for_the_current_context() {
        let folder = tempfile::tempdir().unwrap();
        let first = write(
            folder.path(),
            "first",
            "current-context: ''\nusers:\n- {name: u, user: {client-key: a.key, token: ''}}\n",
        );
        let second = write(
            folder.path(),
            "second",
            "current-context: two\nusers:\n- {name: u, user: {token: t}}\n- {name: v, user: {token: t}}\n",
        );
        let missing = folder.path().join("missing");
        let merged = read(&[missing, first.clone(), second.clone()]).unwrap().unwrap();
        assert_eq!(merged.current().as_deref(), Some("two"));
        assert_eq!(merged.users, BTreeMap::from([("u".to_owned(), first), ("v".to_owned(), second)]));
        let user = merged.kubeconfig.auth_infos[0].auth_info.as_ref().unwrap();
        assert!(user.token.is_none(), "the second file adds nothing to an entry of the first");
        assert_eq!(user.client_key.as_deref(), folder.path().join("a.key").to_str());
    }

    #[test]
    fn incomplete_entries_do_not_make_a_file_unreadable() {
        let text = "clusters:\n- {name: c, cluster: {server: 'https://x', certificate-authority: ''}}\n\
            contexts:\n- {name: a, context: {user: u}}\n- {name: b}\n- {context: {cluster: null}}\n\
            users:\n- {name: u, user: {client-certificate: '', exec: {command: ./login, interactiveMode: ''}}}\n";
        let config = parse(text.as_bytes(), Path::new("/home/me")).unwrap();
        assert_eq!(config.contexts.len(), 3);
        assert_eq!(config.clusters[0].cluster.as_ref().unwrap().certificate_authority, None);
        let user = config.auth_infos[0].auth_info.as_ref().unwrap();
        assert_eq!(user.client_certificate, None);
        assert_eq!(user.exec.as_ref().unwrap().command.as_deref(), Some("/home/me/./login"));
        assert!(parse(b"", Path::new("/")).is_ok_and(|config| config.contexts.is_empty()));
        let wide: Vec<u8> = "\u{feff}current-context: w".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(parse(&wide, Path::new("/")).unwrap().current_context.as_deref(), Some("w"));
    }
}
