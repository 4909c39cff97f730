//! Speaks to a running session over its web port, as plain HTTP.

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

/// More than a proof has, in bytes.
const LONGEST_PROOF: usize = 1024;

/// Where a session answers. Every request is a connection of its own: commands ask once or twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    host: String,
    port: u16,
    /// Where to connect. Empty: whatever the name stands for.
    addresses: Vec<SocketAddr>,
    /// Of the session, if it is known.
    token: Option<ClientToken>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ClientToken {
    /// Of a session that runs and listens on the port.
    Running(Arc<str>),
    /// Kept for the port, which may belong to anybody by now. It is sent after the session has proved that it knows it.
    Kept(Arc<str>),
}

/// An answer that may go on for long; read it piece by piece.
#[derive(Debug)]
pub struct Answer {
    headers: HeaderMap,
    body: Incoming,
    /// Moves the bytes as long as the answer is read.
    _connection: AbortOnDropHandle<()>,
}

impl Answer {
    /// None if it is not there, or no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// What has come; none at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| broken(&error))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    pub async fn whole(mut self) -> Result<Vec<u8>, Failure> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }
}

impl Client {
    /// Speaks to whatever answers there.
    pub fn new(host: &str, port: u16) -> Client {
        // All interfaces is where to listen, not where to call.
        let host = match host {
            "" | "0.0.0.0" | "::" | "[::]" => "localhost",
            host => host,
        };
        // Not by the resolver: what answers to `localhost` must be this machine.
        let addresses = match host {
            host if is_localhost(host) => [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
                .map(|address| SocketAddr::new(address, port))
                .to_vec(),
            _ => Vec::new(),
        };
        let host = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() };
        Client { host, port, addresses, token: None }
    }

    /// For a session that is known to listen on these addresses: nothing else is connected to.
    pub fn with_addresses(self, addresses: &[SocketAddr]) -> Client {
        let Some(first) = addresses.first() else { return self };
        let address = match first.ip() {
            IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            address => address,
        };
        Client { addresses: vec![SocketAddr::new(address, first.port())], ..self }
    }

    /// With the token of the session that is known to run there.
    pub fn with_token(self, token: Option<Arc<str>>) -> Client {
        Client { token: token.map(ClientToken::Running), ..self }
    }

    /// With a token of an earlier session on this port.
    pub fn with_kept_token(self, token: Option<Arc<str>>) -> Client {
        Client { token: token.map(ClientToken::Kept), ..self }
    }

    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(|token| match token {
            ClientToken::Running(token) | ClientToken::Kept(token) => &**token,
        })
    }

    /// The address of the page with a new one-time code.
    pub fn link(&self, lifetime: CodeLifetime) -> Result<String, Failure> {
        let keys = self.token().map(|token| AuthKeys::new(Arc::from(token)));
        crate::sign_in::link(&self.address(), keys.as_ref(), lifetime)
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        format!("http://{}:{}/", self.host, self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is a session of this machine.
    pub fn is_here(&self) -> bool {
        is_this_machine(&self.host)
    }

    /// `host:port`.
    pub fn host(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Asks for a path such as `/api/view`. An answer that is no success is a failure with the words of the session.
    pub async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let body = self.get(path).await?.whole().await?;
        serde_json::from_slice(&body).map_err(|error| strange(path, &error))
    }

    pub async fn post_json(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
        let body = serde_json::to_vec(body).map_err(|error| Failure::internal(error.to_string()))?;
        self.ask(Method::POST, path, Bytes::from(body)).await?.whole().await
    }

    async fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<Answer, Failure> {
        let stream = self.connect().await.map_err(|error| self.silent(&error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(&error))?;
        // Its errors come out of the answer too.
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.await;
        }));
        let token = match &self.token {
            None => None,
            Some(ClientToken::Running(token)) => Some(token),
            Some(ClientToken::Kept(token)) => self.proves(&mut sender, token).await?.then_some(token),
        };
        let request = self.request(method, path, token, body)?;
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let status = response.status();
        let (head, body) = response.into_parts();
        let answer = Answer { headers: head.headers, body, _connection: connection };
        if status.is_success() { Ok(answer) } else { Err(refused(status, path, answer).await) }
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
            .header(header::HOST, self.host())
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header("X-Tilt-Token", &**token);
        }
        request
            .body(Full::new(body))
            .map_err(|error| Failure::internal(format!("a request for {path}: {error}")))
    }

    /// Whether the process at the other end of this connection knows the token.
    async fn proves(&self, sender: &mut SendRequest<Full<Bytes>>, token: &Arc<str>) -> Result<bool, Failure> {
        let challenge = new_token()?;
        let path = format!("/api/proof?challenge={challenge}");
        let request = self.request(Method::GET, &path, None, Bytes::new())?;
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let is_success = response.status().is_success();
        let proof = Limited::new(response.into_body(), LONGEST_PROOF).collect().await;
        let Ok(proof) = proof else { return Ok(false) };
        sender.ready().await.map_err(|error| broken(&error))?;
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

    fn silent(&self, error: &std::io::Error) -> Failure {
        if self.port == 0 {
            return Failure::user("the session has no port for this command: it was started with port 0")
                .hint("commands for objects, such as `lilt get`, work; start it with another --port for all others");
        }
        Failure::environment(format!("no session answers on {}: {error}", self.address()))
            .hint("`lilt up` starts one; --port and --host, or TILT_PORT and TILT_HOST, say where it is")
    }
}

async fn refused(status: StatusCode, path: &str, answer: Answer) -> Failure {
    let words = answer.whole().await.unwrap_or_default();
    let words = String::from_utf8_lossy(&words).trim().to_owned();
    if words.is_empty() || words.starts_with('<') {
        let message = format!("the session answers {status} to {path}");
        return Failure::environment(message).hint("is it lilt, and of this version?");
    }
    Failure::user(words)
}

fn broken(error: &hyper::Error) -> Failure {
    Failure::environment(format!("the session ended the connection: {error}"))
        .hint("it may just be ending; is it lilt that listens there?")
}

fn strange(path: &str, error: &serde_json::Error) -> Failure {
    Failure::environment(format!("what the session answers to {path} cannot be read: {error}"))
        .hint("is it lilt, and of this version?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_interfaces_are_called_by_the_own_name() {
        assert_eq!(Client::new("0.0.0.0", 1).address(), "http://localhost:1/");
        assert_eq!(Client::new("devbox", 10350).address(), "http://devbox:10350/");
        assert_eq!(Client::new("::1", 10350).address(), "http://[::1]:10350/");
    }

    #[test]
    fn client_connects_to_the_first_address_of_a_known_session() {
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
