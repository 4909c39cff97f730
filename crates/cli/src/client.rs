//! Speaks to a running session over its web port, as plain HTTP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use lilt_model::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

/// Where a session answers. Every request is a connection of its own: commands ask once or twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    host: String,
    port: u16,
    /// Where to connect. Empty: whatever the name stands for.
    addresses: Vec<SocketAddr>,
    /// What the session asks for, if it is known.
    token: Option<Arc<str>>,
}

/// An answer that may go on for long; read it piece by piece.
#[derive(Debug)]
pub(crate) struct Answer {
    headers: HeaderMap,
    body: Incoming,
    /// Moves the bytes as long as the answer is read.
    _connection: AbortOnDropHandle<()>,
}

impl Answer {
    /// None if it is not there, or no text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// What has come; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| broken(&error))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    pub(crate) async fn whole(mut self) -> Result<Vec<u8>, Failure> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }
}

impl Client {
    pub(crate) fn new(host: &str, port: u16) -> Client {
        // All interfaces is where to listen, not where to call.
        let host = match host {
            "" | "0.0.0.0" | "::" | "[::]" => "localhost",
            host => host,
        };
        // Not by the resolver: what answers to `localhost` must be this machine.
        let addresses = match host {
            "localhost" => [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
                .map(|address| SocketAddr::new(address, port))
                .to_vec(),
            _ => Vec::new(),
        };
        Client { host: host.to_owned(), port, addresses, token: None }
    }

    /// For a session that is known to listen on these addresses: nothing else is connected to.
    pub(crate) fn with_addresses(self, addresses: &[SocketAddr]) -> Client {
        let Some(first) = addresses.first() else { return self };
        let address = match first.ip() {
            IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            address => address,
        };
        Client { addresses: vec![SocketAddr::new(address, first.port())], ..self }
    }

    pub(crate) fn with_token(self, token: Option<Arc<str>>) -> Client {
        Client { token, ..self }
    }

    /// Where the page is.
    pub(crate) fn address(&self) -> String {
        format!("http://{}:{}/", self.host, self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is a session of this machine.
    pub(crate) fn is_here(&self) -> bool {
        crate::instances::is_here(&self.host)
    }

    /// `host:port`.
    pub(crate) fn host(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Asks for a path such as `/api/view`. An answer that is no success is a failure with the words of the session.
    pub(crate) async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    pub(crate) async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let body = self.get(path).await?.whole().await?;
        serde_json::from_slice(&body).map_err(|error| strange(path, &error))
    }

    pub(crate) async fn post_json(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
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
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.host())
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header("X-Tilt-Token", &**token);
        }
        let request = request
            .body(Full::new(body))
            .map_err(|error| Failure::internal(format!("a request for {path}: {error}")))?;
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let status = response.status();
        let (head, body) = response.into_parts();
        let answer = Answer { headers: head.headers, body, _connection: connection };
        if status.is_success() { Ok(answer) } else { Err(refused(status, path, answer).await) }
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
