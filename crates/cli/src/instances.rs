//! The sessions of this user that run now, and which of them a command means.
//!
//! Every session writes who it is into its private folder. The folder's lock tells whether it lives (see
//! `host::session_dir`), so one that was killed is never found.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use lilt_host::session_dir::{self, SessionDir};
use lilt_host::{environment, files, private_file};
use lilt_model::{Failure, Timestamp};
use lilt_server::{AuthKeys, CodeLifetime, RunningSession};
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::{terminal, token};

/// Where a session is if nobody says otherwise.
pub(crate) const DEFAULT_PORT: u16 = 10350;
pub(crate) const DEFAULT_HOST: &str = "localhost";

const FILE: &str = "session.json";

/// How long the links of [`running`] work: a menu of the page may stay open for a while.
const MENU_LIFETIME: CodeLifetime = CodeLifetime::Limited(Duration::from_secs(600));

/// For commands that speak to a session.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Connect {
    /// Port of the session; else TILT_PORT, else the session of this folder, else the only one, else 10350
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Host of the session; else TILT_HOST, else localhost
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
}

/// A session, as the others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Instance {
    pub(crate) pid: u32,
    /// `up`, `ci` or `demo`.
    pub(crate) command: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tiltfile: PathBuf,
    pub(crate) started: Timestamp,
    /// lilt's own.
    pub(crate) version: String,
    /// What its web port asks for; the file is for this user alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// Where it listens. Commands connect to these: who answers to a name depends on the resolver.
    #[serde(default)]
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Instance {
    /// Lets others find this session as long as the folder lives.
    pub(crate) fn announce(&self, folder: &SessionDir) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|error| Failure::internal(error.to_string()))?;
        let path = folder.path().join(FILE);
        files::save_private(&path, &text)
            .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
    }

    /// A client with the credentials of this session.
    pub(crate) fn client(&self) -> Client {
        let token = self.token.as_deref().map(Arc::from);
        Client::new(&self.host, self.port).with_addresses(&self.addresses).with_token(token)
    }

    /// Returns `host` if this session holds every address that it may stand for, else the session's own name: a link
    /// must not lead to an address that another process may hold.
    fn name_or(&self, host: String) -> String {
        let is_held = |wanted: IpAddr| {
            self.addresses.iter().map(SocketAddr::ip).any(|address| {
                address == wanted || (address.is_unspecified() && address.is_ipv4() == wanted.is_ipv4())
            })
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_held = match bare.parse::<IpAddr>() {
            Ok(address) => !address.is_unspecified() && is_held(address),
            Err(_) if lilt_server::is_localhost(bare) => {
                // Where this machine lacks IPv6, nobody else has that address either.
                lilt_server::is_localhost(&self.host)
                    || (is_held(Ipv4Addr::LOCALHOST.into()) && is_held(Ipv6Addr::LOCALHOST.into()))
            }
            Err(_) => true,
        };
        if is_held { host } else { self.host.clone() }
    }

    fn folder(&self) -> &Path {
        self.tiltfile.parent().unwrap_or(Path::new("/"))
    }

    /// One line about it.
    pub(crate) fn describe(&self) -> String {
        let (command, pid, port) = (&self.command, self.pid, self.port);
        let age = age(lilt_host::clock::now().since(self.started).as_secs());
        format!("lilt {command} of {}, port {port}, process {pid}, for {age}", self.tiltfile.display())
    }
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// All that run now, the oldest first.
pub(crate) fn all() -> Vec<Instance> {
    let texts = session_dir::living().into_iter().filter_map(|folder| {
        let read = private_file::read(&folder.join(FILE));
        read.unwrap_or_else(|failure| {
            tracing::warn!(%failure, "a running session is ignored");
            None
        })
    });
    // One that is just starting or of another version is not known; its port can still be named.
    let mut instances: Vec<Instance> = texts.filter_map(|text| serde_json::from_slice(&text).ok()).collect();
    instances.sort_by_key(|instance| (instance.started, instance.pid));
    instances
}

/// The same for their pages, which lead to one another.
pub(crate) fn running() -> Vec<RunningSession> {
    let entry = |instance: Instance| RunningSession {
        name: instance.folder().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        tiltfile: instance.tiltfile.display().to_string(),
        port: instance.port,
        link: link(&instance),
        addresses: instance.addresses.iter().map(|address| address.ip().to_string()).collect(),
        current: false,
    };
    // Port 0: it has no page.
    all().into_iter().filter(|instance| instance.port != 0).map(entry).collect()
}

/// The page of a session, with a code that lets this user's browser in.
fn link(instance: &Instance) -> String {
    let address = Client::new(&instance.host, instance.port).address();
    let keys = instance.token.as_deref().map(|token| AuthKeys::new(Arc::from(token)));
    token::link(&address, keys.as_ref(), MENU_LIFETIME).unwrap_or(address)
}

/// Writes the new token of the session in this folder to where commands find it.
pub(crate) fn replace_token(folder: &Path, token: &str) -> Result<(), Failure> {
    let path = folder.join(FILE);
    let unwritten = |error: &dyn std::fmt::Display| {
        Failure::environment(format!("cannot write {}: {error}", path.display()))
    };
    let text = private_file::read(&path)?.unwrap_or_default();
    let instance: Instance = serde_json::from_slice(&text).map_err(|error| unwritten(&error))?;
    let instance = Instance { token: Some(token.to_owned()), ..instance };
    let text = serde_json::to_vec(&instance).map_err(|error| unwritten(&error))?;
    files::save_private(&path, &text).map_err(|error| unwritten(&error))
}

/// Describes the sessions that build and deploy this Tiltfile now.
pub(crate) fn deploying(tiltfile: &Path) -> Vec<String> {
    let deploys = |instance: &Instance| matches!(instance.command.as_str(), "up" | "ci");
    let is_same = |instance: &Instance| deploys(instance) && instance.tiltfile == tiltfile;
    let running = all().into_iter().filter(is_same);
    let described = running.map(|instance| match instance.port {
        // It has no page.
        0 => instance.describe(),
        _ => format!("{} ({})", instance.describe(), instance.client().address()),
    });
    described.collect()
}

/// Warns of sessions from [`deploying`], if there are any.
pub(crate) fn warn_of(running: &[String]) {
    if !running.is_empty() {
        terminal::aside(&format!("warning: this Tiltfile is already running: {}", running.join("; ")));
    }
}

/// The session that a command means.
pub(crate) fn choose(connect: &Connect) -> Result<Client, Failure> {
    let host = connect.host.clone().or_else(|| environment::variable(environment::TILT_HOST));
    let port = match connect.port {
        Some(port) => Some(port),
        None => environment::variable(environment::TILT_PORT).map_or(Ok(None), |text| number(&text))?,
    };
    let mut instances = all();
    if let Some(host) = &host {
        // Sessions of another machine are not known here.
        instances.retain(|instance| is_here(host) || *host == instance.host);
    }
    let folder = std::path::absolute(".").and_then(|folder| folder.canonicalize());
    let folder = folder.unwrap_or_else(|_| PathBuf::from("/"));
    let found = match port {
        Some(port) => instances.iter().find(|instance| instance.port == port),
        None => pick(&instances, &folder)?,
    };
    let host = match (host, found) {
        (Some(host), Some(instance)) => instance.name_or(host),
        (Some(host), None) => host,
        (None, found) => found.map_or(DEFAULT_HOST.to_owned(), |instance| instance.host.clone()),
    };
    let port = port.or(found.map(|instance| instance.port)).unwrap_or(DEFAULT_PORT);
    let addresses = found.map(|instance| instance.addresses.as_slice()).unwrap_or_default();
    let client = Client::new(&host, port).with_addresses(addresses);
    Ok(match found {
        Some(instance) => client.with_token(instance.token.as_deref().map(Arc::from)),
        None => client.with_kept_token(token::kept(port)?),
    })
}

/// Whether a host is this machine in any case.
pub(crate) fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<std::net::IpAddr>();
    lilt_server::is_localhost(bare)
        || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

/// The port of TILT_PORT; none if it lets `up` choose one.
fn number(text: &str) -> Result<Option<u16>, Failure> {
    match text {
        "auto" | "random" => Ok(None),
        _ => match text.parse() {
            Ok(port) => Ok(Some(port)),
            Err(_) => Err(Failure::user(format!("invalid TILT_PORT {text:?} (expected a port number)"))),
        },
    }
}

/// The nearest one above a folder, else the only one. Several that are equally near: the one on the default port.
fn pick<'a>(instances: &'a [Instance], folder: &Path) -> Result<Option<&'a Instance>, Failure> {
    let around = |instance: &&Instance| folder.starts_with(instance.folder());
    let depth = |instance: &Instance| instance.folder().components().count();
    let nearest = instances.iter().filter(around).map(depth).max();
    let candidates: Vec<&Instance> = match nearest {
        Some(nearest) => instances.iter().filter(around).filter(|it| depth(it) == nearest).collect(),
        None => instances.iter().collect(),
    };
    match candidates.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => match several.iter().find(|instance| instance.port == DEFAULT_PORT) {
            Some(instance) => Ok(Some(instance)),
            None => Err(unclear(several)),
        },
    }
}

fn unclear(several: &[&Instance]) -> Failure {
    let list: Vec<String> = several.iter().map(|instance| format!("  {}", instance.describe())).collect();
    Failure::user("several sessions run, and none is nearer to this folder than the others")
        .detail(list.join("\n"))
        .hint("say which one with --port")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(tiltfile: &str, port: u16) -> Instance {
        Instance {
            pid: 1,
            command: "up".into(),
            host: "localhost".into(),
            port,
            tiltfile: tiltfile.into(),
            started: Timestamp::ZERO,
            version: "0".into(),
            token: None,
            addresses: Vec::new(),
        }
    }

    fn picked(instances: &[Instance], folder: &str) -> Result<Option<u16>, String> {
        let picked = pick(instances, Path::new(folder)).map_err(|failure| failure.message)?;
        Ok(picked.map(|instance| instance.port))
    }

    #[test]
    fn the_nearest_session_above_a_folder_is_meant() {
        let instances =
            [instance("/a/Tiltfile", 1), instance("/a/b/Tiltfile", 2), instance("/ab/Tiltfile", 3)];
        assert_eq!(picked(&instances, "/a"), Ok(Some(1)));
        assert_eq!(picked(&instances, "/a/c/d"), Ok(Some(1)));
        assert_eq!(picked(&instances, "/a/b/c"), Ok(Some(2)));
        assert_eq!(picked(&instances, "/ab"), Ok(Some(3)));
        assert!(picked(&instances, "/c").is_err(), "none is nearer");
    }

    #[test]
    fn elsewhere_the_only_one_is_meant_or_the_one_on_the_default_port() {
        assert_eq!(picked(&[], "/c"), Ok(None));
        assert_eq!(picked(&[instance("/a/Tiltfile", 1)], "/c"), Ok(Some(1)));
        let two = [instance("/a/Tiltfile", 1), instance("/b/Tiltfile", DEFAULT_PORT)];
        assert_eq!(picked(&two, "/c"), Ok(Some(DEFAULT_PORT)));
        assert_eq!(picked(&two, "/a"), Ok(Some(1)));
    }

    #[test]
    fn this_machine_has_several_names() {
        for host in ["localhost", "lilt.localhost", "127.0.0.1", "0.0.0.0", "[::1]", "::"] {
            assert!(is_here(host), "{host}");
        }
        assert!(!is_here("devbox") && !is_here("192.0.2.1"));
    }

    #[test]
    fn client_names_the_session_by_an_address_that_it_holds() {
        let session = |host: &str, addresses: &[&str]| Instance {
            host: host.into(),
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            ..instance("/a/Tiltfile", 1)
        };
        let only = session("127.0.0.1", &["127.0.0.1:1"]);
        let both = session("localhost", &["127.0.0.1:1", "[::1]:1"]);
        let all = session("0.0.0.0", &["0.0.0.0:1", "[::1]:1"]);
        for (session, asked, named) in [
            (&only, "localhost", "127.0.0.1"),
            (&only, "lilt.localhost", "127.0.0.1"),
            (&only, "[::1]", "127.0.0.1"),
            (&only, "127.0.0.1", "127.0.0.1"),
            (&both, "lilt.localhost", "lilt.localhost"),
            (&both, "::1", "::1"),
            (&both, "0.0.0.0", "localhost"),
            (&all, "localhost", "localhost"),
            (&all, "127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(session.name_or(asked.to_owned()), named, "{asked} of {}", session.host);
        }
    }

    #[test]
    fn two_of_one_folder_are_told_apart_by_port() {
        let two = [instance("/a/Tiltfile", 1), instance("/a/other.star", 2)];
        assert!(picked(&two, "/a").is_err());
    }
}
