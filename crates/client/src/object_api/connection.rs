//! One connection with TLS to the object API of a session, which is found where Tilt's clients find it.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use lilt_host::private_file;
use lilt_model::Failure;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use super::error::ApiError;
use crate::contexts::{self, ContextAccess};
use crate::sessions::{self, Connect};

/// A request to the API.
#[derive(Clone, Debug)]
pub(crate) struct ApiRequest {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: String,
    pub(crate) accept: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

/// The address and credentials of one session's API, with a connection once there was a request.
pub(crate) struct Connection {
    /// `127.0.0.1:1234`
    address: String,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
    token: Option<String>,
    open: Option<OpenConnection>,
}

struct OpenConnection {
    sender: SendRequest<Full<Bytes>>,
    /// Drives the connection.
    _driver: AbortOnDropHandle<()>,
}

impl OpenConnection {
    /// Returns the connection once it takes the next request; none if it has ended. Right after a response its driver may
    /// not have seen the end of that yet.
    async fn ready(mut self) -> Option<OpenConnection> {
        self.sender.ready().await.is_ok().then_some(self)
    }
}

/// A streamed response, over its own connection.
pub struct ResponseStream {
    body: Incoming,
    _open: OpenConnection,
}

impl std::fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseStream").finish_non_exhaustive()
    }
}

impl ResponseStream {
    /// Returns the next chunk; none at the end.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        while let Some(frame) = self.body.frame().await {
            match frame {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Err(error) if is_end_of_session(&error) => return Ok(None),
                Err(error) => return Err(connection_error(&error)),
            }
        }
        Ok(None)
    }
}

impl Connection {
    /// The API of the session of a context. Nothing is sent yet.
    pub(crate) fn in_context(file: &Path, name: &str) -> Result<Connection, ApiError> {
        let text = private_file::read(file)?.unwrap_or_default();
        let access = contexts::find_access(&String::from_utf8_lossy(&text), name)
            .map_err(|failure| failure.detail(format!("in {}", file.display())))?;
        match access {
            Some(access) => Ok(Connection::from_access(&access)?),
            None => Err(Failure::environment(format!("No tilt apiserver found: {name}"))
                .hint(
                    "`lilt up` starts a session; --port, or TILT_PORT, says which one is meant if there are several",
                )
                .into()),
        }
    }

    /// The API of the session that a command means. Nothing is sent yet.
    pub(crate) fn to_session(connect: &Connect) -> Result<Connection, ApiError> {
        let client = sessions::choose(connect)?;
        if !client.is_local() {
            let message =
                format!("the API of the session on {} cannot be reached from here", client.authority());
            let hint = "a session serves its objects on its own machine alone: call lilt there";
            return Err(Failure::user(message).hint(hint).into());
        }
        let name = contexts::context_name(client.port());
        let Some(file) = contexts::config_file() else {
            return Err(Failure::environment("HOME is not set, so nobody knows where the API is").into());
        };
        Connection::in_context(&file, &name)
    }

    fn from_access(access: &ContextAccess) -> Result<Connection, Failure> {
        let invalid = || Failure::environment(format!("the API is said to be at {:?}", access.server));
        let address =
            access.server.strip_prefix("https://").ok_or_else(invalid)?.trim_end_matches('/').to_owned();
        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|_| invalid())?;
        let config = Arc::new(tls_config(access)?);
        Ok(Connection { address, name, config, token: access.token.clone(), open: None })
    }

    /// Sends a request and reads the whole response. The connection stays for the next request.
    pub(crate) async fn send(&mut self, request: &ApiRequest) -> Result<Response<Bytes>, ApiError> {
        let mut open = match self.open.take() {
            Some(open) => match open.ready().await {
                Some(open) => open,
                None => self.connect().await?,
            },
            None => self.connect().await?,
        };
        let response = self.start(&mut open, request).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| connection_error(&error))?.to_bytes();
        self.open = Some(open);
        Ok(Response::from_parts(head, body))
    }

    /// Sends a request whose response is streamed.
    pub(crate) async fn open_stream(
        &self,
        request: &ApiRequest,
    ) -> Result<Response<ResponseStream>, ApiError> {
        let mut open = self.connect().await?;
        let response = self.start(&mut open, request).await?;
        Ok(response.map(|body| ResponseStream { body, _open: open }))
    }

    async fn connect(&self) -> Result<OpenConnection, ApiError> {
        let tcp = TcpStream::connect(&self.address).await.map_err(|_| self.connection_refused())?;
        // Requests are small, and each is waited for.
        tcp.set_nodelay(true).map_err(|_| self.connection_refused())?;
        let untrusted =
            |error: std::io::Error| Failure::environment(format!("Unable to connect to the server: {error}"));
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let tls = connector.connect(self.name.clone(), tcp).await.map_err(untrusted)?;
        let (sender, connection) =
            handshake(TokioIo::new(tls)).await.map_err(|error| connection_error(&error))?;
        // Its errors come out of the response, too.
        let driver = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.await;
        }));
        Ok(OpenConnection { sender, _driver: driver })
    }

    async fn start(
        &self,
        open: &mut OpenConnection,
        request: &ApiRequest,
    ) -> Result<Response<Incoming>, ApiError> {
        let mut http_request = Request::builder()
            .method(request.method.clone())
            .uri(&request.path)
            .header(header::HOST, &self.address)
            .header(header::ACCEPT, request.accept)
            .header(header::CONTENT_TYPE, request.content_type);
        if let Some(token) = &self.token {
            http_request = http_request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let http_request = http_request
            .body(Full::new(Bytes::from(request.body.clone())))
            .map_err(|error| ApiError::Malformed(format!("{:?} is no address: {error}", request.path)))?;
        open.sender.send_request(http_request).await.map_err(|error| connection_error(&error))
    }

    fn connection_refused(&self) -> ApiError {
        let message = format!(
            "The connection to the server {} was refused - did you specify the right host or port?",
            self.address
        );
        Failure::environment(message).hint("the session of this entry may have been killed").into()
    }
}

/// Trusts the certificate of the session and no other.
fn tls_config(access: &ContextAccess) -> Result<ClientConfig, Failure> {
    let invalid = |what: &str| Failure::environment(format!("the {what} of the API cannot be read"));
    let decoded = |text: &str| BASE64_STANDARD.decode(text.trim());
    let mut roots = RootCertStore::empty();
    let pem =
        decoded(access.certificate.as_deref().unwrap_or_default()).map_err(|_| invalid("certificate"))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| invalid("certificate"))?;
        roots.add(certificate).map_err(|_| invalid("certificate"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::internal(error.to_string()))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = &access.client else { return Ok(config.with_no_client_auth()) };
    let own = || invalid("client certificate");
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&decoded(certificate).map_err(|_| own())?).collect();
    let key = PrivateKeyDer::from_pem_slice(&decoded(key).map_err(|_| own())?).map_err(|_| own())?;
    config.with_client_auth_cert(chain.map_err(|_| own())?, key).map_err(|_| own())
}

/// Returns whether the session has ended: it does not close watches properly.
fn is_end_of_session(error: &hyper::Error) -> bool {
    use std::error::Error as _;
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    let cut_off = source.is_some_and(|source| {
        matches!(source.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset)
    });
    cut_off || error.is_incomplete_message() || error.is_closed()
}

fn connection_error(error: &hyper::Error) -> ApiError {
    Failure::environment(format!("the session ended the connection: {error}")).into()
}
