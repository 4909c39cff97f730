//! Kubeconfig files: which context they choose, and the one file of that context that commands are given.
//!
//! Commands of a session must meet the cluster that the session meets, also when somebody switches contexts meanwhile.

#![expect(clippy::disallowed_methods, reason = "part of the module that touches the machine")]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lilt_model::Failure;
use lilt_model::cluster::Product;
use serde_json::{Map, Value, json};

use super::KubeContext;
use crate::session::clean;
use crate::yaml;

/// Its name in the session's folder.
const FILE: &str = "kubeconfig.yml";

/// The kubeconfig of a session's commands: of one context, written when the first of them needs it. Who deploys nothing
/// never reads any. Clones are one and the same.
#[derive(Clone, Debug, Default)]
pub struct FrozenKubeconfig(Arc<Frozen>);

#[derive(Debug, Default)]
struct Frozen {
    /// Where it goes; none: commands find their own.
    folder: Option<PathBuf>,
    context: Option<String>,
    namespace: Option<String>,
    /// What could not be written is tried again.
    written: OnceLock<Pinned>,
}

/// A kubeconfig that is written, and the context that is meant from then on, whatever the user's selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// What `KUBECONFIG` is set to: the file, followed by the user's own file where kubectl has to write new tokens to it.
    pub path: PathBuf,
    pub context: String,
}

impl FrozenKubeconfig {
    /// Of this context, in place of the current one.
    pub fn in_folder(folder: PathBuf, context: Option<String>, namespace: Option<String>) -> Self {
        Self(Arc::new(Frozen { folder: Some(folder), context, namespace, written: OnceLock::new() }))
    }

    /// If it is written.
    pub fn known(&self) -> Option<&Pinned> {
        self.0.written.get()
    }

    /// What was asked for, or is pinned by now; none: whichever is the current one.
    pub fn context(&self) -> Option<&str> {
        self.0.context.as_deref().or_else(|| Some(self.known()?.context.as_str()))
    }

    /// Whether commands need it, whatever the Tiltfile says: somebody named a cluster.
    pub(super) fn is_asked_for(&self) -> bool {
        self.0.context.is_some() || self.0.namespace.is_some()
    }

    /// Writes it, if it is not; none if there is no usable context.
    pub fn get(&self) -> Result<Option<&Pinned>, Failure> {
        let Frozen { folder, context, namespace, written } = &*self.0;
        if let (Some(folder), None) = (folder, written.get()) {
            let path = folder.join(FILE);
            if let Some(pinned) = freeze(context.as_deref(), namespace.as_deref(), &path)? {
                // Whoever else has written it has written the same.
                let _ = written.set(pinned);
            }
        }
        Ok(written.get())
    }

    /// Writes it anew if it is written: the user has another login for its context.
    pub fn renew(&self) -> Result<(), Failure> {
        match (self.known(), &self.0.folder) {
            (Some(Pinned { context, .. }), Some(folder)) => {
                freeze(Some(context), self.0.namespace.as_deref(), &folder.join(FILE)).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// That of another context, for the commands of what is deployed there.
    pub fn of(&self, context: &str) -> Result<Option<PathBuf>, Failure> {
        let Some(folder) = &self.0.folder else { return Ok(None) };
        let safe = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let name: String = context.chars().map(safe).collect();
        // Two names may become one; the number tells them apart.
        let number = context.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let path = folder.join(format!("kubeconfig-{name}-{number:08x}.yml"));
        Ok(freeze(Some(context), None, &path)?.map(|pinned| pinned.path))
    }
}

/// One document of a file that `KUBECONFIG` names.
pub(super) struct Config {
    path: PathBuf,
    content: Value,
}

impl Config {
    /// What its relative paths start from.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

pub(super) fn read() -> Result<Vec<Config>, Failure> {
    let mut configs = Vec::new();
    for path in paths() {
        match fs::read(&path) {
            Ok(bytes) => {
                let documents = lilt_model::kubeconfig::documents(&bytes).map_err(|cause| {
                    Failure::environment(format!("cannot read the kubeconfig {}: {cause}", path.display()))
                })?;
                configs.extend(documents.into_iter().map(|content| Config { path: path.clone(), content }));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let words = format!("cannot read the kubeconfig {}: {error}", path.display());
                return Err(Failure::environment(words).caused_by(&error));
            }
        }
    }
    Ok(configs)
}

fn paths() -> Vec<PathBuf> {
    match std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty()) {
        Some(paths) => std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
    }
}

/// The first file that says something wins, as with kubectl.
pub(super) fn context_of(configs: &[Config], wanted: Option<&str>) -> Option<KubeContext> {
    let current = || configs.iter().filter_map(|config| config.content.get("current-context")?.as_str());
    let name = wanted.or_else(|| current().find(|name| !name.is_empty()))?;
    let own = named(configs, "contexts", name).next();
    let said = |pointer: &str| own.and_then(|(_, context)| context.pointer(pointer)?.as_str());
    let cluster = said("/context/cluster").unwrap_or_default();
    let origin = own.map(|(config, _)| config.path.as_path());
    Some(KubeContext {
        name: name.to_owned(),
        cluster: cluster.to_owned(),
        namespace: said("/context/namespace").unwrap_or_default().to_owned(),
        by_files: by_files(configs, cluster, origin, std::env::home_dir().as_deref()),
    })
}

/// Who made a cluster, by where its certificates and the context's file lie.
fn by_files(configs: &[Config], cluster: &str, origin: Option<&Path>, home: Option<&Path>) -> Product {
    let authority = named(configs, "clusters", cluster).next().and_then(|(config, entry)| {
        let file = entry.pointer("/cluster/certificate-authority")?.as_str()?;
        Some(clean(&config.folder().join(file)))
    });
    Product::of_files(authority.as_deref(), origin, home)
}

/// All that the files have, each once.
pub(super) fn contexts(configs: &[Config]) -> Vec<KubeContext> {
    let lists = configs.iter().filter_map(|config| config.content.get("contexts")?.as_array());
    let names = lists.flatten().filter_map(|entry| entry.get("name")?.as_str());
    let mut contexts: Vec<KubeContext> = Vec::new();
    for name in names {
        if !contexts.iter().any(|known| known.name == name) {
            contexts.extend(context_of(configs, Some(name)));
        }
    }
    contexts
}

/// That of a pod which meets the cluster it runs in. It has to be allowed like any other.
pub(super) fn within() -> Option<KubeContext> {
    std::env::var_os("KUBERNETES_SERVICE_HOST").filter(|host| !host.is_empty())?;
    let namespace = fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
    Some(KubeContext {
        name: "in-cluster".to_owned(),
        cluster: "in-cluster".to_owned(),
        namespace: namespace.unwrap_or_default().trim().to_owned(),
        by_files: Product::Unknown,
    })
}

/// The entries of this name, with their files.
fn named<'c>(
    configs: &'c [Config],
    list: &'c str,
    name: &'c str,
) -> impl Iterator<Item = (&'c Config, &'c Value)> {
    let entries = configs.iter().flat_map(move |config| {
        let entries = config.content.get(list).and_then(Value::as_array).into_iter().flatten();
        entries.map(move |entry| (config, entry))
    });
    entries.filter(move |(_, entry)| entry.get("name").and_then(Value::as_str) == Some(name))
}

/// Writes the kubeconfig of one context; none if there is no such context.
fn freeze(context: Option<&str>, namespace: Option<&str>, path: &Path) -> Result<Option<Pinned>, Failure> {
    let Some(Complete { config, user_file }) = frozen(&read()?, context, namespace)? else {
        return Ok(None);
    };
    let cannot = |error: io::Error| {
        Failure::environment(format!("cannot write {}: {error}", path.display())).caused_by(&error)
    };
    let text = yaml::encode(&config).map_err(|error| cannot(io::Error::other(error.message.to_string())))?;
    write_private(path, text.as_bytes()).map_err(cannot)?;
    let files = [Some(path.to_owned()), user_file];
    let joined = std::env::join_paths(files.into_iter().flatten())
        .map_err(|error| cannot(io::Error::other(error.to_string())))?;
    let context = config["current-context"].as_str().unwrap_or_default().to_owned();
    Ok(Some(Pinned { path: joined.into(), context }))
}

/// It holds keys: for nobody else to read. A command that reads it meanwhile sees the old one or the new one.
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
        // It may not even exist.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

#[derive(Debug, PartialEq)]
struct Complete {
    config: Value,
    /// The file to read the user from, if not from `config`.
    user_file: Option<PathBuf>,
}

/// The context with its cluster and its user alone, complete without other files.
fn frozen(
    configs: &[Config],
    context: Option<&str>,
    namespace: Option<&str>,
) -> Result<Option<Complete>, Failure> {
    let Some(chosen) = context_of(configs, context) else { return Ok(None) };
    let Some((_, entry)) = named(configs, "contexts", &chosen.name).next() else { return Ok(None) };
    let Some((origin, cluster)) = named(configs, "clusters", &chosen.cluster).next() else {
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
    let users = match named(configs, "users", name).next() {
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
    Ok(Some(Complete { config, user_file }))
}

/// Whether kubectl, lilt or a login program writes new tokens of the user into the file that has the user.
///
/// Many identity providers accept a refresh token only once. One that is used up in a copy is lost for the original.
fn renews_tokens(user: &Value) -> bool {
    user.pointer("/user/auth-provider/name").and_then(Value::as_str) == Some("oidc")
}

fn complete_user(mut user: Value, folder: &Path) -> Result<Value, Failure> {
    if let Some(fields) = user.get_mut("user").and_then(Value::as_object_mut) {
        inline(fields, folder, "client-certificate")?;
        // A key without a certificate is not used, and its file may be missing.
        match fields.contains_key("client-certificate-data") {
            true => inline(fields, folder, "client-key")?,
            false => drop(fields.remove("client-key")),
        }
        if let Some(file) = fields.get_mut("tokenFile") {
            make_absolute(file, folder);
        }
        // One without a slash is looked for on PATH.
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

/// Puts what a file holds in the place of its path.
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

    fn config(folder: &Path, content: Value) -> Config {
        Config { path: folder.join("config"), content }
    }

    #[test]
    fn finds_the_current_context_and_its_cluster() {
        let configs = [
            json!({"contexts": [{"name": "a", "context": {"cluster": "kind-a"}}]}),
            json!({"current-context": "a",
                "contexts": [{"name": "b", "context": {"cluster": "gke_b", "namespace": "n"}}]}),
        ];
        let configs = configs.map(|content| config(Path::new("/"), content));
        let context = |name: &str, cluster: &str, namespace: &str| {
            Some(KubeContext {
                name: name.into(),
                cluster: cluster.into(),
                namespace: namespace.into(),
                by_files: Product::Unknown,
            })
        };
        assert_eq!(context_of(&configs, None), context("a", "kind-a", ""));
        assert_eq!(context_of(&configs, Some("b")), context("b", "gke_b", "n"));
        assert_eq!(context_of(&configs, Some("c")), context("c", "", ""));
        assert_eq!(context_of(&[], None), None);
        let names: Vec<String> = contexts(&configs).into_iter().map(|context| context.name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn files_tell_who_made_a_cluster_of_any_name() {
        let content = |authority: &str| {
            let cluster = json!({"name": "mine", "cluster": {"certificate-authority": authority}});
            json!({"clusters": [cluster], "contexts": [{"name": "mine", "context": {"cluster": "mine"}}]})
        };
        let made_by = |path: &str, authority: &str| {
            let configs = [Config { path: path.into(), content: content(authority) }];
            by_files(&configs, "mine", Some(Path::new(path)), Some(Path::new("/home/me")))
        };
        assert_eq!(made_by("/home/me/.kube/config", "/home/me/.minikube/ca.crt"), Product::Minikube);
        assert_eq!(made_by("/home/me/.kube/config", "../.minikube/ca.crt"), Product::Minikube);
        assert_eq!(made_by("/home/me/.minikube/config", "profiles/ca.crt"), Product::Minikube);
        assert_eq!(made_by("/home/me/.config/k3d/mine.yaml", "/ca.crt"), Product::K3d);
        assert_eq!(made_by("/tmp/kind-config-mine", "/ca.crt"), Product::Kind);
        assert_eq!(made_by("/home/me/.kube/config", "/ca.crt"), Product::Unknown);
    }

    #[test]
    fn a_frozen_one_has_one_context_and_needs_no_other_files() {
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
        let configs = [config(folder.path(), content)];
        let found = frozen(&configs, Some("mine"), Some("team")).unwrap().unwrap().config;
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
        let keyed = frozen(&configs, Some("keyed"), None).unwrap().unwrap().config;
        assert_eq!(keyed["users"], json!([{"name": "k", "user": {"token": "t"}}]));
        assert_eq!(frozen(&configs, Some("unknown"), None).unwrap(), None);
        assert_eq!(frozen(&[], None, None).unwrap(), None);
    }

    #[test]
    fn user_whose_tokens_are_renewed_stays_in_the_own_file() {
        let provider = |name: &str| json!({"auth-provider": {"name": name, "config": {"id-token": "i"}}});
        let content = json!({
            "clusters": [{"name": "c", "cluster": {"server": "https://c"}}],
            "contexts": [{"name": "renewed", "context": {"cluster": "c", "user": "r"}},
                {"name": "fixed", "context": {"cluster": "c", "user": "f"}}],
            "users": [{"name": "r", "user": provider("oidc")}, {"name": "f", "user": provider("gcp")}],
        });
        let configs = [config(Path::new("/home"), content)];
        let renewed = frozen(&configs, Some("renewed"), None).unwrap().unwrap();
        assert_eq!(renewed.config["users"], json!([]));
        assert_eq!(renewed.user_file.as_deref(), Some(Path::new("/home/config")));
        let fixed = frozen(&configs, Some("fixed"), None).unwrap().unwrap();
        assert_eq!((fixed.config["users"][0]["name"].as_str(), fixed.user_file), (Some("f"), None));
    }
}
