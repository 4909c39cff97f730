//! The sessions of this user that run now, and which of them a command means.
//!
//! Every session writes who it is into its private folder. The folder's lock tells whether it lives (see
//! `host::session_dir`), so one that was killed is never found.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use lilt_host::session_dir::{self, SessionDir};
use lilt_host::{environment, files, private_file};
use lilt_model::localhost::{is_localhost, is_this_machine};
use lilt_model::{Failure, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Client, sign_in};

/// Where a session is if nobody says otherwise.
pub const DEFAULT_PORT: u16 = 10350;
pub const DEFAULT_HOST: &str = "localhost";

const FILE: &str = "session.json";

/// For commands that speak to a session.
#[derive(Args, Clone, Debug, Default)]
pub struct Connect {
    /// Port of the session; else TILT_PORT, else the session of this folder, else the only one, else 10350
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Host of the session; else TILT_HOST, else localhost
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
}

/// A session, as the others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    pub pid: u32,
    /// `up`, `ci` or `demo`.
    pub command: String,
    pub host: String,
    pub port: u16,
    pub tiltfile: PathBuf,
    pub started: Timestamp,
    /// lilt's own.
    pub version: String,
    /// What its web port asks for; the file is for this user alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Where it listens. Commands connect to these: who answers to a name depends on the resolver.
    #[serde(default)]
    pub addresses: Vec<SocketAddr>,
}

impl Instance {
    /// Lets others find this session as long as the folder lives.
    pub fn announce(&self, folder: &SessionDir) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|error| Failure::internal(error.to_string()))?;
        let path = folder.path().join(FILE);
        files::save_private(&path, &text)
            .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
    }

    /// A client with the credentials of this session.
    pub fn client(&self) -> Client {
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
            Err(_) if is_localhost(bare) => {
                // Where this machine lacks IPv6, nobody else has that address either.
                is_localhost(&self.host)
                    || (is_held(Ipv4Addr::LOCALHOST.into()) && is_held(Ipv6Addr::LOCALHOST.into()))
            }
            Err(_) => true,
        };
        if is_held { host } else { self.host.clone() }
    }

    /// The project's.
    pub fn folder(&self) -> &Path {
        self.tiltfile.parent().unwrap_or(Path::new("/"))
    }

    /// One line about it.
    pub fn describe(&self) -> String {
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
pub fn all() -> Vec<Instance> {
    let texts = session_dir::running().into_iter().filter_map(|folder| {
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

/// Writes the new token of the session in this folder to where commands find it.
pub fn replace_token(folder: &Path, token: &str) -> Result<(), Failure> {
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
pub fn deploying(tiltfile: &Path) -> Vec<String> {
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

/// The session that a command means.
pub fn choose(connect: &Connect) -> Result<Client, Failure> {
    let host = connect.host.clone().or_else(|| environment::variable(environment::TILT_HOST));
    let port = match connect.port {
        Some(port) => Some(port),
        None => environment::variable(environment::TILT_PORT).map_or(Ok(None), |text| number(&text))?,
    };
    let mut instances = all();
    if let Some(host) = &host {
        // Sessions of another machine are not known here.
        instances.retain(|instance| is_this_machine(host) || *host == instance.host);
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
        None => client.with_kept_token(sign_in::kept_token(port)?),
    })
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
