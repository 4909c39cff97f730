//! Host names of proxies and tunnels in front of the web port.

use lilt_model::Failure;

/// Returns the hosts of `--allowed-host`. A text that cannot be a host name is an error: it would let nobody in.
pub(crate) fn further(flags: &[String]) -> Result<Vec<String>, Failure> {
    let names = flags.iter().flat_map(|flag| flag.split([',', ' '])).filter(|name| !name.is_empty());
    names
        .map(|name| match lilt_server::is_further_host(name) {
            true => Ok(name.to_owned()),
            false => Err(Failure::user(format!("--allowed-host: {name:?} is not a host name"))
                .hint("for example dev.example.com or tunnel.example:8443; there are no wildcards")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use lilt_model::Failure;

    fn further(flag: &str) -> Result<Vec<String>, Failure> {
        super::further(&[flag.to_owned()])
    }

    #[test]
    fn allowed_hosts_are_separated_by_commas() {
        assert_eq!(further("").unwrap(), [] as [String; 0]);
        assert_eq!(further("a.example, b.example:8443,").unwrap(), ["a.example", "b.example:8443"]);
        let failure = further("*.example").unwrap_err();
        assert!(failure.message.contains("\"*.example\" is not a host name"), "{failure}");
    }
}
