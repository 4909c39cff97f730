//! Reaches the test bed's engine like one on another host: over TCP, over TLS, through a context.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests use this machine's files and environment; what cannot be is a bug of the test"
)]

#[path = "support/bed.rs"]
mod bed;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bed::Context;
use lilt_docker::Engine;
use lilt_model::Failure;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

fn socket() -> PathBuf {
    bed::engine().address().strip_prefix("unix://").expect("the bed's engine has a socket").into()
}

fn connect(variables: &[(&str, &str)], home: Option<&Path>) -> Result<Engine, Failure> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    Engine::connect(&|name| variables.get(name).map(|value| (*value).to_owned()), home)
}

/// A session, a build and a tag use every kind of request.
async fn builds(engine: &Engine) -> Result<(), Failure> {
    let context = Context::new(&[("file", "x")]);
    let request =
        context.request(&format!("FROM busybox\nCOPY file /\nRUN : {}\n", context.path().display()));
    let built = engine.build(&request, |_| {}, CancellationToken::new()).await?;
    let name = format!("{}:v1", bed::unique("lilt-hosts"));
    engine.tag(&built.id, &name).await?;
    assert!(engine.image_exists(&name).await?);
    let removed = std::process::Command::new("docker").args(["image", "rm", "-f", &built.id]).output();
    assert!(removed.expect("docker is there").status.success());
    Ok(())
}

/// A certificate authority and a certificate that it signed.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(parameters, key), pem }
    }

    /// A certificate and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (parameters.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// A folder for DOCKER_CERT_PATH.
    fn folder(&self, trusted: &Authority) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = self.sign("client");
        for (name, text) in [("ca.pem", &trusted.pem), ("cert.pem", &certificate), ("key.pem", &key)] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }
}

/// A TLS proxy before the test bed's engine that requires client certificates. Ends with the test's runtime.
async fn tls_proxy(authority: &Authority) -> String {
    let (certificate, key) = authority.sign("localhost");
    let certificates = |pem: &str| {
        rustls::pki_types::CertificateDer::pem_slice_iter(pem.as_bytes())
            .map(Result::unwrap)
            .collect::<Vec<_>>()
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(&authority.pem));
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(certificates(&certificate), PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap())
        .unwrap();
    let (acceptor, socket) = (TlsAcceptor::from(Arc::new(config)), socket());
    let listener = TcpListener::bind("localhost:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, socket) = (acceptor.clone(), socket.clone());
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(stream).await else { return };
                let mut engine = UnixStream::connect(socket).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut engine).await;
            });
        }
    });
    format!("tcp://localhost:{port}")
}

#[tokio::test]
async fn engine_is_reached_over_tls() {
    let (authority, other) = (Authority::new(), Authority::new());
    let host = tls_proxy(&authority).await;
    let engine = |folder: &Path, how: &str| {
        let folder = folder.to_str().unwrap();
        connect(&[("DOCKER_HOST", &host), (how, "1"), ("DOCKER_CERT_PATH", folder)], None).unwrap()
    };
    let good = authority.folder(&authority);
    builds(&engine(good.path(), "DOCKER_TLS_VERIFY")).await.unwrap();

    let distrustful = authority.folder(&other);
    let failure = builds(&engine(distrustful.path(), "DOCKER_TLS_VERIFY")).await.unwrap_err();
    assert!(
        failure.message.starts_with(&format!("cannot connect to the Docker engine at {host}: ")),
        "{failure}"
    );
    assert!(failure.hint.as_ref().unwrap().contains("signed by ca.pem"), "{failure}");
    // Accepted without verification.
    builds(&engine(distrustful.path(), "DOCKER_TLS")).await.unwrap();

    let stranger = other.folder(&authority);
    let failure = builds(&engine(stranger.path(), "DOCKER_TLS_VERIFY")).await.unwrap_err();
    assert!(failure.message.contains(&host), "{failure}");
}

#[tokio::test]
async fn context_certificates_are_used() {
    let authority = Authority::new();
    let host = tls_proxy(&authority).await;
    let (home, certificates) = (tempfile::tempdir().unwrap(), authority.folder(&authority));
    let config = home.path().join(".docker");
    let made = std::process::Command::new("docker")
        .args(["context", "create", "far", "--docker"])
        .arg(format!(
            "host={host},ca={0}/ca.pem,cert={0}/cert.pem,key={0}/key.pem",
            certificates.path().display()
        ))
        .env("DOCKER_CONFIG", &config)
        .env_remove("DOCKER_HOST")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    builds(&connect(&[("DOCKER_CONTEXT", "far")], Some(home.path())).unwrap()).await.unwrap();
    std::fs::write(config.join("config.json"), r#"{"currentContext": "far"}"#).unwrap();
    let engine = connect(&[], Some(home.path())).unwrap();
    assert_eq!(engine.address(), host);
    builds(&engine).await.unwrap();
    // A host in the environment wins.
    let socket = format!("unix://{}", socket().display());
    let engine = connect(&[("DOCKER_HOST", &socket)], Some(home.path())).unwrap();
    assert_eq!(engine.address(), socket);
}

#[tokio::test]
async fn api_version_can_be_fixed() {
    let host = format!("unix://{}", socket().display());
    let engine = |version: &str| connect(&[("DOCKER_HOST", &host), ("DOCKER_API_VERSION", version)], None);
    builds(&engine("1.44").unwrap()).await.unwrap();
    let failure = engine("9.99").unwrap().info().await.unwrap_err();
    assert!(failure.message.contains("9.99"), "{failure}");
    let failure = engine("new").unwrap_err();
    assert_eq!(failure.message, "DOCKER_API_VERSION=new is no version of Docker's API");
}
