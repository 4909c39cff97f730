//! Who may come in: nobody but pages of this server and programs of this machine.
//!
//! A browser tells in `Host` by which name it addressed the server and in `Origin` which page asked. A name that is not
//! ours means DNS rebinding and is refused on every route. An origin that is not ours means another site's page and is
//! refused on every route but those of the page's files. An origin is ours if it is the very host that the request was sent
//! to: other ports and addresses of this machine are other sites.
//!
//! Names below `localhost` are ours, too: browsers resolve them to this machine by themselves, and keep their cookies apart
//! from those of `localhost`.
//!
//! Programs can send any `Host`, and the cookie is valid for one host name. From other machines, names of this machine's
//! loopback are refused, so that a cookie that a page on `localhost` revealed is of no use there.
//!
//! Browsers also send `Sec-Fetch-Site`. Requests from another site or another port are refused, also those without an
//! `Origin` (images, scripts), except that a link may lead to a page.

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
    /// Listening on all interfaces: any literal address is ours. Rebinding needs a name, so this lets nobody in.
    any_address: bool,
    /// What a proxy or a tunnel before this server is called.
    further: Arc<[Further]>,
    port: u16,
    /// What started this server, such as `lilt up`.
    command: Arc<str>,
}

/// A name that the user gave for what stands before this server, which may speak HTTPS.
#[derive(Clone, Debug)]
struct Further {
    name: String,
    /// None: this server's own, or the one that goes without saying.
    port: Option<u16>,
}

impl Further {
    /// `name`, `name:port`, or the same as the beginning of an address.
    fn read(given: &str) -> Option<Further> {
        let given = given.to_ascii_lowercase();
        let given = given.strip_prefix("https://").or(given.strip_prefix("http://")).unwrap_or(&given);
        let given = given.trim_end_matches('/');
        let marked = with_port(given, 0);
        let (name, port) = marked.rsplit_once(':')?;
        let port: u16 = port.parse().ok()?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.[]:".contains(letter);
        let right = !name.is_empty() && name.chars().all(plain);
        right.then(|| Further { name: name.to_owned(), port: (port != 0).then_some(port) })
    }
}

/// Whether this can name what stands before the server, as `ServeOptions::further_hosts` wants it.
pub fn is_further_host(given: &str) -> bool {
    Further::read(given).is_some()
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
        let further = further.iter().filter_map(|given| Further::read(given)).collect();
        Self { hosts, any_address, further, port, command: Arc::from("lilt up") }
    }

    /// Sets the command line that advice adds `--allowed-host` to. Empty: it stays `lilt up`.
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

    /// Whether clients on other machines may use this name, which [`Self::has_host`] admits. They may use those of this
    /// machine's loopback only if the user named them: a container whose port is published on `localhost`, for example.
    fn is_open_to_remote(&self, host: &str) -> bool {
        let host = with_port(host, 80);
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let is_loopback = bare_address(name)
            .map_or_else(|| is_localhost(name), |address| address.to_canonical().is_loopback());
        !is_loopback || self.has_further(&host)
    }

    /// What to give to `--allowed-host` for this host or origin; none if it cannot be named there.
    fn to_allow(&self, host: &str) -> Option<String> {
        let read = Further::read(host)?;
        let port = read.port.filter(|port| ![self.port, 80, 443].contains(port));
        Some(port.map_or(read.name.clone(), |port| format!("{}:{port}", read.name)))
    }

    /// Of a name with its port.
    fn has_further(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        let Ok(port) = port.parse::<u16>() else { return false };
        self.further.iter().any(|known| {
            let usual = [self.port, 80, 443].contains(&port);
            known.name == name && known.port.map_or(usual, |known| known == port)
        })
    }

    /// Whether a page of `origin` may send requests to `host`: it was loaded from there, or from a proxy that the user
    /// named. This server itself does not encrypt, so only a proxy can be an `https` origin.
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

/// Whether responses are about the session, so that no cache may keep them.
fn is_private(path: &str) -> bool {
    ["/api", "/proxy"]
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Whether another site, or another port of this machine, caused a request that is not the visit of a page.
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
enum Refusal {
    /// It was sent to a name that is not ours.
    Host(String),
    /// A client on another machine sent it to a name that means this machine.
    RemoteLoopback(String),
    /// A page that is not ours sent it. Empty: it is not known which one.
    Origin(String),
}

fn refusal(allowed: &Allowed, request: &Request) -> Option<Refusal> {
    let headers = request.headers();
    let host = only_value(headers, &header::HOST).ok().flatten().unwrap_or_default();
    if !allowed.has_host(host) {
        return Some(Refusal::Host(host.to_owned()));
    }
    let is_remote = request.extensions().get::<Peer>().is_some_and(|peer| !peer.is_local());
    if is_remote && !allowed.is_open_to_remote(host) {
        return Some(Refusal::RemoteLoopback(host.to_owned()));
    }
    if is_cross_site(request) {
        return Some(Refusal::Origin(String::new()));
    }
    match only_value(headers, &header::ORIGIN) {
        Ok(None) => None,
        Ok(Some(origin)) if allowed.has_origin(origin, host) => None,
        // Browsers send an `Origin` with requests for the page's own scripts, too. Behind a proxy that rewrites `Host` it
        // looks foreign, and without the scripts the page could not say so.
        Ok(Some(_)) if is_file(request) => None,
        Ok(Some(origin)) => Some(Refusal::Origin(origin.to_owned())),
        Err(()) => Some(Refusal::Origin(String::new())),
    }
}

/// Whether it asks for a file of the page. They are the same for everybody, and other sites cannot read them: no response
/// allows it.
fn is_file(request: &Request) -> bool {
    let path = request.uri().path();
    matches!(*request.method(), Method::GET | Method::HEAD)
        && (matches!(path, "/favicon.svg" | "/login.css") || path.starts_with("/assets/"))
}

impl Refusal {
    /// The command that starts lilt so that it answers; none if no flag can do that.
    fn command(&self, allowed: &Allowed) -> Option<String> {
        let (Refusal::Host(name) | Refusal::RemoteLoopback(name) | Refusal::Origin(name)) = self;
        allowed.to_allow(name).map(|name| format!("{} --allowed-host {name}", allowed.command))
    }

    /// Says what to do, as a page for people and as text or JSON for programs.
    fn response(&self, allowed: &Allowed, headers: &HeaderMap) -> Response {
        let message = match self {
            Refusal::Host(host) => format!("This lilt session does not answer to the host name \"{host}\"."),
            Refusal::RemoteLoopback(host) => {
                format!("Only this machine may address this lilt session as \"{host}\".")
            }
            Refusal::Origin(origin) if origin.is_empty() => {
                "Pages of other sites may not use this lilt session.".to_owned()
            }
            Refusal::Origin(origin) => {
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

/// Without a stylesheet, which would be refused as well.
const REFUSED: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\" />\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\
    <meta name=\"color-scheme\" content=\"light dark\" /><title>Not allowed · lilt</title></head>\
    <body><main><h1>Not allowed</h1><p>{message}</p>{advice}</main></body></html>\n";

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
        Allowed::new(&owned(given), &[], 10350)
    }

    fn owned(given: &[&str]) -> Vec<String> {
        given.iter().map(|&host| host.to_owned()).collect()
    }

    #[test]
    fn what_stands_before_the_server_may_have_another_port_and_speak_https() {
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
    fn what_is_no_name_names_nobody() {
        for given in ["*.example", "", "https://", "a/b", "name:many", "user@name"] {
            assert!(!is_further_host(given), "{given}");
        }
        for given in ["name", "name:8443", "http://name/", "10.0.0.7", "[fe80::1]:8080", "::1"] {
            assert!(is_further_host(given), "{given}");
        }
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
    fn names_below_localhost_pass_with_the_own_port_only() {
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
        let refusal = Refusal::Host("dev.example".to_owned());
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
