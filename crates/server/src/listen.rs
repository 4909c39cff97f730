//! Opening the web port.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lilt_model::Failure;
use tokio::net::TcpListener;

/// Why a port could not be opened.
#[derive(Debug)]
pub enum Unbound {
    /// Another process listens on it.
    Taken(u16),
    Failed(Failure),
}

impl From<Unbound> for Failure {
    fn from(unbound: Unbound) -> Failure {
        match unbound {
            Unbound::Taken(port) => Failure::environment(format!(
                "Tilt cannot start because you already have another process on port {port}"
            ))
            .hint("--port=auto takes the next free port; --port and TILT_PORT choose one"),
            Unbound::Failed(failure) => failure,
        }
    }
}

/// Listens on one address. `localhost` means `127.0.0.1`, and `[::1]` only where there is no IPv4: taking the other
/// one when the first is taken would hide that two sessions answer to the same name.
pub async fn bind(host: &str, port: u16) -> Result<TcpListener, Unbound> {
    let bound = match host {
        "" | "localhost" => match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await
            }
            bound => bound,
        },
        _ => match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => TcpListener::bind((address, port)).await,
            Err(_) => TcpListener::bind((host, port)).await,
        },
    };
    bound.map_err(|error| failure(host, port, &error))
}

fn failure(host: &str, port: u16, error: &io::Error) -> Unbound {
    Unbound::Failed(match error.kind() {
        io::ErrorKind::AddrInUse => return Unbound::Taken(port),
        io::ErrorKind::PermissionDenied => Failure::environment(format!("no right to listen on port {port}"))
            .hint("choose a port above 1023 with --port"),
        _ => Failure::environment(format!("cannot listen on {host} port {port}: {error}"))
            .hint("--host must be a name or address of this machine"),
    })
}
