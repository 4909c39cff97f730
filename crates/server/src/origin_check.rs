//! Checks host and origin of requests: only pages of this server and programs may send requests.
//!
//! Browsers send the name by which they address the server in `Host`, and the page that sends the request in `Origin`. A
//! foreign name means DNS rebinding and is refused on every route. A foreign origin means a page of another site and is
//! refused on every route except the page's files. An origin is our own if it is the host that the request was sent to:
//! other ports and addresses of this machine are other sites.
//!
//! Subdomains of `localhost` are our own, too: browsers resolve them to this machine, and separate their cookies from those
//! of `localhost`.
//!
//! Programs can send any `Host`, and the cookie is valid for one host name. From other machines, loopback names are
//! refused, so that a cookie that was leaked on `localhost` cannot be used there.
//!
//! Browsers also send `Sec-Fetch-Site`. Requests from another site or another port are refused, including those without an
//! `Origin` (images, scripts), except navigation to a page by a link.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use lilt_model::localhost::is_localhost;
use serde_json::json;

use crate::connections::Peer;
use crate::html::escape;
use crate::routes::is_page;

/// The names this server answers to, each with a port.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    hosts: Arc<[String]>,
    /// Whether the server listens on all interfaces, so that every IP address is its own. Rebinding needs a name.
    any_address: bool,
    /// Names of proxies and tunnels in front of this server.
    further: Arc<[ProxyHost]>,
    port: u16,
    /// The command that started this server, such as `lilt up`.
    command: Arc<str>,
}

/// A proxy or tunnel in front of this server, which may use HTTPS.
#[derive(Clone, Debug)]
struct ProxyHost {
    name: String,
    /// None: this server's own port, or the default port.
    port: Option<u16>,
}

impl ProxyHost {
    /// Parses `name`, `name:port`, or a URL with one of them.
    fn read(given: &str) -> Option<ProxyHost> {
        let given = given.to_ascii_lowercase();
        let given = given.strip_prefix("https://").or(given.strip_prefix("http://")).unwrap_or(&given);
        let given = given.trim_end_matches('/');
        let marked = with_port(given, 0);
        let (name, port) = marked.rsplit_once(':')?;
        let port: u16 = port.parse().ok()?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.[]:".contains(letter);
        let right = !name.is_empty() && name.chars().all(plain);
        right.then(|| ProxyHost { name: name.to_owned(), port: (port != 0).then_some(port) })
    }
}

/// Returns whether a text is valid for `ServeOptions::further_hosts`.
pub fn is_further_host(given: &str) -> bool {
    ProxyHost::read(given).is_some()
}

impl Allowed {
    pub(crate) fn new(given: &[String], further: &[String], port: u16) -> Self {
        let own = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let any_address =
            given.iter().any(|host| bare_address(host).is_some_and(|address| address.is_unspecified()));
        let hosts = own
            .iter()
            .chain(given)
            .filter(|host| !host.is_empty())
            .map(|host| with_port(host, port))
            .collect();
        let further = further.iter().filter_map(|given| ProxyHost::read(given)).collect();
        Self { hosts, any_address, further, port, command: Arc::from("lilt up") }
    }

    /// Sets the command that hints add `--allowed-host` to. Empty: `lilt up`.
    pub(crate) fn with_command(self, command: &str) -> Self {
        if command.is_empty() { self } else { Self { command: Arc::from(command), ..self } }
    }

    fn has_host(&self, host: &str) -> bool {
        let host = with_port(host, 80);
        if self.hosts.contains(&host) || self.has_further(&host) {
            return true;
        }
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        let is_ours = is_localhost(name) || (self.any_address && bare_address(name).is_some());
        is_ours && port == self.port.to_string()
    }

    /// Returns whether clients on other machines may use this host, which [`Self::has_host`] accepts.
    ///
    /// They may use loopback names only if the user configured them, for example for a container whose port is published
    /// on `localhost`.
    fn is_open_to_remote(&self, host: &str) -> bool {
        let host = with_port(host, 80);
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let is_loopback = bare_address(name)
            .map_or_else(|| is_localhost(name), |address| address.to_canonical().is_loopback());
        !is_loopback || self.has_further(&host)
    }

    /// Returns the value of `--allowed-host` that allows a host or origin; none if no value does.
    fn to_allow(&self, host: &str) -> Option<String> {
        let read = ProxyHost::read(host)?;
        let port = read.port.filter(|port| ![self.port, 80, 443].contains(port));
        Some(port.map_or(read.name.clone(), |port| format!("{}:{port}", read.name)))
    }

    /// Returns whether a host with its port is that of a proxy or tunnel.
    fn has_further(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        let Ok(port) = port.parse::<u16>() else { return false };
        self.further.iter().any(|known| {
            let usual = [self.port, 80, 443].contains(&port);
            known.name == name && known.port.map_or(usual, |known| known == port)
        })
    }

    /// Returns whether a page of `origin` may send requests to `host`: it was loaded from there, or through a configured
    /// proxy. This server does not use TLS, so only a proxy can be an `https` origin.
    fn has_origin(&self, origin: &str, host: &str) -> bool {
        match (origin.strip_prefix("http://"), origin.strip_prefix("https://")) {
            (Some(from), _) => {
                let from = with_port(from, 80);
                from == with_port(host, 80) || self.has_further(&from)
            }
            (None, Some(from)) => self.has_further(&with_port(from, 443)),
            (None, None) => false,
        }
    }
}

/// Parses an IP address without port, IPv6 with or without brackets.
fn bare_address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Returns `name:port` in lower case, for comparing hosts.
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
    let is_private = is_private(request.uri().path());
    let mut response = match refusal(&allowed, &request) {
        Some(refusal) => refusal.response(&allowed, request.headers()),
        None => next.run(request).await,
    };
    harden(response.headers_mut());
    if is_private {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Returns whether responses are about the session, so that no cache may store them.
fn is_private(path: &str) -> bool {
    ["/api", "/proxy"]
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Returns whether another site, or another port of this machine, caused a request that is not a navigation.
fn is_cross_site(request: &Request) -> bool {
    let header = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
    if !matches!(header("sec-fetch-site"), Some(b"cross-site" | b"same-site")) {
        return false;
    }
    let is_visit = matches!(*request.method(), Method::GET | Method::HEAD)
        && header("sec-fetch-mode") == Some(b"navigate")
        && header("sec-fetch-dest").is_none_or(|dest| dest == b"document")
        && is_page(request.uri().path());
    !is_visit
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OriginRefusal {
    /// It was sent to a foreign host name.
    Host(String),
    /// A client on another machine sent it to a loopback name.
    RemoteLoopback(String),
    /// A foreign page sent it. Empty: an unknown one.
    Origin(String),
}

fn refusal(allowed: &Allowed, request: &Request) -> Option<OriginRefusal> {
    let headers = request.headers();
    let host = only_value(headers, &header::HOST).ok().flatten().unwrap_or_default();
    if !allowed.has_host(host) {
        return Some(OriginRefusal::Host(host.to_owned()));
    }
    let is_remote = request.extensions().get::<Peer>().is_some_and(|peer| !peer.is_local());
    if is_remote && !allowed.is_open_to_remote(host) {
        return Some(OriginRefusal::RemoteLoopback(host.to_owned()));
    }
    if is_cross_site(request) {
        return Some(OriginRefusal::Origin(String::new()));
    }
    match only_value(headers, &header::ORIGIN) {
        Ok(None) => None,
        Ok(Some(origin)) if allowed.has_origin(origin, host) => None,
        // Browsers send an `Origin` with requests for the page's own scripts, too. Behind a proxy that rewrites `Host` it
        // looks foreign, and without its scripts the page could not show the error.
        Ok(Some(_)) if is_file(request) => None,
        Ok(Some(origin)) => Some(OriginRefusal::Origin(origin.to_owned())),
        Err(()) => Some(OriginRefusal::Origin(String::new())),
    }
}

/// Returns whether a file of the page is requested. The files are not secret, and other sites cannot read the responses.
fn is_file(request: &Request) -> bool {
    let path = request.uri().path();
    matches!(*request.method(), Method::GET | Method::HEAD)
        && (matches!(path, "/favicon.svg" | "/login.css") || path.starts_with("/assets/"))
}

impl OriginRefusal {
    /// Returns the command that starts lilt so that the request is accepted; none if no flag does that.
    fn command(&self, allowed: &Allowed) -> Option<String> {
        let (OriginRefusal::Host(name) | OriginRefusal::RemoteLoopback(name) | OriginRefusal::Origin(name)) =
            self;
        allowed.to_allow(name).map(|name| format!("{} --allowed-host {name}", allowed.command))
    }

    /// Returns a response with a hint: a page for people, text or JSON for programs.
    fn response(&self, allowed: &Allowed, headers: &HeaderMap) -> Response {
        let message = match self {
            OriginRefusal::Host(host) => {
                format!("This lilt session does not answer to the host name \"{host}\".")
            }
            OriginRefusal::RemoteLoopback(host) => {
                format!("Only this machine may address this lilt session as \"{host}\".")
            }
            OriginRefusal::Origin(origin) if origin.is_empty() => {
                "Pages of other sites may not use this lilt session.".to_owned()
            }
            OriginRefusal::Origin(origin) => {
                format!("Pages of other sites ({origin}) may not use this lilt session.")
            }
        };
        let command = self.command(allowed);
        let advice = "If that is the name of your proxy, tunnel or dev box, start lilt with";
        let accepts = |kind: &str| {
            let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
            accepted.is_some_and(|accepted| accepted.contains(kind))
        };
        if accepts("text/html") {
            let advice = command.map(|command| format!("<p>{advice}</p><pre>{}</pre>", escape(&command)));
            let page = REFUSED
                .replace("{message}", &escape(&message))
                .replace("{advice}", &advice.unwrap_or_default());
            return (StatusCode::FORBIDDEN, Html(page)).into_response();
        }
        if accepts("application/json") {
            let body = json!({ "error": message, "command": command });
            return (StatusCode::FORBIDDEN, Json(body)).into_response();
        }
        let advice = command.map(|command| format!("{advice}: {command}\n")).unwrap_or_default();
        (StatusCode::FORBIDDEN, format!("{message}\n{advice}")).into_response()
    }
}

/// Has no stylesheet, which would be refused as well.
const REFUSED: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\" />\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\
    <meta name=\"color-scheme\" content=\"light dark\" /><title>Not allowed · lilt</title></head>\
    <body><main><h1>Not allowed</h1><p>{message}</p>{advice}</main></body></html>\n";

/// Returns a header that may occur once. Repeated or non-text headers are errors.
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
        Allowed::new(&owned(given), &[], 10350)
    }

    fn owned(given: &[&str]) -> Vec<String> {
        given.iter().map(|&host| host.to_owned()).collect()
    }

    #[test]
    fn proxies_may_have_another_port_and_use_https() {
        let given = owned(&["Dev.example", "https://tunnel.example:8443/"]);
        let allowed = Allowed::new(&[], &given, 10350);
        for host in ["dev.example", "DEV.example:443", "dev.example:10350", "tunnel.example:8443"] {
            assert!(allowed.has_host(host), "{host}");
        }
        for host in ["dev.example:8080", "a.dev.example", "tunnel.example", "example"] {
            assert!(!allowed.has_host(host), "{host}");
        }
        for origin in ["https://dev.example", "http://dev.example", "https://tunnel.example:8443"] {
            assert!(allowed.has_origin(origin, "localhost:10350"), "{origin}");
        }
        for origin in [
            "https://localhost:10350",
            "https://dev.example:8080",
            "https://dev.example.evil.example",
            "https://tunnel.example",
            "dev.example",
        ] {
            assert!(!allowed.has_origin(origin, "localhost:10350"), "{origin}");
        }
    }

    #[test]
    fn invalid_names_allow_nothing() {
        for given in ["*.example", "", "https://", "a/b", "name:many", "user@name"] {
            assert!(!is_further_host(given), "{given}");
        }
        for given in ["name", "name:8443", "http://name/", "10.0.0.7", "[fe80::1]:8080", "::1"] {
            assert!(is_further_host(given), "{given}");
        }
    }

    #[test]
    fn own_names_are_accepted_with_the_own_port_only() {
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
    fn subdomains_of_localhost_are_accepted_with_the_own_port_only() {
        let allowed = allowed(&[]);
        for host in ["lilt.localhost:10350", "a.b.LOCALHOST:10350"] {
            assert!(allowed.has_host(host), "{host}");
        }
        for host in [
            "lilt.localhost",
            "lilt.localhost:1",
            ".localhost:10350",
            "evillocalhost:10350",
            "localhost.evil:10350",
        ] {
            assert!(!allowed.has_host(host), "{host}");
        }
        assert!(allowed.has_origin("http://lilt.localhost:10350", "lilt.localhost:10350"));
        assert!(!allowed.has_origin("http://localhost:10350", "lilt.localhost:10350"));
    }

    #[test]
    fn refusal_names_what_allows_the_host() {
        let allowed = allowed(&[]);
        for (host, name) in [
            ("dev.example", Some("dev.example")),
            ("DEV.example:10350", Some("dev.example")),
            ("dev.example:8443", Some("dev.example:8443")),
            ("https://dev.example", Some("dev.example")),
            ("null", Some("null")),
            ("a b;rm -rf", None),
            ("<b>", None),
            ("", None),
        ] {
            assert_eq!(allowed.to_allow(host).as_deref(), name, "{host}");
        }
    }

    #[test]
    fn configured_port_is_kept() {
        let allowed = allowed(&["tunnel.example:443"]);
        assert!(allowed.has_host("tunnel.example:443"));
        assert!(!allowed.has_host("tunnel.example:10350"));
    }

    #[test]
    fn all_interfaces_accept_any_address_but_no_foreign_name() {
        let allowed = allowed(&["0.0.0.0"]);
        assert!(allowed.has_host("192.168.7.7:10350"));
        assert!(allowed.has_host("[fe80::1]:10350"));
        assert!(!allowed.has_host("192.168.7.7:80"));
        assert!(!allowed.has_host("rebound.example:10350"));
    }

    #[test]
    fn loopback_names_are_closed_to_other_machines() {
        let closed =
            ["localhost:10350", "LILT.localhost:10350", "127.0.0.1:10350", "127.9.9.9:10350", "[::1]:10350"];
        for host in closed {
            assert!(!allowed(&["0.0.0.0"]).is_open_to_remote(host), "{host}");
            let further = Allowed::new(&owned(&["0.0.0.0"]), &owned(&[host]), 10350);
            assert!(further.is_open_to_remote(host), "{host} is allowed by name");
        }
        for host in ["devbox:10350", "192.168.7.7:10350", "[fe80::1]:10350"] {
            assert!(allowed(&["0.0.0.0", "devbox"]).is_open_to_remote(host), "{host}");
        }
        assert!(!Allowed::new(&[], &owned(&["other.localhost"]), 10350).is_open_to_remote("localhost:10350"));
    }

    #[test]
    fn refusal_names_the_command_that_started_the_server() {
        let allowed = allowed(&[]).with_command("lilt ci");
        let refusal = OriginRefusal::Host("dev.example".to_owned());
        assert_eq!(refusal.command(&allowed).as_deref(), Some("lilt ci --allowed-host dev.example"));
    }

    #[test]
    fn all_interfaces_do_not_make_every_address_an_origin() {
        let allowed = allowed(&["0.0.0.0"]);
        assert!(allowed.has_origin("http://192.168.7.7:10350", "192.168.7.7:10350"));
        assert!(!allowed.has_origin("http://192.168.7.8:10350", "192.168.7.7:10350"));
    }

    #[test]
    fn origins_are_compared_whole() {
        let allowed = allowed(&[]);
        assert!(allowed.has_origin("http://localhost:10350", "localhost:10350"));
        for origin in [
            "null",
            "https://localhost:10350",
            "http://localhost:10351",
            "http://localhost:10350.evil.example",
            "http://127.0.0.1:10350",
            "localhost:10350",
        ] {
            assert!(!allowed.has_origin(origin, "localhost:10350"), "{origin}");
        }
    }
}
