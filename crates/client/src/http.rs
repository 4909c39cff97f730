//! Plain HTTP to the web port of a running session.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use lilt_model::Failure;
use lilt_model::auth::{AuthKeys, CodeLifetime, new_token};
use lilt_model::localhost::{is_localhost, is_this_machine};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

/// The maximum length of a proof.
const MAX_PROOF_BYTES: usize = 1024;

/// The client of one session. Every request has its own connection: commands send one or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    host: String,
    port: u16,
    /// Where to connect. Empty: the addresses that the name resolves to.
    addresses: Vec<SocketAddr>,
    /// The token of the session, if it is known.
    token: Option<ClientToken>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ClientToken {
    /// The token of the session that listens on the port.
    Running(Arc<str>),
    /// A token stored for the port, on which another process may listen. It is sent after the session has proved that it knows it.
    Stored(Arc<str>),
}

/// A response whose body is read chunk by chunk.
#[derive(Debug)]
pub struct HttpResponse {
    headers: HeaderMap,
    body: Incoming,
    /// Drives the connection while the response is read.
    _connection: AbortOnDropHandle<()>,
}

impl HttpResponse {
    /// Returns a header; none if it is missing or no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the next chunk; none at the end.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| connection_failure(&error))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Returns the rest of the body.
    pub async fn read_to_end(mut self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next_chunk().await? {
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

impl Client {
    /// Creates a client without a token.
    pub fn new(host: &str, port: u16) -> Client {
        // An unspecified address is for listening, not for connecting.
        let host = match host {
            "" | "0.0.0.0" | "::" | "[::]" => "localhost",
            host => host,
        };
        // Without the resolver: `localhost` must be this machine.
        let addresses = match host {
            host if is_localhost(host) => [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
                .map(|address| SocketAddr::new(address, port))
                .to_vec(),
            _ => Vec::new(),
        };
        let host = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() };
        Client { host, port, addresses, token: None }
    }

    /// Connects to nothing but the first of these addresses, on which the session is known to listen.
    pub fn with_addresses(self, addresses: &[SocketAddr]) -> Client {
        let Some(first) = addresses.first() else { return self };
        let address = match first.ip() {
            IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            address => address,
        };
        Client { addresses: vec![SocketAddr::new(address, first.port())], ..self }
    }

    /// Sends the token of the session that is known to run there.
    pub fn with_token(self, token: Option<Arc<str>>) -> Client {
        Client { token: token.map(ClientToken::Running), ..self }
    }

    /// Sends the token that was stored for this port, once the session has proved that it knows it.
    pub fn with_stored_token(self, token: Option<Arc<str>>) -> Client {
        Client { token: token.map(ClientToken::Stored), ..self }
    }

    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(|token| match token {
            ClientToken::Running(token) | ClientToken::Stored(token) => &**token,
        })
    }

    /// Returns the address of the page with a new one-time code.
    pub fn link(&self, lifetime: CodeLifetime) -> Result<String, Failure> {
        let keys = self.token().map(|token| AuthKeys::new(Arc::from(token)));
        crate::sign_in::link(&self.address(), keys.as_ref(), lifetime)
    }

    /// Returns the address of the page.
    pub fn address(&self) -> String {
        format!("http://{}:{}/", self.host, self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns whether the session is on this machine.
    pub fn is_local(&self) -> bool {
        is_this_machine(&self.host)
    }

    /// Returns `host:port`.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Requests a path such as `/api/view`. A response that is no success is a failure with the text of the session.
    pub async fn get(&self, path: &str) -> Result<HttpResponse, Failure> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let body = self.get(path).await?.read_to_end().await?;
        serde_json::from_slice(&body).map_err(|error| malformed(path, &error))
    }

    pub async fn post_json(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
        let body = serde_json::to_vec(body).map_err(|error| Failure::internal(error.to_string()))?;
        self.send(Method::POST, path, Bytes::from(body)).await?.read_to_end().await
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<HttpResponse, Failure> {
        let stream = self.connect().await.map_err(|error| self.connect_failure(&error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| connection_failure(&error))?;
        // Its errors come out of the response, too.
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.await;
        }));
        let token = match &self.token {
            None => None,
            Some(ClientToken::Running(token)) => Some(token),
            Some(ClientToken::Stored(token)) => {
                self.server_knows_token(&mut sender, token).await?.then_some(token)
            }
        };
        let request = self.request(method, path, token, body)?;
        let response = sender.send_request(request).await.map_err(|error| connection_failure(&error))?;
        let status = response.status();
        let (head, body) = response.into_parts();
        let answer = HttpResponse { headers: head.headers, body, _connection: connection };
        if status.is_success() { Ok(answer) } else { Err(refusal(status, path, answer).await) }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        token: Option<&Arc<str>>,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.authority())
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header("X-Tilt-Token", &**token);
        }
        request
            .body(Full::new(body))
            .map_err(|error| Failure::internal(format!("a request for {path}: {error}")))
    }

    /// Returns whether the process at the other end of this connection knows the token.
    async fn server_knows_token(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        token: &Arc<str>,
    ) -> Result<bool, Failure> {
        let challenge = new_token()?;
        let path = format!("/api/proof?challenge={challenge}");
        let request = self.request(Method::GET, &path, None, Bytes::new())?;
        let response = sender.send_request(request).await.map_err(|error| connection_failure(&error))?;
        let is_success = response.status().is_success();
        let proof = Limited::new(response.into_body(), MAX_PROOF_BYTES).collect().await;
        let Ok(proof) = proof else { return Ok(false) };
        sender.ready().await.map_err(|error| connection_failure(&error))?;
        let proof = proof.to_bytes();
        let keys = AuthKeys::new(Arc::clone(token));
        Ok(is_success && std::str::from_utf8(&proof).is_ok_and(|proof| keys.is_proof(&challenge, proof)))
    }

    async fn connect(&self) -> std::io::Result<TcpStream> {
        if !self.addresses.is_empty() {
            return TcpStream::connect(self.addresses.as_slice()).await;
        }
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        TcpStream::connect((bare, self.port)).await
    }

    fn connect_failure(&self, error: &std::io::Error) -> Failure {
        if self.port == 0 {
            return Failure::user("the session has no port for this command: it was started with port 0")
                .hint("commands for objects, such as `lilt get`, work; start it with another --port for all others");
        }
        Failure::environment(format!("no session answers on {}: {error}", self.address()))
            .hint("`lilt up` starts one; --port and --host, or TILT_PORT and TILT_HOST, say where it is")
    }
}

async fn refusal(status: StatusCode, path: &str, response: HttpResponse) -> Failure {
    let text = response.read_to_end().await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    if text.is_empty() || text.starts_with('<') {
        let message = format!("the session answers {status} to {path}");
        return Failure::environment(message).hint("is it lilt, and of this version?");
    }
    Failure::user(text)
}

fn connection_failure(error: &hyper::Error) -> Failure {
    Failure::environment(format!("the session ended the connection: {error}"))
        .hint("it may just be ending; is it lilt that listens there?")
}

fn malformed(path: &str, error: &serde_json::Error) -> Failure {
    Failure::environment(format!("what the session answers to {path} cannot be read: {error}"))
        .hint("is it lilt, and of this version?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unspecified_host_is_addressed_as_localhost() {
        assert_eq!(Client::new("0.0.0.0", 1).address(), "http://localhost:1/");
        assert_eq!(Client::new("devbox", 10350).address(), "http://devbox:10350/");
        assert_eq!(Client::new("::1", 10350).address(), "http://[::1]:10350/");
    }

    #[test]
    fn known_session_is_reached_at_its_first_address() {
        let dialed = |addresses: &[&str]| {
            let addresses: Vec<SocketAddr> = addresses.iter().map(|it| it.parse().unwrap()).collect();
            let client = Client::new("localhost", 1).with_addresses(&addresses);
            client.addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(dialed(&["127.0.0.1:1", "[::1]:1"]), ["127.0.0.1:1"]);
        assert_eq!(dialed(&["0.0.0.0:1", "[::1]:1"]), ["127.0.0.1:1"]);
        assert_eq!(dialed(&["[::]:1"]), ["[::1]:1"]);
        assert_eq!(dialed(&[]), ["127.0.0.1:1", "[::1]:1"]);
    }
}
