//! The way to the API of a session: found where Tilt's clients find it, spoken to over one connection with TLS.

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
use crate::contexts::{self, Access};
use crate::sessions::{self, Connect};

/// What is asked of the API, beside its path.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: String,
    pub(crate) accept: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

/// One way to one session.
pub(crate) struct Line {
    /// `127.0.0.1:1234`
    address: String,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
    token: Option<String>,
    open: Option<Open>,
}

struct Open {
    sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes.
    _driver: AbortOnDropHandle<()>,
}

impl Open {
    /// The connection once it takes the next question: right after an answer its driver may not have seen the end of
    /// that yet. None if it has ended.
    async fn free(mut self) -> Option<Open> {
        self.sender.ready().await.is_ok().then_some(self)
    }
}

/// An answer that goes on; the connection is its own.
pub struct ResponseStream {
    body: Incoming,
    _open: Open,
}

impl std::fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseStream").finish_non_exhaustive()
    }
}

impl ResponseStream {
    /// What has come; none at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        while let Some(frame) = self.body.frame().await {
            match frame {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Err(error) if is_end(&error) => return Ok(None),
                Err(error) => return Err(broken(&error)),
            }
        }
        Ok(None)
    }
}

impl Line {
    /// To the session of a context. Nothing is sent yet.
    pub(crate) fn in_context(file: &Path, name: &str) -> Result<Line, ApiError> {
        let text = private_file::read(file)?.unwrap_or_default();
        let access = contexts::access(&String::from_utf8_lossy(&text), name)
            .map_err(|failure| failure.detail(format!("in {}", file.display())))?;
        match access {
            Some(access) => Ok(Line::to(&access)?),
            None => Err(Failure::environment(format!("No tilt apiserver found: {name}"))
                .hint(
                    "`lilt up` starts a session; --port, or TILT_PORT, says which one is meant if there are several",
                )
                .into()),
        }
    }

    /// To the session that is meant. Nothing is sent yet.
    pub(crate) fn find(connect: &Connect) -> Result<Line, ApiError> {
        let client = sessions::choose(connect)?;
        if !client.is_here() {
            let message = format!("the API of the session on {} cannot be reached from here", client.host());
            let hint = "a session serves its objects on its own machine alone: call lilt there";
            return Err(Failure::user(message).hint(hint).into());
        }
        let name = contexts::context_name(client.port());
        let Some(file) = contexts::config_file() else {
            return Err(Failure::environment("HOME is not set, so nobody knows where the API is").into());
        };
        Line::in_context(&file, &name)
    }

    fn to(access: &Access) -> Result<Line, Failure> {
        let odd = || Failure::environment(format!("the API is said to be at {:?}", access.server));
        let address =
            access.server.strip_prefix("https://").ok_or_else(odd)?.trim_end_matches('/').to_owned();
        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|_| odd())?;
        let config = Arc::new(trust(access)?);
        Ok(Line { address, name, config, token: access.token.clone(), open: None })
    }

    /// Asks and reads the whole answer. The connection stays for the next question.
    pub(crate) async fn ask(&mut self, question: &Question) -> Result<Response<Bytes>, ApiError> {
        let mut open = match self.open.take() {
            Some(open) => match open.free().await {
                Some(open) => open,
                None => self.connect().await?,
            },
            None => self.connect().await?,
        };
        let response = self.send(&mut open, question).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| broken(&error))?.to_bytes();
        self.open = Some(open);
        Ok(Response::from_parts(head, body))
    }

    /// Asks for an answer that goes on.
    pub(crate) async fn follow(&self, question: &Question) -> Result<Response<ResponseStream>, ApiError> {
        let mut open = self.connect().await?;
        let response = self.send(&mut open, question).await?;
        Ok(response.map(|body| ResponseStream { body, _open: open }))
    }

    async fn connect(&self) -> Result<Open, ApiError> {
        let tcp = TcpStream::connect(&self.address).await.map_err(|_| self.silent())?;
        // Questions are small, and each is waited for.
        tcp.set_nodelay(true).map_err(|_| self.silent())?;
        let untrusted =
            |error: std::io::Error| Failure::environment(format!("Unable to connect to the server: {error}"));
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let tls = connector.connect(self.name.clone(), tcp).await.map_err(untrusted)?;
        let (sender, connection) = handshake(TokioIo::new(tls)).await.map_err(|error| broken(&error))?;
        // Its errors come out of the answer too.
        let driver = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.await;
        }));
        Ok(Open { sender, _driver: driver })
    }

    async fn send(&self, open: &mut Open, question: &Question) -> Result<Response<Incoming>, ApiError> {
        let mut request = Request::builder()
            .method(question.method.clone())
            .uri(&question.path)
            .header(header::HOST, &self.address)
            .header(header::ACCEPT, question.accept)
            .header(header::CONTENT_TYPE, question.content_type);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .body(Full::new(Bytes::from(question.body.clone())))
            .map_err(|error| ApiError::Malformed(format!("{:?} is no address: {error}", question.path)))?;
        open.sender.send_request(request).await.map_err(|error| broken(&error))
    }

    fn silent(&self) -> ApiError {
        let message = format!(
            "The connection to the server {} was refused - did you specify the right host or port?",
            self.address
        );
        Failure::environment(message).hint("the session of this entry may have been killed").into()
    }
}

/// Only the certificate of the session is trusted.
fn trust(access: &Access) -> Result<ClientConfig, Failure> {
    let odd = |what: &str| Failure::environment(format!("the {what} of the API cannot be read"));
    let decoded = |text: &str| BASE64_STANDARD.decode(text.trim());
    let mut roots = RootCertStore::empty();
    let pem = decoded(access.certificate.as_deref().unwrap_or_default()).map_err(|_| odd("certificate"))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| odd("certificate"))?;
        roots.add(certificate).map_err(|_| odd("certificate"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::internal(error.to_string()))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = &access.client else { return Ok(config.with_no_client_auth()) };
    let own = || odd("client certificate");
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&decoded(certificate).map_err(|_| own())?).collect();
    let key = PrivateKeyDer::from_pem_slice(&decoded(key).map_err(|_| own())?).map_err(|_| own())?;
    config.with_client_auth_cert(chain.map_err(|_| own())?, key).map_err(|_| own())
}

/// Whether the session has ended: it says no farewell to those who watch.
fn is_end(error: &hyper::Error) -> bool {
    use std::error::Error as _;
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    let cut_off = source.is_some_and(|source| {
        matches!(source.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset)
    });
    cut_off || error.is_incomplete_message() || error.is_closed()
}

fn broken(error: &hyper::Error) -> ApiError {
    Failure::environment(format!("the session ended the connection: {error}")).into()
}
