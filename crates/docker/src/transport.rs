//! One HTTP/1.1 connection per request to the engine, over its Unix socket, TCP, TLS or ssh.
//!
//! Requests are few and long, so connections are not pooled. Dropping a [`Response`] closes its socket, and the
//! engine stops the operation. That is how builds and pushes are cancelled.

mod payload;
pub(crate) mod ssh;
pub(crate) mod tls;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use lilt_model::{Failure, Unreachable};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use crate::address::Address;
use crate::error::is_connection_error;
pub(crate) use payload::Payload;

const JSON: http::HeaderValue = http::HeaderValue::from_static("application/json");
/// How long to wait for the stderr of a program that has exited.
const STDERR_TIMEOUT: Duration = Duration::from_secs(5);

/// A response whose body is still arriving. Dropping it closes the connection.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    _connection: AbortOnDropHandle<()>,
}

impl Response {
    /// Returns the next chunk of the body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        loop {
            match std::future::poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await {
                None => return Ok(None),
                Some(Err(error)) => return Err(error),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    pub(crate) async fn bytes(mut self) -> Result<Vec<u8>, hyper::Error> {
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }
}

/// A connection that was upgraded to another protocol.
pub(crate) struct UpgradedConnection {
    pub(crate) stream: Upgraded,
    pub(crate) connection: AbortOnDropHandle<()>,
}

pub(crate) async fn send(
    address: &Address,
    method: Method,
    path: &str,
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, Failure> {
    let (response, connection) = exchange(address, method, path, headers, payload).await?;
    let (parts, body) = response.into_parts();
    Ok(Response { status: parts.status, headers: parts.headers, body, _connection: connection })
}

/// Like [`send`], with a JSON body.
pub(crate) async fn send_body(
    address: &Address,
    method: Method,
    path: &str,
    mut headers: HeaderMap,
    body: String,
) -> Result<Response, Failure> {
    headers.insert(http::header::CONTENT_TYPE, JSON);
    send(address, method, path, headers, Payload::whole(body)).await
}

/// Sends a request that upgrades the connection to `h2c`.
pub(crate) async fn upgrade_to_h2c(
    address: &Address,
    path: &str,
    headers: HeaderMap,
) -> Result<UpgradedConnection, Failure> {
    upgrade(address, path, headers, "h2c", String::new(), "a build session").await
}

/// Sends a request that upgrades the connection to another protocol.
pub(crate) async fn upgrade(
    address: &Address,
    path: &str,
    mut headers: HeaderMap,
    protocol: &'static str,
    body: String,
    what: &str,
) -> Result<UpgradedConnection, Failure> {
    headers.insert(http::header::CONNECTION, http::HeaderValue::from_static("Upgrade"));
    headers.insert(http::header::UPGRADE, http::HeaderValue::from_static(protocol));
    if !body.is_empty() {
        headers.insert(http::header::CONTENT_TYPE, JSON);
    }
    let (mut response, connection) =
        exchange(address, Method::POST, path, headers, Payload::whole(body)).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(Failure::environment(format!(
            "the Docker engine at {address} refused {what}: {}",
            response.status()
        )));
    }
    let stream = hyper::upgrade::on(&mut response).await.map_err(|error| lost(address, &error))?;
    Ok(UpgradedConnection { stream, connection })
}

async fn exchange(
    address: &Address,
    method: Method,
    path: &str,
    mut headers: HeaderMap,
    payload: Payload,
) -> Result<(http::Response<Incoming>, AbortOnDropHandle<()>), Failure> {
    let (stream, stderr_text) = open(address).await.map_err(|error| connection_failure(address, &error))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| lost(address, &error))?;
    // The response reports the connection's error as well.
    let connection = AbortOnDropHandle::new(tokio::spawn(async move {
        let _ = connection.with_upgrades().await;
    }));
    headers.insert(http::header::HOST, http::HeaderValue::from_static("docker"));
    let mut request = http::Request::builder().method(method).uri(path).body(payload).map_err(|error| {
        Failure::internal(format!("a request to the Docker engine is malformed: {error}"))
    })?;
    *request.headers_mut() = headers;
    match sender.send_request(request).await {
        Ok(response) => Ok((response, connection)),
        Err(error) => Err(match stderr_text {
            Some(stderr_text) => {
                ssh_failure(address, stderr_text).await.unwrap_or_else(|| lost(address, &error))
            }
            None => lost(address, &error),
        }),
    }
}

/// Returns ssh's error, if it printed one.
async fn ssh_failure(address: &Address, stderr_text: ssh::StderrText) -> Option<Failure> {
    let stderr = tokio::time::timeout(STDERR_TIMEOUT, stderr_text).await.ok()?.ok()?;
    let failure = Failure::environment(format!("cannot connect to the Docker engine at {address}: {stderr}"));
    if stderr.is_empty() {
        return None;
    }
    let failure = failure
        .hint("`ssh` must get there without a question (an agent, a known host), and find `docker` there");
    Some(if is_connection_error(&stderr) { failure.of_kind(Unreachable::DockerEngine) } else { failure })
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn open(address: &Address) -> io::Result<(Box<dyn Stream>, Option<ssh::StderrText>)> {
    Ok(match address {
        Address::Unix(path) => (Box::new(UnixStream::connect(path).await?), None),
        Address::Tcp(host) => (Box::new(connect(host).await?), None),
        Address::Tls { host, config } => {
            let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
            let name =
                ServerName::try_from(name.trim_matches(['[', ']']).to_owned()).map_err(io::Error::other)?;
            let connector = TlsConnector::from(Arc::clone(config));
            (Box::new(connector.connect(name, connect(host).await?).await?), None)
        }
        Address::Ssh(remote) => {
            let (pipe, stderr_text) = ssh::open(remote)?;
            (Box::new(pipe), Some(stderr_text))
        }
    })
}

async fn connect(host: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn connection_failure(address: &Address, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "this user may not use the engine's socket: add it to the group `docker`, or set DOCKER_HOST to an engine it may use"
        }
        io::ErrorKind::InvalidData if matches!(address, Address::Tls { .. }) => {
            "check the certificates in DOCKER_CERT_PATH or of the Docker context: the engine's must be signed by ca.pem and name this host"
        }
        _ => "start Docker, or set DOCKER_HOST or `docker context use` to an engine that runs",
    };
    let failure =
        Failure::environment(format!("cannot connect to the Docker engine at {address}: {error}")).hint(hint);
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => failure,
        _ => failure.of_kind(Unreachable::DockerEngine).caused_by(error),
    }
}

pub(crate) fn lost(address: &Address, error: &hyper::Error) -> Failure {
    let mut causes = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        causes.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    Failure::environment(format!("lost the connection to the Docker engine at {address}: {causes}"))
        .hint("see whether the engine was stopped or restarted")
        .of_kind(Unreachable::DockerEngine)
}
