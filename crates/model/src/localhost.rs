//! Names and addresses that mean this machine.

use std::net::IpAddr;

/// Returns whether every browser resolves a name to this machine: `localhost` and its subdomains.
pub fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.strip_suffix(".localhost").is_some_and(|rest| !rest.is_empty())
}

/// Returns whether a host is this machine: a localhost name, or a loopback or unspecified address.
pub fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>();
    is_localhost(bare) || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names() {
        for host in ["localhost", "lilt.localhost", "127.0.0.1", "0.0.0.0", "[::1]", "::"] {
            assert!(is_this_machine(host), "{host}");
        }
        assert!(!is_this_machine("devbox") && !is_this_machine("192.0.2.1"));
    }
}
