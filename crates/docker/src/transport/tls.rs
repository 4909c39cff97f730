//! TLS to an engine, with the certificates of Docker's settings.
#![expect(clippy::disallowed_methods, reason = "the certificates that Docker's settings name are read here")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lilt_model::Failure;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// Where the certificates are, and whether to verify the engine's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificates {
    /// The folder with `ca.pem`, `cert.pem` and `key.pem`.
    pub(crate) folder: PathBuf,
    /// Whether `ca.pem` is required; otherwise the system's authorities are the fallback.
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
            builder.dangerous().with_custom_certificate_verifier(lilt_tls::accept_any_certificate(provider))
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
            // Unreadable system authorities show as a rejected certificate.
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

/// Tilt's message, which scripts look for.
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
