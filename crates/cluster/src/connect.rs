//! Connects to the cluster of a kubeconfig context.
//!
//! The only module that reads kubeconfig files (in [`kubeconfig`]) and `KUBECONFIG`. Connecting does not send a
//! request to the API server: [`Cluster::probe`] does.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lilt_model::Failure;
use lilt_model::cluster::{ClusterAddress, KubeContext, Product};

use auth_service::AuthRefreshService;
use credentials::Origin;
pub(crate) use exec_plugin::LoginError;
pub use exec_plugin::PluginOutput;
use kubeconfig::{KubeconfigFile, Merged, Unreadable};
use proxy::ProxyEnvironment;
pub use session_kubeconfig::{SessionKubeconfig, WrittenKubeconfig};

use crate::kinds::Kinds;
use crate::list_cache::ListCache;

mod auth_service;
mod client_certificate;
mod context;
mod credentials;
mod exec_plugin;
mod kubeconfig;
mod normalize;
mod oidc;
mod persist;
mod proxy;
mod session_kubeconfig;
mod transport;

/// The name of the context that a pod uses for its own cluster. It is in no kubeconfig.
pub const IN_CLUSTER: &str = "in-cluster";

/// Selects a cluster.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// Kubeconfig files, merged in this order; empty means `$KUBECONFIG`, or else `~/.kube/config`.
    pub kubeconfig: Vec<PathBuf>,
    /// None: the current context.
    pub context: Option<String>,
    /// None: the context's namespace.
    pub namespace: Option<String>,
    /// Where the stderr of exec plugins goes.
    pub plugin_output: PluginOutput,
}

/// A connection to one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) client: Client,
    pub(crate) kinds: Kinds,
    pub(crate) lists: ListCache,
    /// Authenticates the requests of `client`.
    auth: Arc<AuthRefreshService>,
    info: Arc<ContextInfo>,
}

struct ContextInfo {
    context: String,
    /// The cluster's name in kubeconfig.
    name: String,
    product: Product,
    server: String,
    namespace: String,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("context", &self.info.context)
            .field("server", &self.info.server)
            .finish()
    }
}

impl Cluster {
    /// Reads kubeconfig and builds a client. A pod without kubeconfig uses the cluster that it runs in.
    ///
    /// Needs a tokio runtime.
    pub async fn connect(options: ConnectOptions) -> Result<Self, Failure> {
        let ResolvedContext { config, context, name, product, origin } = resolve(&options).await?;
        let namespace = options.namespace.unwrap_or_else(|| config.default_namespace.clone());
        let server = server_of(&config);
        let auth = Arc::new(
            AuthRefreshService::new(config, origin, options.plugin_output)
                .map_err(|error| cannot_connect(&context, &error))?,
        );
        let client = auth.client(namespace.clone());
        Ok(Self {
            kinds: Kinds::new(client.clone()),
            lists: ListCache::default(),
            client,
            auth,
            info: Arc::new(ContextInfo { context, name, product, server, namespace }),
        })
    }

    /// Reloads the credentials of the same context from kubeconfig, for all clones.
    ///
    /// Fails without a change if the context selects another server by now.
    pub async fn reload_login(&self, options: ConnectOptions) -> Result<(), Failure> {
        let options = ConnectOptions { context: Some(self.context().to_owned()), ..options };
        let ResolvedContext { config, context, origin, .. } = resolve(&options).await?;
        if server_of(&config) != self.server() {
            return Err(Failure::environment(format!("the context {context} leads elsewhere by now")));
        }
        self.auth.reload(config, origin).map_err(|error| cannot_connect(&context, &error))
    }

    /// Ends the delay after a failed login, because the kubeconfig has changed.
    pub fn retry_login(&self) {
        self.auth.retry_login();
    }

    pub fn context(&self) -> &str {
        &self.info.context
    }

    /// Returns the cluster's name in kubeconfig.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    pub fn product(&self) -> Product {
        self.info.product
    }

    /// Returns the API server's URL.
    pub fn server(&self) -> &str {
        &self.info.server
    }

    pub fn address(&self) -> ClusterAddress {
        ClusterAddress { context: self.context().to_owned(), server: self.server().to_owned() }
    }

    /// Returns the namespace of objects that name none.
    pub fn namespace(&self) -> &str {
        &self.info.namespace
    }
}

/// A resolved context: everything needed to connect.
struct ResolvedContext {
    config: Config,
    context: String,
    /// The cluster's name in kubeconfig.
    name: String,
    product: Product,
    origin: Origin,
}

async fn resolve(options: &ConnectOptions) -> Result<ResolvedContext, Failure> {
    let Some(merged) = read_kubeconfig(&options.kubeconfig)? else {
        return resolve_in_cluster(options);
    };
    // client-go does the same in a pod whose kubeconfig selects no context.
    if options.context.is_none() && merged.current().is_none() && is_in_cluster() {
        return resolve_in_cluster(options);
    }
    let context = options.context.clone().or_else(|| merged.current());
    let context = context.ok_or_else(|| no_context(&merged.kubeconfig))?;
    if merged.context(&context).is_none() {
        return Err(unknown_context(&context, &merged.kubeconfig));
    }
    let user = merged.context(&context).and_then(|named| named.context.as_ref()?.user.clone());
    let Merged { mut kubeconfig, files, mut users } = merged;
    let origin = user.and_then(|user| Some((users.remove(&user)?, user)));
    let found = context::context_of(&files, Some(&context)).unwrap_or_default();
    let (name, product) = (found.cluster.clone(), found.product());
    normalize::normalize(&mut kubeconfig, &context).map_err(|cause| unusable(&context, cause))?;
    let own_proxy = own_proxy(&kubeconfig, &name);
    let selection = KubeConfigOptions { context: Some(context.clone()), ..Default::default() };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &selection)
        .await
        .map_err(|error| caused_by(unusable(&context, crate::error::causes(&error)), &error))?;
    // kube matches NO_PROXY against the proxy's host instead of the server's.
    if !own_proxy {
        config.proxy_url = proxy_environment().proxy_to(&config.cluster_url);
    }
    Ok(ResolvedContext { config, context, name, product, origin })
}

fn resolve_in_cluster(options: &ConnectOptions) -> Result<ResolvedContext, Failure> {
    let wants_other = options.context.as_deref().is_some_and(|context| context != IN_CLUSTER);
    if wants_other || !is_in_cluster() {
        return Err(no_kubeconfig());
    }
    let config = Config::incluster().map_err(|error| {
        Failure::environment("this pod cannot use the cluster it runs in")
            .detail(crate::error::causes(&error))
            .hint("does the pod have a service account, and is its token mounted?")
    })?;
    Ok(ResolvedContext {
        config,
        context: IN_CLUSTER.to_owned(),
        name: IN_CLUSTER.to_owned(),
        product: Product::Unknown,
        origin: None,
    })
}

fn server_of(config: &Config) -> String {
    config.cluster_url.to_string().trim_end_matches('/').to_owned()
}

fn cannot_connect(context: &str, error: &kube::Error) -> Failure {
    let failure = Failure::environment(format!("cannot build a connection for the context {context}"))
        .detail(crate::error::causes(error))
        .hint("check certificates, keys and proxy of this context in your kubeconfig");
    caused_by(failure, error)
}

/// Adds the operating system's error to a failure, for example of reading a certificate.
fn caused_by(failure: Failure, error: &(dyn std::error::Error + 'static)) -> Failure {
    match lilt_model::os_error::root_cause(error) {
        Some(cause) => failure.caused_by(cause),
        None => failure,
    }
}

/// Returns the current context of kubeconfig without connecting; none if there is no kubeconfig or no current
/// context.
pub fn current_context(kubeconfig: &[PathBuf]) -> Result<Option<String>, Failure> {
    Ok(read_kubeconfig(kubeconfig)?.and_then(|merged| merged.current()))
}

/// The parts of kubeconfig whose changes matter to a running session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSelection {
    /// The current context.
    pub current: Option<String>,
    /// The server of the requested context; none if the context does not exist.
    pub server: Option<String>,
    /// A digest of the context's user and the cluster's authority.
    pub login: String,
}

/// Returns what the files of `KUBECONFIG` say about a context.
pub fn context_selection(context: &str) -> Result<ContextSelection, Failure> {
    let Some(merged) = read_kubeconfig(&[])? else { return Ok(ContextSelection::default()) };
    let (current, kubeconfig) = (merged.current(), merged.kubeconfig);
    let named = kubeconfig.contexts.iter().find(|known| known.name == context);
    let cluster = named.and_then(|it| it.context.as_ref()).map(|it| it.cluster.as_str());
    let cluster = kubeconfig.clusters.iter().find(|known| Some(known.name.as_str()) == cluster);
    let cluster = cluster.and_then(|it| it.cluster.as_ref());
    let server = cluster.and_then(|it| it.server.clone());
    let user = named.and_then(|it| it.context.as_ref()?.user.as_deref());
    let user = kubeconfig.auth_infos.iter().find(|known| Some(known.name.as_str()) == user);
    let mut user = user.and_then(|it| it.auth_info.clone());
    if let Some(provider) = user.as_mut().and_then(|user| user.auth_provider.as_mut()) {
        // lilt and kubectl write renewed tokens, which are reread whenever one is needed.
        provider.config.retain(|field, _| !oidc::TOKENS.contains(&field.as_str()));
    }
    let login = crate::fingerprint::digest(&serde_json::json!([
        user,
        cluster.map(|it| [&it.certificate_authority, &it.certificate_authority_data]),
    ]));
    Ok(ContextSelection { current, server, login })
}

/// Returns all contexts of the user's kubeconfig.
pub fn kube_contexts() -> Result<Vec<KubeContext>, Failure> {
    Ok(context::contexts(&read_default_files()?))
}

/// Reads those of the user's kubeconfig files that exist.
fn read_default_files() -> Result<Vec<KubeconfigFile>, Failure> {
    let read = |path: PathBuf| KubeconfigFile::read(&path).map_err(Unreadable::into_short_failure);
    default_paths().into_iter().map(read).filter_map(Result::transpose).collect()
}

/// Returns the context of a pod's own cluster; none outside of pods. It has to be allowed like any other.
#[allow(clippy::disallowed_methods, reason = "kubelet writes the namespace into a file")]
fn in_cluster_context() -> Option<KubeContext> {
    let namespace = || std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
    is_in_cluster().then(|| KubeContext {
        name: IN_CLUSTER.to_owned(),
        cluster: IN_CLUSTER.to_owned(),
        namespace: namespace().unwrap_or_default().trim().to_owned(),
        product_by_files: Product::Unknown,
    })
}

/// Returns the paths of the user's kubeconfig files.
pub fn kubeconfig_files() -> Vec<PathBuf> {
    default_paths()
}

/// Returns the kubeconfig files and the certificate, key and token files of a context; none: of the current one.
pub fn connection_files(context: Option<&str>) -> Vec<PathBuf> {
    let mut files = default_paths();
    let Ok(Some(merged)) = read_kubeconfig(&[]) else { return files };
    let context = context.map(str::to_owned).or_else(|| merged.current());
    let named = context.and_then(|name| merged.context(&name)?.context.as_ref());
    let Some(named) = named else { return files };
    let cluster = merged.kubeconfig.clusters.iter().find(|known| known.name == named.cluster);
    let cluster = cluster.and_then(|it| it.cluster.as_ref());
    files.extend(cluster.and_then(|it| it.certificate_authority.as_ref()).map(PathBuf::from));
    let user = merged.kubeconfig.auth_infos.iter().find(|known| Some(&known.name) == named.user.as_ref());
    if let Some(user) = user.and_then(|it| it.auth_info.as_ref()) {
        let named = [&user.client_certificate, &user.client_key, &user.token_file];
        files.extend(named.into_iter().flatten().map(PathBuf::from));
    }
    files
}

/// Whether the cluster's entry has a `proxy-url`.
fn own_proxy(kubeconfig: &Kubeconfig, cluster: &str) -> bool {
    let entry = kubeconfig.clusters.iter().find(|known| known.name == cluster);
    let proxy = entry.and_then(|it| it.cluster.as_ref()).and_then(|it| it.proxy_url.as_deref());
    proxy.is_some_and(|proxy| !proxy.is_empty())
}

/// Reads these files, or the default ones if the list is empty.
fn read_kubeconfig(paths: &[PathBuf]) -> Result<Option<Merged>, Failure> {
    if paths.is_empty() { kubeconfig::read(&default_paths()) } else { kubeconfig::read(paths) }
}

#[allow(clippy::disallowed_methods, reason = "the one place that reads which proxies there are")]
fn proxy_environment() -> ProxyEnvironment {
    let either = |names: [&str; 2]| {
        names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    };
    ProxyEnvironment {
        https_proxy: either(["HTTPS_PROXY", "https_proxy"]).unwrap_or_default(),
        http_proxy: either(["HTTP_PROXY", "http_proxy"]).unwrap_or_default(),
        no_proxy: either(["NO_PROXY", "no_proxy"]).unwrap_or_default(),
    }
}

/// Whether this process runs in a pod.
#[allow(clippy::disallowed_methods, reason = "kubelet says it by a variable")]
fn is_in_cluster() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty())
}

#[allow(clippy::disallowed_methods, reason = "the one place that reads where kubeconfig is")]
fn default_paths() -> Vec<PathBuf> {
    let listed: Vec<PathBuf> = std::env::var_os("KUBECONFIG")
        .map(|list| std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    if !listed.is_empty() {
        return listed;
    }
    home().map(|home| home.join(".kube").join("config")).into_iter().collect()
}

fn home() -> Option<PathBuf> {
    std::env::home_dir()
}

fn no_kubeconfig() -> Failure {
    Failure::environment("no kubeconfig found, so there is no Kubernetes cluster to use")
        .hint("start a local cluster (kind, minikube, k3d, Docker Desktop), or set KUBECONFIG")
}

fn no_context(kubeconfig: &Kubeconfig) -> Failure {
    Failure::environment("kubeconfig selects no context").hint(format!(
        "choose one with `kubectl config use-context NAME` or `--context NAME`; there are: {}",
        names(kubeconfig)
    ))
}

fn unknown_context(context: &str, kubeconfig: &Kubeconfig) -> Failure {
    Failure::user(format!("kubeconfig has no context named {context}"))
        .hint(format!("there are: {}", names(kubeconfig)))
}

fn names(kubeconfig: &Kubeconfig) -> String {
    let names: Vec<&str> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn unusable(context: &str, cause: String) -> Failure {
    Failure::environment(format!("kubeconfig's context {context} cannot be used"))
        .detail(cause)
        .hint("`kubectl config view` shows what it says")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "writes files to read")]

    use super::*;

    fn write(directory: &std::path::Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn first_selected_context_wins_and_missing_files_are_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let first = write(directory.path(), "first", "apiVersion: v1\nkind: Config\ncurrent-context: one\n");
        let second =
            write(directory.path(), "second", "apiVersion: v1\nkind: Config\ncurrent-context: two\n");
        let missing = directory.path().join("missing");
        assert_eq!(current_context(&[missing.clone(), first, second]).unwrap().as_deref(), Some("one"));
        assert_eq!(current_context(&[missing]).unwrap(), None);
    }

    #[test]
    fn unreadable_kubeconfig_error_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let broken = write(directory.path(), "broken", "contexts: {a: [}");
        let failure = current_context(std::slice::from_ref(&broken)).unwrap_err();
        assert!(failure.message.contains(&broken.display().to_string()), "{failure}");
    }

    #[tokio::test]
    async fn unknown_context_error_lists_known_contexts() {
        let directory = tempfile::tempdir().unwrap();
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: c}\n";
        let path = write(directory.path(), "config", text);
        let options = ConnectOptions {
            kubeconfig: vec![path],
            context: Some("other".to_owned()),
            ..ConnectOptions::default()
        };
        let failure = Cluster::connect(options).await.unwrap_err();
        assert_eq!(failure.to_string(), "kubeconfig has no context named other\nhint: there are: a");
    }
}
