//! Opens the web port: one socket for each address of the host name.
//!
//! A browser that opens `localhost` may connect to `127.0.0.1` or to `[::1]`. If lilt listened on only one of them, another
//! process could listen on the other one and get the user's sign-in link and cookie. So lilt listens on all addresses, and
//! a port counts as in use if another process listens on one of them.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::Poll;

use lilt_model::Failure;
use lilt_model::localhost::is_localhost;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// How many random ports are tried: another process may listen on one of the addresses of a chosen port.
const RANDOM_PORT_ATTEMPTS: usize = 20;

/// How many connections may wait to be accepted on each socket.
const BACKLOG: u32 = 1024;

/// The open sockets of one port; at least one.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
}

/// Why a port could not be opened.
#[derive(Debug)]
pub enum BindError {
    /// Another process listens on this address.
    InUse(SocketAddr),
    Failed(Failure),
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Failure {
        match error {
            BindError::InUse(address) => Failure::environment(format!(
                "Tilt cannot start because you already have another process on port {}",
                address.port()
            ))
            .hint("--port=auto takes the next free port; --port and TILT_PORT choose one"),
            BindError::Failed(failure) => failure,
        }
    }
}

impl Listener {
    pub fn port(&self) -> u16 {
        self.addresses.first().map_or(0, SocketAddr::port)
    }

    /// Returns the addresses it listens on, in the order of preference.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Waits for the next connection on any of the sockets; returns it with the address of the client.
    pub(crate) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| {
            let mut polled = self.sockets.iter().map(|socket| socket.poll_accept(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }
}

impl TryFrom<TcpListener> for Listener {
    type Error = io::Error;

    fn try_from(socket: TcpListener) -> io::Result<Listener> {
        Ok(Listener { addresses: vec![socket.local_addr()?], sockets: vec![socket] })
    }
}

/// Listens on all addresses of `host`. Port 0 chooses a free port.
///
/// Addresses that this machine does not have (for example without IPv6) are skipped.
pub async fn bind(host: &str, port: u16) -> Result<Listener, BindError> {
    let addresses = addresses(host).await.map_err(|error| failure(host, port, &error))?;
    let mut bound = bind_all(&addresses, port).await;
    for _ in 1..RANDOM_PORT_ATTEMPTS {
        match &bound {
            Err((_, error)) if port == 0 && error.kind() == io::ErrorKind::AddrInUse => {
                bound = bind_all(&addresses, port).await;
            }
            _ => break,
        }
    }
    bound.map_err(|(address, error)| match error.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse(address),
        _ => failure(host, address.port(), &error),
    })
}

/// Returns the addresses to listen on for a host name.
///
/// For all interfaces they contain both loopback addresses, since links have `localhost` then.
async fn addresses(host: &str) -> io::Result<Vec<IpAddr>> {
    let loopbacks = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if host.is_empty() || is_localhost(host) {
        return Ok(loopbacks);
    }
    match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) => {
            Ok(vec![IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::LOCALHOST)])
        }
        Ok(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => {
            Ok(vec![IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)])
        }
        Ok(address) => Ok(vec![address]),
        Err(_) => {
            let mut found: Vec<IpAddr> = Vec::new();
            for address in tokio::net::lookup_host((host, 0)).await? {
                if !found.contains(&address.ip()) {
                    found.push(address.ip());
                }
            }
            Ok(found)
        }
    }
}

async fn bind_all(addresses: &[IpAddr], port: u16) -> Result<Listener, (SocketAddr, io::Error)> {
    let mut listener = Listener { sockets: Vec::new(), addresses: Vec::new() };
    let mut unavailable = None;
    for address in addresses {
        // A random port is the same on all addresses.
        let port = listener.addresses.first().map_or(port, SocketAddr::port);
        let wanted = SocketAddr::new(*address, port);
        let opened = listen(wanted).and_then(|socket| socket.local_addr().map(|address| (socket, address)));
        match opened {
            Ok((socket, address)) => {
                listener.sockets.push(socket);
                listener.addresses.push(address);
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied) =>
            {
                return Err((wanted, error));
            }
            Err(error) => {
                tracing::debug!(%error, %wanted, "address is not available");
                unavailable = Some((wanted, error));
            }
        }
    }
    match unavailable {
        Some(unavailable) if listener.sockets.is_empty() => Err(unavailable),
        None if listener.sockets.is_empty() => {
            Err((SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), io::ErrorKind::AddrNotAvailable.into()))
        }
        _ => Ok(listener),
    }
}

/// Opens a socket for one address.
///
/// A socket for IPv6 does not accept IPv4 connections, whatever the system's default is: IPv4 has a separate socket.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => {
            let socket = TcpSocket::new_v6()?;
            rustix::net::sockopt::set_ipv6_v6only(&socket, true)?;
            socket
        }
    };
    // As in the standard library, so that a port is free as soon as its session has ended.
    if cfg!(unix) {
        socket.set_reuseaddr(true)?;
    }
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn failure(host: &str, port: u16, error: &io::Error) -> BindError {
    BindError::Failed(match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Failure::environment(format!("no permission to listen on port {port}"))
                .hint("choose a port above 1023 with --port")
        }
        _ => Failure::environment(format!("cannot listen on {host} port {port}: {error}"))
            .hint("--host must be a name or address of this machine"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACKS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

    #[tokio::test]
    async fn bind_localhost_accepts_on_both_loopbacks() {
        let listener = bind("localhost", 0).await.unwrap();
        for address in LOOPBACKS {
            let address = SocketAddr::new(address, listener.port());
            let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
            assert_eq!(client.unwrap().local_addr().unwrap(), accepted.unwrap().1);
        }
    }

    #[tokio::test]
    async fn bind_refuses_port_of_which_either_loopback_is_taken() {
        for address in LOOPBACKS {
            let other = TcpListener::bind((address, 0)).await.unwrap();
            let port = other.local_addr().unwrap().port();
            for host in ["localhost", "0.0.0.0", "::"] {
                let refused = bind(host, port).await.unwrap_err();
                assert!(matches!(refused, BindError::InUse(taken) if taken.port() == port), "{refused:?}");
            }
        }
    }

    #[tokio::test]
    async fn bind_all_interfaces_accepts_on_both_loopbacks() {
        for host in ["0.0.0.0", "::", "[::]"] {
            let listener = bind(host, 0).await.unwrap();
            for address in LOOPBACKS {
                let address = SocketAddr::new(address, listener.port());
                let client =
                    TcpStream::connect(address).await.unwrap_or_else(|_| panic!("{host}: {address}"));
                let (_, peer) = listener.accept().await.unwrap();
                assert_eq!(peer, client.local_addr().unwrap(), "{host}");
            }
        }
    }

    #[tokio::test]
    async fn bind_leaves_out_addresses_that_this_machine_lacks() {
        // A documentation address simulates a machine without IPv6.
        let absent: IpAddr = "2001:db8::1".parse().unwrap();
        let listener = bind_all(&[LOOPBACKS[0], absent], 0).await.unwrap();
        assert_eq!(listener.addresses().len(), 1);
        let (address, _) = bind_all(&[absent], 0).await.unwrap_err();
        assert_eq!(address.ip(), absent);
    }

    #[tokio::test]
    async fn bind_address_listens_on_that_address_alone() {
        let listener = bind("127.0.0.1", 0).await.unwrap();
        assert_eq!(listener.addresses().len(), 1);
        assert!(TcpStream::connect(SocketAddr::new(LOOPBACKS[1], listener.port())).await.is_err());
    }
}
