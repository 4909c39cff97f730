//! The port of the object API: TLS with a certificate generated for this session, and a token that only its user can
//! read.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Router, middleware};
use lilt_model::Failure;
use lilt_model::auth::new_token;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::unauthorized;
use crate::Listener;
use crate::connections::{self, OpenFileLimit};

/// What a client needs to connect.
#[derive(Clone)]
pub struct Credentials {
    pub token: Arc<str>,
    /// The server's certificate, PEM.
    pub certificate: String,
    key: Vec<u8>,
    der: Vec<u8>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Generates credentials for a session.
    pub fn make() -> Result<Self, Failure> {
        let wrong = |error: rcgen::Error| Failure::internal(format!("cannot make a certificate: {error}"));
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).map_err(wrong)?;
        Ok(Self {
            token: new_token()?,
            certificate: made.cert.pem(),
            key: made.signing_key.serialize_der(),
            der: made.cert.der().to_vec(),
        })
    }

    fn acceptor(&self) -> Result<TlsAcceptor, Failure> {
        let wrong = |error: rustls::Error| Failure::internal(format!("cannot use the certificate: {error}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(wrong)?
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from(self.der.clone())],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone())),
            )
            .map_err(wrong)?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

pub(crate) async fn serve(
    listener: Listener,
    router: Router,
    credentials: Credentials,
    open_files: Option<OpenFileLimit>,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let acceptor = credentials.acceptor()?;
    let token = Arc::clone(&credentials.token);
    let router = router.layer(middleware::from_fn(connections::admit));
    let router = router.layer(middleware::from_fn(move |request: Request, next: Next| {
        let token = Arc::clone(&token);
        async move { check(&token, request, next).await }
    }));
    connections::accept_tls(listener, acceptor, router, open_files, cancel).await;
    Ok(())
}

async fn check(token: &str, request: Request, next: Next) -> Response {
    if is_known(token, request.headers()) { next.run(request).await } else { unauthorized() }
}

fn is_known(token: &str, headers: &HeaderMap) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    is_same_token(token, given)
}

/// Compares in constant time, so that the time taken does not reveal how much of a token is right.
pub(crate) fn is_same_token(token: &str, given: &str) -> bool {
    let differs = given.bytes().zip(token.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    given.len() == token.len() && differs == 0
}
