//! HTTP probes as in Kubernetes: a GET request without proxy and certificate checks. Redirects within the host are
//! followed, and a redirect to another host counts as success.

use std::fmt;
use std::sync::Arc;

use http::header::{ACCEPT, CONNECTION, HOST, LOCATION, USER_AGENT};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Attempt, MAX_OUTPUT, describe};

/// The same as Tilt's: servers may filter it out of their logs.
const PROBE_USER_AGENT: &str = "tilt-probe/0.1";
const MAX_REDIRECTS: usize = 10;

/// The URL of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    tls: bool,
    host: String,
    port: u16,
    /// With the query string; begins with `/`.
    path: String,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

impl Target {
    pub(super) fn new(scheme: &str, host: &str, port: u16, path: &str) -> Self {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Self { tls: scheme.eq_ignore_ascii_case("https"), host: host.to_owned(), port, path }
    }

    /// Returns host and port, with brackets around an IPv6 address.
    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Resolves a `Location` header; `None` if it names another host or is invalid.
    fn redirected(&self, location: &str) -> Option<Target> {
        if !location.contains("://") {
            let folder = self.path.split(['?', '#']).next().unwrap_or("/").rsplit_once('/');
            let path = match location.strip_prefix('/') {
                Some(_) => location.to_owned(),
                None => format!("{}/{location}", folder.map_or("", |(folder, _)| folder)),
            };
            return Some(Self { path, ..self.clone() });
        }
        let uri: Uri = location.parse().ok()?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let host = uri.host()?.trim_matches(['[', ']']);
        let tls = uri.scheme_str().map_or(self.tls, |scheme| scheme == "https");
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        (host == self.host).then(|| Self { tls, host: host.to_owned(), port, path: path.to_owned() })
    }
}

pub(super) async fn get(mut target: Target, headers: &[(String, String)]) -> Attempt {
    for _ in 0..MAX_REDIRECTS {
        let response = match send_request(&target, headers).await {
            Ok(response) => response,
            Err(cause) => return Attempt::failure(format!("{target}: {cause}")),
        };
        let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let next = location.and_then(|location| target.redirected(location));
        match next.filter(|_| response.status().is_redirection()) {
            Some(next) => target = next,
            None => return evaluate(&target, response).await,
        }
    }
    Attempt::failure(format!("{target}: it redirects more than {MAX_REDIRECTS} times"))
}

async fn evaluate(target: &Target, response: Response<Incoming>) -> Attempt {
    let status = response.status();
    if !(StatusCode::OK..StatusCode::BAD_REQUEST).contains(&status) {
        return Attempt::failure(format!("{target} answers {status}"));
    }
    // The status decides; of a body that breaks off, the part that arrived is shown.
    let mut body = response.into_body();
    let mut output = Vec::new();
    while output.len() < MAX_OUTPUT
        && let Some(Ok(frame)) = body.frame().await
    {
        output.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
    }
    output.truncate(MAX_OUTPUT);
    Attempt::success(String::from_utf8_lossy(&output))
}

async fn send_request(target: &Target, headers: &[(String, String)]) -> Result<Response<Incoming>, String> {
    let request = request(target, headers)?;
    let stream =
        TcpStream::connect((target.host.as_str(), target.port)).await.map_err(|error| describe(&error))?;
    if !target.tls {
        return send(stream, request).await;
    }
    let name = ServerName::try_from(target.host.clone()).map_err(|error| error.to_string())?;
    let stream = TlsConnector::from(Arc::new(tls_without_verification()?)).connect(name, stream).await;
    send(stream.map_err(|error| format!("no TLS: {}", describe(&error)))?, request).await
}

fn request(target: &Target, headers: &[(String, String)]) -> Result<Request<Empty<Bytes>>, String> {
    let mut request = Request::get(target.path.as_str());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    // Headers of the probe take precedence over the defaults, except for `Connection`.
    let defaults =
        [(HOST, target.authority()), (USER_AGENT, PROBE_USER_AGENT.to_owned()), (ACCEPT, "*/*".to_owned())];
    for (name, value) in defaults {
        if request.headers_ref().is_none_or(|headers| !headers.contains_key(&name)) {
            request = request.header(name, value);
        }
    }
    let request = request.header(CONNECTION, "close");
    request.body(Empty::<Bytes>::new()).map_err(|error| error.to_string())
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Empty<Bytes>>,
) -> Result<Response<Incoming>, String> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // Ends when either the response's body or the attempt is dropped.
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await;
    if response.is_err() {
        connection.abort();
    }
    response.map_err(|error| if error.is_incomplete_message() { NO_ANSWER.into() } else { error.to_string() })
}

const NO_ANSWER: &str = "it closed the connection without an answer";

fn tls_without_verification() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // A probe checks whether a server responds, and local servers have self-signed certificates.
    let verifier = lilt_tls::accept_any_certificate(Arc::clone(&provider));
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.map_err(|error| error.to_string())?.dangerous();
    Ok(config.with_custom_certificate_verifier(verifier).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_within_the_host() {
        let target = Target::new("", "localhost", 8080, "a/b?c=1");
        assert_eq!(target.to_string(), "http://localhost:8080/a/b?c=1");
        let to = |location: &str| target.redirected(location).map(|target| target.to_string());
        assert_eq!(to("/x?y=2").as_deref(), Some("http://localhost:8080/x?y=2"));
        assert_eq!(to("x").as_deref(), Some("http://localhost:8080/a/x"));
        assert_eq!(to("https://localhost:8443/").as_deref(), Some("https://localhost:8443/"));
        assert_eq!(to("http://localhost/z").as_deref(), Some("http://localhost:80/z"));
        assert_eq!(to("http://example.com/"), None);
        assert_eq!(Target::new("HTTPS", "::1", 1, "").to_string(), "https://[::1]:1/");
    }
}
