//! Where the engine listens: `DOCKER_HOST`, Docker contexts, then the usual sockets.
#![expect(clippy::disallowed_methods, reason = "Docker's own settings are read here")]

use std::fmt;
use std::path::{Path, PathBuf};

use lilt_model::Failure;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// An engine's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Unix(PathBuf),
    /// `host:port`, without TLS.
    Tcp(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix://{}", path.display()),
            Address::Tcp(host) => write!(f, "tcp://{host}"),
        }
    }
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The directory of Docker's own configuration, whether or not it exists.
pub(crate) fn config_directory(environment: Environment<'_>, home: Option<&Path>) -> Option<PathBuf> {
    match set(environment, "DOCKER_CONFIG") {
        Some(path) => Some(PathBuf::from(path)),
        None => home.map(|home| home.join(".docker")),
    }
}

/// Decides as the `docker` command does: `DOCKER_HOST`, else `DOCKER_CONTEXT`, else the current context, else the
/// default socket.
pub(crate) fn resolve(environment: Environment<'_>, home: Option<&Path>) -> Result<Address, Failure> {
    if let Some(host) = set(environment, "DOCKER_HOST") {
        let tls = set(environment, "DOCKER_TLS_VERIFY").is_some();
        return parse(&host, tls).map_err(|cause| bad_address("DOCKER_HOST", &host, &cause));
    }
    let config = config_directory(environment, home);
    let context = match set(environment, "DOCKER_CONTEXT") {
        Some(name) => Some(name),
        None => config.as_deref().map(current_context).transpose()?.flatten(),
    };
    match (context, config) {
        (Some(name), Some(config)) if name != "default" => context_address(&config, &name),
        _ => Ok(default_address(environment, home)),
    }
}

fn set(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).filter(|value| !value.is_empty())
}

fn parse(host: &str, tls: bool) -> Result<Address, String> {
    let Some((scheme, rest)) = host.split_once("://") else {
        return Err("an address starts with unix:// or tcp://".to_owned());
    };
    match scheme {
        "unix" if rest.starts_with('/') => Ok(Address::Unix(PathBuf::from(rest))),
        "unix" => Err("the path of a unix:// address is absolute".to_owned()),
        "tcp" | "http" if tls => Err("not supported yet: an engine over TLS (DOCKER_TLS_VERIFY)".to_owned()),
        "tcp" | "http" => Ok(Address::Tcp(with_port(rest.trim_end_matches('/')))),
        "ssh" | "npipe" | "https" => Err(format!("not supported yet: an engine over {scheme}://")),
        _ => Err(format!("unknown scheme {scheme}://")),
    }
}

fn with_port(host: &str) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { host.to_owned() } else { format!("{host}:2375") }
}

fn bad_address(origin: &str, host: &str, cause: &str) -> Failure {
    Failure::environment(format!("cannot use the Docker engine {host:?} named by {origin}: {cause}"))
        .hint("use an address such as unix:///var/run/docker.sock or tcp://host:2375")
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "currentContext")]
    current_context: Option<String>,
}

fn current_context(config: &Path) -> Result<Option<String>, Failure> {
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

#[derive(Deserialize)]
struct Endpoint {
    #[serde(rename = "Host", default)]
    host: String,
}

fn context_address(config: &Path, name: &str) -> Result<Address, Failure> {
    let folder = hex(&Sha256::digest(name.as_bytes()));
    let path = config.join("contexts/meta").join(&folder).join("meta.json");
    let Some(text) = read(&path)? else {
        return Err(Failure::environment(format!("the Docker context {name:?} does not exist"))
            .hint("`docker context ls` lists the contexts, `docker context use` chooses one"));
    };
    let meta: Meta = serde_json::from_str(&text).map_err(|error| unreadable(&path, &error))?;
    let host = meta.endpoints.docker.map(|endpoint| endpoint.host).unwrap_or_default();
    let tls = config.join("contexts/tls").join(&folder).join("docker").is_dir();
    parse(&host, tls).map_err(|cause| bad_address(&format!("the Docker context {name:?}"), &host, &cause))
}

/// The first of the usual sockets that exists; if none does, the one that the message should name.
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

    fn resolve_with(variables: &[(&str, &str)], home: Option<&Path>) -> Result<Address, Failure> {
        let variables: HashMap<_, _> = variables.iter().copied().collect();
        resolve(&|name| variables.get(name).map(|value| (*value).to_owned()), home)
    }

    #[test]
    fn docker_host_comes_first() {
        for (host, expected) in [
            ("unix:///run/x.sock", Address::Unix("/run/x.sock".into())),
            ("tcp://10.0.0.1:2376", Address::Tcp("10.0.0.1:2376".into())),
            ("tcp://builder", Address::Tcp("builder:2375".into())),
        ] {
            assert_eq!(
                resolve_with(&[("DOCKER_HOST", host), ("DOCKER_CONTEXT", "other")], None),
                Ok(expected)
            );
        }
    }

    #[test]
    fn what_is_not_supported_is_said() {
        let ssh = resolve_with(&[("DOCKER_HOST", "ssh://me@there")], None).unwrap_err();
        assert!(ssh.message.contains("not supported yet"), "{ssh}");
        let tls = resolve_with(&[("DOCKER_HOST", "tcp://there:2376"), ("DOCKER_TLS_VERIFY", "1")], None)
            .unwrap_err();
        assert!(tls.message.contains("TLS"), "{tls}");
        assert!(resolve_with(&[("DOCKER_HOST", "nonsense")], None).is_err());
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
    fn a_context_is_found_by_variable_or_configuration() {
        let expected = Ok(Address::Unix("/home/me/engine.sock".into()));
        let home = home_with_context("mine", "unix:///home/me/engine.sock", None);
        assert_eq!(resolve_with(&[("DOCKER_CONTEXT", "mine")], Some(home.path())), expected);
        let home = home_with_context("mine", "unix:///home/me/engine.sock", Some("mine"));
        assert_eq!(resolve_with(&[], Some(home.path())), expected);
        let moved = home.path().join(".docker").to_string_lossy().into_owned();
        assert_eq!(resolve_with(&[("DOCKER_CONFIG", &moved)], None), expected);
    }

    #[test]
    fn an_unknown_context_is_an_error() {
        let home = home_with_context("mine", "unix:///x.sock", Some("gone"));
        let failure = resolve_with(&[], Some(home.path())).unwrap_err();
        assert_eq!(failure.message, "the Docker context \"gone\" does not exist");
    }
}
