//! The sessions of this user that run now, and which of them a command means.
//!
//! Every session writes a record into its private folder. The folder's lock shows whether it is running (see
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

/// The default address of a session.
pub const DEFAULT_PORT: u16 = 10350;
pub const DEFAULT_HOST: &str = "localhost";

const RECORD_FILE: &str = "session.json";

/// The flags of commands that connect to a session.
#[derive(Args, Clone, Debug, Default)]
pub struct Connect {
    /// Port of the session; else TILT_PORT, else the session of this folder, else the only one, else 10350
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Host of the session; else TILT_HOST, else localhost
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
}

/// The record that a session writes into its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
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

impl SessionRecord {
    /// Lets commands find this session as long as the folder exists.
    pub fn publish(&self, folder: &SessionDir) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|error| Failure::internal(error.to_string()))?;
        let path = folder.path().join(RECORD_FILE);
        files::save_private(&path, &text)
            .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
    }

    /// Returns a client with the credentials of this session.
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
                // Without IPv6 on this machine, no other process has that address either.
                is_localhost(&self.host)
                    || (is_held(Ipv4Addr::LOCALHOST.into()) && is_held(Ipv6Addr::LOCALHOST.into()))
            }
            Err(_) => true,
        };
        if is_held { host } else { self.host.clone() }
    }

    /// Returns the folder of the project.
    pub fn folder(&self) -> &Path {
        self.tiltfile.parent().unwrap_or(Path::new("/"))
    }

    /// Describes it in one line.
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

/// Returns the sessions that run now, the oldest first.
pub fn running() -> Vec<SessionRecord> {
    let texts = session_dir::running().into_iter().filter_map(|folder| {
        let read = private_file::read(&folder.join(RECORD_FILE));
        read.unwrap_or_else(|failure| {
            tracing::warn!(%failure, "a running session is ignored");
            None
        })
    });
    // A starting session, or one of another version, is unknown; its port can still be given.
    let mut sessions: Vec<SessionRecord> =
        texts.filter_map(|text| serde_json::from_slice(&text).ok()).collect();
    sessions.sort_by_key(|session| (session.started, session.pid));
    sessions
}

/// Writes the new token of a session into its record in this folder.
pub fn replace_token(folder: &Path, token: &str) -> Result<(), Failure> {
    let path = folder.join(RECORD_FILE);
    let unwritten = |error: &dyn std::fmt::Display| {
        Failure::environment(format!("cannot write {}: {error}", path.display()))
    };
    let text = private_file::read(&path)?.unwrap_or_default();
    let session: SessionRecord = serde_json::from_slice(&text).map_err(|error| unwritten(&error))?;
    let session = SessionRecord { token: Some(token.to_owned()), ..session };
    let text = serde_json::to_vec(&session).map_err(|error| unwritten(&error))?;
    files::save_private(&path, &text).map_err(|error| unwritten(&error))
}

/// Describes the sessions that build and deploy this Tiltfile now.
pub fn describe_deploying(tiltfile: &Path) -> Vec<String> {
    let deploys = |session: &SessionRecord| matches!(session.command.as_str(), "up" | "ci");
    let is_same = |session: &SessionRecord| deploys(session) && session.tiltfile == tiltfile;
    let running = running().into_iter().filter(is_same);
    let described = running.map(|session| match session.port {
        // It has no page.
        0 => session.describe(),
        _ => format!("{} ({})", session.describe(), session.client().address()),
    });
    described.collect()
}

/// Returns a client of the session that a command means.
pub fn choose(connect: &Connect) -> Result<Client, Failure> {
    let host = connect.host.clone().or_else(|| environment::variable(environment::TILT_HOST));
    let port = match connect.port {
        Some(port) => Some(port),
        None => environment::variable(environment::TILT_PORT).map_or(Ok(None), |text| parse_port(&text))?,
    };
    let mut sessions = running();
    if let Some(host) = &host {
        // Sessions of another machine are not known here.
        sessions.retain(|session| is_this_machine(host) || *host == session.host);
    }
    let folder = std::path::absolute(".").and_then(|folder| folder.canonicalize());
    let folder = folder.unwrap_or_else(|_| PathBuf::from("/"));
    let found = match port {
        Some(port) => sessions.iter().find(|session| session.port == port),
        None => nearest(&sessions, &folder)?,
    };
    let host = match (host, found) {
        (Some(host), Some(session)) => session.name_or(host),
        (Some(host), None) => host,
        (None, found) => found.map_or(DEFAULT_HOST.to_owned(), |session| session.host.clone()),
    };
    let port = port.or(found.map(|session| session.port)).unwrap_or(DEFAULT_PORT);
    let addresses = found.map(|session| session.addresses.as_slice()).unwrap_or_default();
    let client = Client::new(&host, port).with_addresses(addresses);
    Ok(match found {
        Some(session) => client.with_token(session.token.as_deref().map(Arc::from)),
        None => client.with_stored_token(sign_in::load_token(port)?),
    })
}

/// Parses TILT_PORT; none if it lets `up` choose a port.
fn parse_port(text: &str) -> Result<Option<u16>, Failure> {
    match text {
        "auto" | "random" => Ok(None),
        _ => match text.parse() {
            Ok(port) => Ok(Some(port)),
            Err(_) => Err(Failure::user(format!("invalid TILT_PORT {text:?} (expected a port number)"))),
        },
    }
}

/// Returns the session of the nearest project around a folder, else the only session. Of several that are equally near, it
/// is the one on the default port.
fn nearest<'a>(sessions: &'a [SessionRecord], folder: &Path) -> Result<Option<&'a SessionRecord>, Failure> {
    let around = |session: &&SessionRecord| folder.starts_with(session.folder());
    let depth = |session: &SessionRecord| session.folder().components().count();
    let depth_of_nearest = sessions.iter().filter(around).map(depth).max();
    let candidates: Vec<&SessionRecord> = match depth_of_nearest {
        Some(nearest) => sessions.iter().filter(around).filter(|it| depth(it) == nearest).collect(),
        None => sessions.iter().collect(),
    };
    match candidates.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => match several.iter().find(|session| session.port == DEFAULT_PORT) {
            Some(session) => Ok(Some(session)),
            None => Err(ambiguous(several)),
        },
    }
}

fn ambiguous(several: &[&SessionRecord]) -> Failure {
    let list: Vec<String> = several.iter().map(|session| format!("  {}", session.describe())).collect();
    Failure::user("several sessions run, and none is nearer to this folder than the others")
        .detail(list.join("\n"))
        .hint("say which one with --port")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(tiltfile: &str, port: u16) -> SessionRecord {
        SessionRecord {
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

    fn picked(sessions: &[SessionRecord], folder: &str) -> Result<Option<u16>, String> {
        let picked = nearest(sessions, Path::new(folder)).map_err(|failure| failure.message)?;
        Ok(picked.map(|session| session.port))
    }

    #[test]
    fn nearest_session_around_a_folder_is_chosen() {
        let sessions = [session("/a/Tiltfile", 1), session("/a/b/Tiltfile", 2), session("/ab/Tiltfile", 3)];
        assert_eq!(picked(&sessions, "/a"), Ok(Some(1)));
        assert_eq!(picked(&sessions, "/a/c/d"), Ok(Some(1)));
        assert_eq!(picked(&sessions, "/a/b/c"), Ok(Some(2)));
        assert_eq!(picked(&sessions, "/ab"), Ok(Some(3)));
        assert!(picked(&sessions, "/c").is_err(), "none is nearer");
    }

    #[test]
    fn only_session_or_default_port_is_chosen_elsewhere() {
        assert_eq!(picked(&[], "/c"), Ok(None));
        assert_eq!(picked(&[session("/a/Tiltfile", 1)], "/c"), Ok(Some(1)));
        let two = [session("/a/Tiltfile", 1), session("/b/Tiltfile", DEFAULT_PORT)];
        assert_eq!(picked(&two, "/c"), Ok(Some(DEFAULT_PORT)));
        assert_eq!(picked(&two, "/a"), Ok(Some(1)));
    }

    #[test]
    fn client_uses_an_address_of_the_session() {
        let session = |host: &str, addresses: &[&str]| SessionRecord {
            host: host.into(),
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            ..session("/a/Tiltfile", 1)
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
    fn two_sessions_of_one_folder_need_a_port() {
        let two = [session("/a/Tiltfile", 1), session("/a/other.star", 2)];
        assert!(picked(&two, "/a").is_err());
    }
}
