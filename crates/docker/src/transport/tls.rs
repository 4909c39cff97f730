//! TLS to an engine, with the certificates that Docker's settings name.
#![expect(clippy::disallowed_methods, reason = "the certificates that Docker's settings name are read here")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lilt_model::Failure;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Where certificates are and whether the engine's is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificates {
    /// `ca.pem`, `cert.pem` and `key.pem` are in it.
    pub(crate) folder: PathBuf,
    /// Whether `ca.pem` must be there; otherwise this machine's authorities count without it.
    pub(crate) needs_authority: bool,
    pub(crate) verify: bool,
}

impl Certificates {
    pub(crate) fn load(&self) -> Result<Arc<ClientConfig>, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::internal(error.to_string()))?;
        let builder = if self.verify {
            builder.with_root_certificates(self.authorities()?)
        } else {
            let authority = self.folder.join("ca.pem");
            if self.needs_authority && read(&authority)?.is_none() {
                return Err(missing(&authority));
            }
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        };
        let certificate = self.folder.join("cert.pem");
        let config = match read(&certificate)? {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let unusable_certificate = |error: &dyn std::fmt::Display| unusable(&certificate, error);
                let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
                let chain = chain.map_err(|error| unusable_certificate(&error))?;
                let key = self.key()?;
                builder.with_client_auth_cert(chain, key).map_err(|error| unusable_certificate(&error))?
            }
        };
        Ok(Arc::new(config))
    }

    fn authorities(&self) -> Result<RootCertStore, Failure> {
        let path = self.folder.join("ca.pem");
        let mut roots = RootCertStore::empty();
        match read(&path)? {
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(&pem) {
                    let certificate = certificate.map_err(|error| unusable(&path, &error))?;
                    roots.add(certificate).map_err(|error| unusable(&path, &error))?;
                }
            }
            None if self.needs_authority => return Err(missing(&path)),
            // What cannot be read of this machine's authorities shows when the engine's certificate is refused.
            None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        Ok(roots)
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, Failure> {
        let path = self.folder.join("key.pem");
        let pem = read(&path)?.ok_or_else(|| missing(&path))?;
        PrivateKeyDer::from_pem_slice(&pem).map_err(|error| unusable(&path, &error))
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, &error)),
    }
}

/// Scripts look for these words of Tilt's.
fn missing(path: &Path) -> Failure {
    Failure::environment(format!(
        "unable to resolve docker endpoint: open {}: no such file or directory",
        path.display()
    ))
    .hint("DOCKER_CERT_PATH, or the folder of Docker's configuration, must have ca.pem, cert.pem and key.pem; unset DOCKER_TLS_VERIFY and DOCKER_TLS for an engine without TLS")
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::environment(format!("unable to resolve docker endpoint: {}: {error}", path.display()))
}

/// The user asked not to look at the engine's certificate.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
