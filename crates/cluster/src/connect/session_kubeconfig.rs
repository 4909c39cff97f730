//! Writes the kubeconfig file of a session: its context alone, for the session's commands.
//!
//! Commands must talk to the cluster of the session, even if the user switches contexts meanwhile.
#![allow(clippy::disallowed_methods, reason = "the one place that writes the session's kubeconfig")]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lilt_model::cluster::KubeContext;
use lilt_model::{Failure, yaml};
use serde_json::{Map, Value, json};

use super::context::{context_of, entries_named};
use super::kubeconfig::KubeconfigFile;

/// Its file name in the session's folder.
const FILE: &str = "kubeconfig.yml";

/// The kubeconfig of a session's commands, with one context. Written when the first command needs it.
///
/// A session that deploys nothing never reads the user's kubeconfig. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct SessionKubeconfig(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// The folder of the file; none: commands use the user's kubeconfig.
    folder: Option<PathBuf>,
    context: Option<String>,
    namespace: Option<String>,
    /// A failed write is retried with the next command.
    written: OnceLock<WrittenKubeconfig>,
}

/// The written file and its context, which stays the same whatever the user's kubeconfig selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenKubeconfig {
    /// The value for `KUBECONFIG`: the file, followed by the user's own file where kubectl has to write new tokens to it.
    pub path: PathBuf,
    pub context: String,
}

impl SessionKubeconfig {
    /// `context` and `namespace` replace what the user's kubeconfig selects.
    pub fn in_folder(folder: PathBuf, context: Option<String>, namespace: Option<String>) -> Self {
        Self(Arc::new(Shared { folder: Some(folder), context, namespace, written: OnceLock::new() }))
    }

    /// Returns the file and its context if it is written already.
    pub fn written(&self) -> Option<&WrittenKubeconfig> {
        self.0.written.get()
    }

    /// Returns the context that the user requested or that is written already; none: the current context.
    pub fn context(&self) -> Option<&str> {
        self.0.context.as_deref().or_else(|| Some(self.written()?.context.as_str()))
    }

    /// Returns the context that objects are deployed to; none if there is no kubeconfig.
    pub fn selected_context(&self) -> Result<Option<KubeContext>, Failure> {
        let files = super::read_default_files()?;
        let has_documents = files.iter().any(|file| !file.documents.is_empty());
        let selected = if has_documents { context_of(&files, self.context()) } else { None };
        let mut context = selected.or_else(super::in_cluster_context);
        if let (Some(context), Some(namespace)) = (&mut context, &self.0.namespace) {
            context.namespace.clone_from(namespace);
        }
        Ok(context)
    }

    /// Returns the value of `KUBECONFIG` for commands; none if they use the user's.
    ///
    /// The file is written if it `is_needed`, or if the user requested a context or a namespace.
    pub fn for_commands(&self, is_needed: bool) -> Result<Option<PathBuf>, Failure> {
        let is_chosen = self.0.context.is_some() || self.0.namespace.is_some();
        let written = if is_needed || is_chosen { self.ensure_written()? } else { self.written() };
        Ok(written.map(|written| written.path.clone()))
    }

    /// Writes the file unless it is written; none if there is no usable context.
    pub fn ensure_written(&self) -> Result<Option<&WrittenKubeconfig>, Failure> {
        let Shared { folder, context, namespace, written } = &*self.0;
        if let (Some(folder), None) = (folder, written.get()) {
            let path = folder.join(FILE);
            if let Some(file) = write(context.as_deref(), namespace.as_deref(), &path)? {
                // A concurrent write of another thread has the same content.
                let _ = written.set(file);
            }
        }
        Ok(written.get())
    }

    /// Rewrites a written file, because the context has other credentials now.
    pub fn rewrite(&self) -> Result<(), Failure> {
        match (self.written(), &self.0.folder) {
            (Some(WrittenKubeconfig { context, .. }), Some(folder)) => {
                write(Some(context), self.0.namespace.as_deref(), &folder.join(FILE)).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Writes the file of another context, for the commands of resources that are deployed there.
    pub fn write_for(&self, context: &str) -> Result<Option<PathBuf>, Failure> {
        let Some(folder) = &self.0.folder else { return Ok(None) };
        let safe = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let name: String = context.chars().map(safe).collect();
        // Different contexts may result in the same sanitized name; the checksum keeps their files apart.
        let number = context.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let path = folder.join(format!("kubeconfig-{name}-{number:08x}.yml"));
        Ok(write(Some(context), None, &path)?.map(|written| written.path))
    }
}

/// Writes the kubeconfig of one context; none if there is no such context.
fn write(
    context: Option<&str>,
    namespace: Option<&str>,
    path: &Path,
) -> Result<Option<WrittenKubeconfig>, Failure> {
    let files = super::read_default_files()?;
    let Some(SelfContained { config, user_file }) = self_contained(&files, context, namespace)? else {
        return Ok(None);
    };
    let cannot = |error: io::Error| {
        Failure::environment(format!("cannot write {}: {error}", path.display())).caused_by(&error)
    };
    let text = yaml::encode(&config).map_err(|error| cannot(io::Error::other(error.message.clone())))?;
    write_private(path, text.as_bytes()).map_err(cannot)?;
    let files = [Some(path.to_owned()), user_file];
    let joined = std::env::join_paths(files.into_iter().flatten())
        .map_err(|error| cannot(io::Error::other(error.to_string())))?;
    let context = config["current-context"].as_str().unwrap_or_default().to_owned();
    Ok(Some(WrittenKubeconfig { path: joined.into(), context }))
}

/// Replaces a file atomically, readable only for the user because it contains keys.
fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension("unfinished");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&unfinished).and_then(|mut file| file.write_all(content));
    let written = written.and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // The file may not exist.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

#[derive(Debug, PartialEq)]
struct SelfContained {
    config: Value,
    /// The file that holds the user, if `config` does not.
    user_file: Option<PathBuf>,
}

/// Returns a kubeconfig that contains only the context, its cluster and its user, and refers to no other files.
fn self_contained(
    files: &[KubeconfigFile],
    context: Option<&str>,
    namespace: Option<&str>,
) -> Result<Option<SelfContained>, Failure> {
    let Some(chosen) = context_of(files, context) else { return Ok(None) };
    let Some((_, entry)) = entries_named(files, "contexts", &chosen.name).next() else { return Ok(None) };
    let Some((origin, cluster)) = entries_named(files, "clusters", &chosen.cluster).next() else {
        return Ok(None);
    };
    let mut entry = entry.clone();
    if let (Some(namespace), Some(fields)) =
        (namespace, entry.get_mut("context").and_then(Value::as_object_mut))
    {
        fields.insert("namespace".to_owned(), namespace.into());
    }
    let mut cluster = cluster.clone();
    if let Some(fields) = cluster.get_mut("cluster").and_then(Value::as_object_mut) {
        inline(fields, origin.folder(), "certificate-authority")?;
    }
    let name = entry.pointer("/context/user").and_then(Value::as_str).unwrap_or_default();
    let mut user_file = None;
    let users = match entries_named(files, "users", name).next() {
        Some((origin, user)) if renews_tokens(user) => {
            user_file = Some(origin.path.clone());
            Vec::new()
        }
        Some((origin, user)) => vec![complete_user(user.clone(), origin.folder())?],
        None => Vec::new(),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "contexts": [entry],
        "current-context": chosen.name,
        "preferences": {},
        "users": users,
    });
    Ok(Some(SelfContained { config, user_file }))
}

/// Whether kubectl, lilt or a login program writes renewed tokens into the file of the user.
///
/// Many identity providers accept a refresh token only once. If a copy used it up, the original would be useless.
fn renews_tokens(user: &Value) -> bool {
    user.pointer("/user/auth-provider/name").and_then(Value::as_str) == Some("oidc")
}

fn complete_user(mut user: Value, folder: &Path) -> Result<Value, Failure> {
    if let Some(fields) = user.get_mut("user").and_then(Value::as_object_mut) {
        inline(fields, folder, "client-certificate")?;
        // A key without a certificate is ignored, and its file may be missing.
        match fields.contains_key("client-certificate-data") {
            true => inline(fields, folder, "client-key")?,
            false => drop(fields.remove("client-key")),
        }
        if let Some(file) = fields.get_mut("tokenFile") {
            make_absolute(file, folder);
        }
        // A name without a slash is searched for in PATH.
        if let Some(command) = fields.get_mut("exec").and_then(|exec| exec.get_mut("command"))
            && command.as_str().is_some_and(|command| command.contains('/'))
        {
            make_absolute(command, folder);
        }
    }
    Ok(user)
}

fn make_absolute(file: &mut Value, folder: &Path) {
    if let Some(path) = file.as_str().filter(|path| !path.is_empty()) {
        *file = folder.join(path).display().to_string().into();
    }
}

/// Replaces the path of a file with its content.
fn inline(fields: &mut Map<String, Value>, folder: &Path, field: &str) -> Result<(), Failure> {
    let data = format!("{field}-data");
    let given = fields.get(&data).and_then(Value::as_str).is_some_and(|data| !data.is_empty());
    let Some(file) = fields.remove(field) else { return Ok(()) };
    let Some(file) = file.as_str().filter(|file| !file.is_empty() && !given) else { return Ok(()) };
    let path = folder.join(file);
    let content = fs::read(&path).map_err(|error| {
        Failure::environment(format!("cannot read {}, which kubeconfig names: {error}", path.display()))
            .caused_by(&error)
    })?;
    fields.insert(data, STANDARD.encode(content).into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, content: Value) -> KubeconfigFile {
        KubeconfigFile { path: folder.join("config"), documents: vec![content] }
    }

    #[test]
    fn written_kubeconfig_has_one_context_and_needs_no_other_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.crt"), "CA").unwrap();
        let content = json!({
            "current-context": "other",
            "clusters": [
                {"name": "c", "cluster": {"server": "https://c", "certificate-authority": "ca.crt"}},
                {"name": "d", "cluster": {"server": "https://d"}},
            ],
            "contexts": [
                {"name": "other", "context": {"cluster": "d", "user": "d"}},
                {"name": "keyed", "context": {"cluster": "d", "user": "k"}},
                {"name": "mine", "context": {"cluster": "c", "user": "u", "namespace": "n"}},
            ],
            "users": [
                {"name": "u", "user": {"client-key-data": "S0VZ", "client-key": "gone", "tokenFile": "t",
                    "exec": {"command": "./login"}}},
                {"name": "d", "user": {}},
                {"name": "k", "user": {"token": "t", "client-key": "gone"}},
            ],
        });
        let files = [file(folder.path(), content)];
        let found = self_contained(&files, Some("mine"), Some("team")).unwrap().unwrap().config;
        let here = |name: &str| folder.path().join(name).display().to_string();
        let expected = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": "https://c", "certificate-authority-data": "Q0E="}}],
            "contexts": [{"name": "mine", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
            "current-context": "mine",
            "preferences": {},
            "users": [{"name": "u", "user": {"client-key-data": "S0VZ", "tokenFile": here("t"),
                "exec": {"command": here("./login")}}}],
        });
        assert_eq!(found, expected);
        let keyed = self_contained(&files, Some("keyed"), None).unwrap().unwrap().config;
        assert_eq!(keyed["users"], json!([{"name": "k", "user": {"token": "t"}}]));
        assert_eq!(self_contained(&files, Some("unknown"), None).unwrap(), None);
        assert_eq!(self_contained(&[], None, None).unwrap(), None);
    }

    #[test]
    fn user_with_renewed_tokens_stays_in_its_own_file() {
        let provider = |name: &str| json!({"auth-provider": {"name": name, "config": {"id-token": "i"}}});
        let content = json!({
            "clusters": [{"name": "c", "cluster": {"server": "https://c"}}],
            "contexts": [{"name": "renewed", "context": {"cluster": "c", "user": "r"}},
                {"name": "fixed", "context": {"cluster": "c", "user": "f"}}],
            "users": [{"name": "r", "user": provider("oidc")}, {"name": "f", "user": provider("gcp")}],
        });
        let files = [file(Path::new("/home"), content)];
        let renewed = self_contained(&files, Some("renewed"), None).unwrap().unwrap();
        assert_eq!(renewed.config["users"], json!([]));
        assert_eq!(renewed.user_file.as_deref(), Some(Path::new("/home/config")));
        let fixed = self_contained(&files, Some("fixed"), None).unwrap().unwrap();
        assert_eq!((fixed.config["users"][0]["name"].as_str(), fixed.user_file), (Some("f"), None));
    }
}
