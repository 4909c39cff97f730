//! Who may come in: nobody but pages of this server and programs of this machine.
//!
//! A browser tells in `Host` by which name it addressed the server and in `Origin` which page asked. A name that is not
//! ours means DNS rebinding, an origin that is not ours another site's page; both are refused on every route.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The names this server answers to, each with a port.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    hosts: Arc<[String]>,
    /// Listening on all interfaces: any literal address is ours. Rebinding needs a name, so this lets nobody in.
    any_address: bool,
    port: u16,
}

impl Allowed {
    pub(crate) fn new(given: &[String], port: u16) -> Self {
        let own = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let any_address =
            given.iter().any(|host| bare_address(host).is_some_and(|address| address.is_unspecified()));
        let hosts = own
            .iter()
            .chain(given)
            .filter(|host| !host.is_empty())
            .map(|host| with_port(host, port))
            .collect();
        Self { hosts, any_address, port }
    }

    fn has_host(&self, host: &str) -> bool {
        let host = with_port(host, 80);
        if self.hosts.contains(&host) {
            return true;
        }
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        self.any_address && port == self.port.to_string() && bare_address(name).is_some()
    }

    fn has_origin(&self, origin: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|host| self.has_host(host))
    }
}

/// An address without port, IPv6 with or without brackets.
fn bare_address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// `name:port` in lower case, as hosts are compared.
fn with_port(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    match bare_address(&host) {
        Some(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        Some(IpAddr::V4(_)) => format!("{host}:{port}"),
        None if host.contains(':') => host,
        None => format!("{host}:{port}"),
    }
}

pub(crate) async fn check(State(allowed): State<Allowed>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&allowed, request.headers()) {
        Some(reason) => (StatusCode::FORBIDDEN, reason).into_response(),
        None => next.run(request).await,
    };
    harden(response.headers_mut());
    response
}

fn refusal(allowed: &Allowed, headers: &HeaderMap) -> Option<&'static str> {
    let host = only_value(headers, &header::HOST).ok().flatten();
    if !host.is_some_and(|host| allowed.has_host(host)) {
        return Some(
            "This server does not answer to that name. Open it as localhost, or start lilt with --host NAME.\n",
        );
    }
    match only_value(headers, &header::ORIGIN) {
        Ok(None) => None,
        Ok(Some(origin)) if allowed.has_origin(origin) => None,
        _ => Some("Pages of other sites may not use this server.\n"),
    }
}

/// A header that may be there once. Twice, or not text, is an attempt to be clever.
fn only_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        _ => Err(()),
    }
}

/// `connect-src 'self'` covers the WebSocket; `data:` images are the tab icon.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

fn harden(headers: &mut HeaderMap) {
    let always = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(given: &[&str]) -> Allowed {
        Allowed::new(&given.iter().map(|&host| host.to_owned()).collect::<Vec<_>>(), 10350)
    }

    #[test]
    fn own_names_pass_with_the_own_port_only() {
        let allowed = allowed(&["devbox"]);
        for host in ["localhost:10350", "LOCALHOST:10350", "127.0.0.1:10350", "[::1]:10350", "devbox:10350"] {
            assert!(allowed.has_host(host), "{host}");
        }
        for host in [
            "localhost",
            "localhost:80",
            "evil.example:10350",
            "127.0.0.1.nip.io:10350",
            "10.0.0.1:10350",
            "",
        ] {
            assert!(!allowed.has_host(host), "{host}");
        }
    }

    #[test]
    fn a_given_port_is_kept() {
        let allowed = allowed(&["tunnel.example:443"]);
        assert!(allowed.has_host("tunnel.example:443"));
        assert!(!allowed.has_host("tunnel.example:10350"));
    }

    #[test]
    fn all_interfaces_means_any_address_but_no_foreign_name() {
        let allowed = allowed(&["0.0.0.0"]);
        assert!(allowed.has_host("192.168.7.7:10350"));
        assert!(allowed.has_host("[fe80::1]:10350"));
        assert!(!allowed.has_host("192.168.7.7:80"));
        assert!(!allowed.has_host("rebound.example:10350"));
    }

    #[test]
    fn origins_are_compared_whole() {
        let allowed = allowed(&[]);
        assert!(allowed.has_origin("http://localhost:10350"));
        for origin in [
            "null",
            "https://localhost:10350",
            "http://localhost:10351",
            "http://localhost:10350.evil.example",
            "localhost:10350",
        ] {
            assert!(!allowed.has_origin(origin), "{origin}");
        }
    }
}
