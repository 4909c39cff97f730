//! Accepts client certificates of X.509 version 1, which some clusters still issue (MicroK8s).
//!
//! rustls refuses to parse them, but only the server has to: they are sent unchanged.
#![allow(clippy::disallowed_methods, reason = "certificates that kubeconfig names are read here")]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::client::ConfigExt as _;
use kube::config::AuthInfo;
use kube::{Config, Error};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

/// Returns the TLS configuration of kube, also for such certificates.
pub(super) fn tls(config: &Config) -> Result<rustls::ClientConfig, Error> {
    let error = match config.rustls_client_config() {
        Err(error) if crate::error::causes(&error).contains("UnsupportedCertVersion") => error,
        result => return result,
    };
    let Some(identity) = read_unverified(&config.auth_info) else { return Err(error) };
    let mut anonymous = config.clone();
    let user = &mut anonymous.auth_info;
    (user.client_certificate, user.client_certificate_data) = (None, None);
    (user.client_key, user.client_key_data) = (None, None);
    let mut tls = anonymous.rustls_client_config()?;
    tls.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(identity));
    Ok(tls)
}

fn read_unverified(user: &AuthInfo) -> Option<CertifiedKey> {
    // Serializing is the only way to read secrets from kube's types.
    let user = serde_json::to_value(user).ok()?;
    let read = |field: &str| {
        let data = user[format!("{field}-data")].as_str().filter(|data| !data.is_empty());
        match data {
            Some(data) => STANDARD.decode(data.trim()).ok(),
            None => std::fs::read(user[field].as_str()?).ok(),
        }
    };
    let chain = CertificateDer::pem_slice_iter(&read("client-certificate")?).collect::<Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty())?;
    let key = PrivateKeyDer::from_pem_slice(&read("client-key")?).ok()?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key).ok()?;
    Some(CertifiedKey::new(chain, key))
}
