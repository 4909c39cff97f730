//! Whether the address of an API server leads out of the local network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Domains that public DNS servers do not resolve.
const LOCAL_ENDS: [&str; 9] =
    [".localhost", ".local", ".internal", ".lan", ".home", ".home.arpa", ".test", ".testing", ".svc"];

/// Where a server is, as far as its address shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine or the local network.
    Local,
    /// An address that anybody can reach.
    Public,
    /// A name that has to be resolved.
    Name(String),
}

impl Reach {
    /// Classifies a URL such as `https://127.0.0.1:6443`.
    pub fn of_server(url: &str) -> Reach {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if let Ok(address) = host.parse::<IpAddr>() {
            return if is_public(address) { Reach::Public } else { Reach::Local };
        }
        let is_local = !host.contains('.') || LOCAL_ENDS.iter().any(|end| host.ends_with(end));
        if is_local { Reach::Local } else { Reach::Name(host) }
    }
}

/// Returns whether an address is neither of this machine nor of a private network.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    // Carrier-grade NAT, which VPNs between one's own machines use, too.
    let is_shared = first == 100 && (64..128).contains(&second);
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || is_shared)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    !(address.is_loopback()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_local_public_or_to_be_resolved() {
        for local in [
            "https://127.0.0.1:6443",
            "https://[::1]:6443",
            "https://0.0.0.0:6550",
            "https://192.168.49.2:8443",
            "https://10.1.2.3",
            "https://172.18.0.3:6443/path",
            "https://169.254.1.1",
            "https://100.100.1.2:6443",
            "https://[fd00::1]:6443",
            "https://[fe80::1]",
            "https://[::ffff:10.0.0.1]",
            "https://localhost:6443",
            "https://host.docker.internal:6443",
            "https://kubernetes.docker.internal:6443",
            "https://api.crc.testing:6443",
            "https://me@devbox:6443",
            "127.0.0.1:8080",
        ] {
            assert_eq!(Reach::of_server(local), Reach::Local, "{local}");
        }
        for public in ["https://34.1.2.3", "https://172.32.0.1:443", "https://[2a00:1450::1]:6443"] {
            assert_eq!(Reach::of_server(public), Reach::Public, "{public}");
        }
        let named = Reach::of_server("https://K8s.Example.com.:6443/clusters/x");
        assert_eq!(named, Reach::Name("k8s.example.com".to_owned()));
    }
}
