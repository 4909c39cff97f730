//! The addresses on which a forward listens. `localhost` is both loopback addresses: some programs connect to the IPv4
//! one, some to the IPv6 one.

use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::Poll;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// Between attempts to bind the address that another program uses.
const PAUSE: Duration = Duration::from_secs(1);

/// One or two bound addresses.
pub(super) struct Listeners {
    bound: Vec<TcpListener>,
    /// An address that is in use by another program.
    taken: Option<SocketAddr>,
}

impl Listeners {
    pub(super) async fn bind(host: &str, port: u16) -> io::Result<Self> {
        match host {
            "" | "localhost" => Self::bind_loopbacks(port).await,
            _ => Ok(Self { bound: vec![TcpListener::bind((host, port)).await?], taken: None }),
        }
    }

    /// Binds both loopback addresses. IPv4 is required where available: most programs try it first, or only it.
    async fn bind_loopbacks(port: u16) -> io::Result<Self> {
        let first = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                let only = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await?;
                return Ok(Self { bound: vec![only], taken: None });
            }
            first => first?,
        };
        let second = SocketAddr::from((Ipv6Addr::LOCALHOST, first.local_addr()?.port()));
        let mut listeners = Self { bound: vec![first], taken: None };
        match TcpListener::bind(second).await {
            Ok(listener) => listeners.bound.push(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => listeners.taken = Some(second),
            // A machine without IPv6.
            Err(error) => tracing::debug!(%error, %second, "a forward listens on IPv4 alone"),
        }
        Ok(listeners)
    }

    pub(super) fn port(&self) -> Option<u16> {
        Some(self.bound.first()?.local_addr().ok()?.port())
    }

    /// Returns the address that another program uses, if there is one.
    pub(super) fn taken(&self) -> Option<SocketAddr> {
        self.taken
    }

    /// Returns the next connection. Meanwhile retries to bind the address that is in use.
    pub(super) async fn accept(&mut self) -> io::Result<TcpStream> {
        loop {
            let Some(address) = self.taken else { return self.next().await };
            tokio::select! {
                accepted = self.next() => return accepted,
                () = tokio::time::sleep(PAUSE) => {}
            }
            if let Ok(listener) = TcpListener::bind(address).await {
                self.bound.push(listener);
                self.taken = None;
            }
        }
    }

    async fn next(&self) -> io::Result<TcpStream> {
        poll_fn(|context| {
            let mut polled = self.bound.iter().map(|listener| listener.poll_accept(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
        .map(|(stream, _)| stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopbacks(port: u16) -> [SocketAddr; 2] {
        [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
    }

    #[tokio::test]
    async fn localhost_binds_both_loopback_addresses() {
        let mut listeners = Listeners::bind("localhost", 0).await.unwrap();
        for address in loopbacks(listeners.port().unwrap()) {
            let (client, accepted) = tokio::join!(TcpStream::connect(address), listeners.accept());
            assert_eq!(client.unwrap().local_addr().unwrap(), accepted.unwrap().peer_addr().unwrap());
        }
    }

    #[tokio::test]
    async fn named_address_binds_one_listener() {
        let listeners = Listeners::bind("127.0.0.1", 0).await.unwrap();
        let [old, new] = loopbacks(listeners.port().unwrap());
        assert!(TcpStream::connect(old).await.is_ok());
        assert!(TcpStream::connect(new).await.is_err());
    }

    #[tokio::test]
    async fn loopback_in_use_is_bound_when_it_is_free() {
        let other = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.unwrap();
        let port = other.local_addr().unwrap().port();
        let mut listeners = Listeners::bind("localhost", port).await.unwrap();
        let [old, new] = loopbacks(port);
        assert_eq!(listeners.taken(), Some(new));
        let (client, accepted) = tokio::join!(TcpStream::connect(old), listeners.accept());
        assert!(client.is_ok() && accepted.is_ok());
        drop(other);
        let connect = async {
            loop {
                if let Ok(client) = TcpStream::connect(new).await {
                    return client;
                }
                tokio::task::yield_now().await;
            }
        };
        let both = async { tokio::join!(connect, listeners.accept()) };
        let (client, accepted) = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
        assert_eq!(client.local_addr().unwrap(), accepted.unwrap().peer_addr().unwrap());
        assert_eq!(listeners.taken(), None);
    }

    #[tokio::test]
    async fn port_in_use_is_not_shared() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let bound = Listeners::bind("localhost", other.local_addr().unwrap().port()).await;
        assert_eq!(bound.err().map(|error| error.kind()), Some(io::ErrorKind::AddrInUse));
    }
}
