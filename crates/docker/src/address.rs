//! Finds the engine's address: `DOCKER_HOST`, Docker contexts, then the default sockets.
#![expect(clippy::disallowed_methods, reason = "Docker's own settings are read here")]

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lilt_model::Failure;
use rustls::ClientConfig;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::transport::ssh::Remote;
use crate::transport::tls::Certificates;

/// An engine's address.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Unix(PathBuf),
    /// `host:port`, without TLS.
    Tcp(String),
    Tls {
        /// `host:port`.
        host: String,
        config: Arc<ClientConfig>,
    },
    Ssh(Remote),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix://{}", path.display()),
            Address::Tcp(host) | Address::Tls { host, .. } => write!(f, "tcp://{host}"),
            Address::Ssh(remote) => remote.fmt(f),
        }
    }
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the directory of Docker's configuration, whether or not it exists.
pub(crate) fn config_directory(environment: Environment<'_>, home: Option<&Path>) -> Option<PathBuf> {
    match set(environment, "DOCKER_CONFIG") {
        Some(path) => Some(PathBuf::from(path)),
        None => home.map(|home| home.join(".docker")),
    }
}

/// Finds the address like the `docker` command: `DOCKER_HOST`, else `DOCKER_CONTEXT`, else the current context, else
/// the default socket.
pub(crate) fn resolve(environment: Environment<'_>, home: Option<&Path>) -> Result<Address, Failure> {
    if let Some(host) = set(environment, "DOCKER_HOST") {
        let certificates = certificates(environment, home);
        return parse(&host, certificates.as_ref()).map_err(|cause| cause.into_failure("DOCKER_HOST", &host));
    }
    let config = config_directory(environment, home);
    match (current_context(environment, config.as_deref())?, config) {
        (Some(name), Some(config)) if name != "default" => context_address(&config, &name),
        _ => {
            // Like `docker`, load them even if the address does not use them.
            certificates(environment, home).map(|certificates| certificates.load()).transpose()?;
            Ok(default_address(environment, home))
        }
    }
}

fn set(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).filter(|value| !value.is_empty())
}

/// Returns the TLS settings of the environment: with verification, without, or none.
fn certificates(environment: Environment<'_>, home: Option<&Path>) -> Option<Certificates> {
    let verify = set(environment, "DOCKER_TLS_VERIFY").is_some();
    if !verify && set(environment, "DOCKER_TLS").is_none() {
        return None;
    }
    let folder = set(environment, "DOCKER_CERT_PATH").map(PathBuf::from);
    let folder = folder.or_else(|| config_directory(environment, home)).unwrap_or_default();
    Some(Certificates { folder, needs_authority: true, verify })
}

/// Why an address cannot be used.
enum AddressError {
    Address(String),
    Certificates(Failure),
}

impl AddressError {
    fn into_failure(self, origin: &str, host: &str) -> Failure {
        match self {
            AddressError::Address(cause) => Failure::environment(format!(
                "cannot use the Docker engine {host:?} named by {origin}: {cause}"
            ))
            .hint("use an address such as unix:///var/run/docker.sock, tcp://host:2375 or ssh://user@host"),
            AddressError::Certificates(failure) => failure,
        }
    }
}

impl From<String> for AddressError {
    fn from(cause: String) -> Self {
        Self::Address(cause)
    }
}

fn parse(host: &str, certificates: Option<&Certificates>) -> Result<Address, AddressError> {
    let Some((scheme, rest)) = host.split_once("://") else {
        return Err("an address starts with unix://, tcp:// or ssh://".to_owned().into());
    };
    let place = rest.trim_end_matches('/');
    let load = |certificates: &Certificates| certificates.load().map_err(AddressError::Certificates);
    // Also for sockets, which do not use them: `docker` fails there as well if one is missing.
    let tls = certificates.map(load).transpose()?;
    let secure = |config| Ok(Address::Tls { host: with_port(place, 2376), config });
    match (scheme, tls) {
        ("unix", _) if rest.starts_with('/') => Ok(Address::Unix(PathBuf::from(rest))),
        ("unix", _) => Err("the path of a unix:// address is absolute".to_owned().into()),
        ("tcp" | "http" | "https", Some(config)) => secure(config),
        ("https", None) => {
            secure(load(&Certificates { folder: PathBuf::new(), needs_authority: false, verify: true })?)
        }
        ("tcp" | "http", None) => Ok(Address::Tcp(with_port(place, 2375))),
        ("ssh", _) => Ok(Address::Ssh(Remote::parse(rest)?)),
        ("npipe", _) => Err("npipe:// is for Windows".to_owned().into()),
        _ => Err(format!("unknown scheme {scheme}://").into()),
    }
}

fn with_port(host: &str, usual: u16) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { host.to_owned() } else { format!("{host}:{usual}") }
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "currentContext")]
    current_context: Option<String>,
}

/// Returns the context that `DOCKER_CONTEXT` or the configuration names.
pub(crate) fn current_context(
    environment: Environment<'_>,
    config: Option<&Path>,
) -> Result<Option<String>, Failure> {
    if let Some(name) = set(environment, "DOCKER_CONTEXT") {
        return Ok(Some(name));
    }
    let Some(config) = config else { return Ok(None) };
    let path = config.join("config.json");
    let Some(text) = read(&path)? else { return Ok(None) };
    let config: Config = serde_json::from_str(&text).map_err(|error| unreadable(&path, &error))?;
    Ok(config.current_context.filter(|name| !name.is_empty()))
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "Endpoints", default)]
    endpoints: Endpoints,
}

#[derive(Default, Deserialize)]
struct Endpoints {
    docker: Option<Endpoint>,
}

#[derive(Default, Deserialize)]
struct Endpoint {
    #[serde(rename = "Host", default)]
    host: String,
    #[serde(rename = "SkipTLSVerify", default)]
    skip_verification: bool,
}

fn context_address(config: &Path, name: &str) -> Result<Address, Failure> {
    let folder = hex(&Sha256::digest(name.as_bytes()));
    let path = config.join("contexts/meta").join(&folder).join("meta.json");
    let Some(text) = read(&path)? else {
        return Err(Failure::environment(format!("the Docker context {name:?} does not exist"))
            .hint("`docker context ls` lists the contexts, `docker context use` chooses one"));
    };
    let meta: Meta = serde_json::from_str(&text).map_err(|error| unreadable(&path, &error))?;
    let endpoint = meta.endpoints.docker.unwrap_or_default();
    let folder = config.join("contexts/tls").join(&folder).join("docker");
    let secure = folder.is_dir() || endpoint.skip_verification;
    let certificates = secure.then_some(Certificates {
        folder,
        needs_authority: false,
        verify: !endpoint.skip_verification,
    });
    parse(&endpoint.host, certificates.as_ref())
        .map_err(|cause| cause.into_failure(&format!("the Docker context {name:?}"), &endpoint.host))
}

/// Returns the first default socket that exists, or else the one that the error should name.
fn default_address(environment: Environment<'_>, home: Option<&Path>) -> Address {
    let usual = PathBuf::from("/var/run/docker.sock");
    let mut candidates = vec![usual.clone()];
    if let Some(runtime) = set(environment, "XDG_RUNTIME_DIR") {
        candidates.push(Path::new(&runtime).join("docker.sock"));
        candidates.push(Path::new(&runtime).join("podman/podman.sock"));
    }
    candidates.extend(home.map(|home| home.join(".docker/run/docker.sock")));
    candidates.push(PathBuf::from("/run/podman/podman.sock"));
    Address::Unix(candidates.into_iter().find(|path| path.exists()).unwrap_or(usual))
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

pub(crate) fn unreadable(path: &Path, error: &dyn fmt::Display) -> Failure {
    Failure::environment(format!("cannot read Docker's configuration {}: {error}", path.display()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn resolve_with(variables: &[(&str, &str)], home: Option<&Path>) -> Result<String, Failure> {
        let variables: HashMap<_, _> = variables.iter().copied().collect();
        let address = resolve(&|name| variables.get(name).map(|value| (*value).to_owned()), home);
        address.map(|address| address.to_string())
    }

    #[test]
    fn docker_host_comes_first() {
        for (host, expected) in [
            ("unix:///run/x.sock", "unix:///run/x.sock"),
            ("tcp://10.0.0.1:2376", "tcp://10.0.0.1:2376"),
            ("tcp://builder", "tcp://builder:2375"),
            ("https://builder", "tcp://builder:2376"),
            ("ssh://me@there:22", "ssh://me@there:22"),
        ] {
            assert_eq!(
                resolve_with(&[("DOCKER_HOST", host), ("DOCKER_CONTEXT", "other")], None),
                Ok(expected.to_owned())
            );
        }
    }

    #[test]
    fn unusable_addresses_are_errors() {
        let failure = |variables: &[(&str, &str)]| resolve_with(variables, None).unwrap_err().to_string();
        let pipe = failure(&[("DOCKER_HOST", "npipe:////./pipe/docker_engine")]);
        assert!(pipe.contains("is for Windows"), "{pipe}");
        assert!(failure(&[("DOCKER_HOST", "nonsense")]).contains("an address starts with"));
        let secure =
            [("DOCKER_HOST", "tcp://there"), ("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", "/nowhere")];
        let words = failure(&secure);
        assert!(
            words.starts_with("unable to resolve docker endpoint: open /nowhere/ca.pem: no such file"),
            "{words}"
        );
    }

    #[test]
    fn missing_certificates_fail_for_every_address() {
        for (variable, host) in [
            ("DOCKER_TLS_VERIFY", "unix:///x.sock"),
            ("DOCKER_TLS_VERIFY", "ssh://me@there"),
            ("DOCKER_TLS_VERIFY", ""),
            ("DOCKER_TLS", "unix:///x.sock"),
            ("DOCKER_TLS", "tcp://there"),
            ("DOCKER_TLS", ""),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().to_str().unwrap();
            let variables = [("DOCKER_HOST", host), (variable, "1"), ("DOCKER_CERT_PATH", path)];
            let failure = resolve_with(&variables, None).unwrap_err();
            let expected =
                format!("unable to resolve docker endpoint: open {path}/ca.pem: no such file or directory");
            assert_eq!(failure.message, expected, "{variable} {host}");
            // A client certificate is optional.
            let authority = rcgen::generate_simple_self_signed(vec!["there".to_owned()]).unwrap();
            std::fs::write(folder.path().join("ca.pem"), authority.cert.pem()).unwrap();
            assert!(resolve_with(&variables, None).is_ok(), "{variable} {host}");
        }
    }

    #[test]
    fn context_has_its_own_certificates() {
        let home = home_with_context("mine", "unix:///home/me/engine.sock", Some("mine"));
        let variables = [("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", "/nowhere")];
        assert_eq!(resolve_with(&variables, Some(home.path())), Ok("unix:///home/me/engine.sock".to_owned()));
    }

    fn home_with_context(name: &str, host: &str, current: Option<&str>) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join(".docker");
        let folder = config.join("contexts/meta").join(hex(&Sha256::digest(name.as_bytes())));
        std::fs::create_dir_all(&folder).unwrap();
        let meta = serde_json::json!({"Name": name, "Endpoints": {"docker": {"Host": host}}});
        std::fs::write(folder.join("meta.json"), meta.to_string()).unwrap();
        let settings = serde_json::json!({"currentContext": current});
        std::fs::write(config.join("config.json"), settings.to_string()).unwrap();
        home
    }

    #[test]
    fn context_is_found_by_variable_or_configuration() {
        let expected = Ok("unix:///home/me/engine.sock".to_owned());
        let home = home_with_context("mine", "unix:///home/me/engine.sock", None);
        assert_eq!(resolve_with(&[("DOCKER_CONTEXT", "mine")], Some(home.path())), expected);
        let home = home_with_context("mine", "unix:///home/me/engine.sock", Some("mine"));
        assert_eq!(resolve_with(&[], Some(home.path())), expected);
        let moved = home.path().join(".docker").to_string_lossy().into_owned();
        assert_eq!(resolve_with(&[("DOCKER_CONFIG", &moved)], None), expected);
    }

    #[test]
    fn unknown_context_is_an_error() {
        let home = home_with_context("mine", "unix:///x.sock", Some("gone"));
        let failure = resolve_with(&[], Some(home.path())).unwrap_err();
        assert_eq!(failure.message, "the Docker context \"gone\" does not exist");
    }
}
