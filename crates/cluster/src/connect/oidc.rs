//! The `oidc` auth provider of kubeconfig: an id token that is renewed with a refresh token.
#![allow(clippy::disallowed_methods, reason = "the certificate authority that kubeconfig names is read here")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Request, Uri};
use jiff::Timestamp;
use kube::config::AuthProviderConfig;
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;

use super::credentials::Origin;
use super::exec_plugin::{self, Credentials, LoginError, PluginOutput};
use super::{persist, proxy_environment, transport};

const ISSUER: &str = "idp-issuer-url";
const CLIENT_ID: &str = "client-id";
const CLIENT_SECRET: &str = "client-secret";
const ID_TOKEN: &str = "id-token";
const REFRESH_TOKEN: &str = "refresh-token";
/// The fields that change when the tokens are renewed.
pub(super) const TOKENS: [&str; 2] = [ID_TOKEN, REFRESH_TOKEN];
const AUTHORITY: &str = "idp-certificate-authority";
const AUTHORITY_DATA: &str = "idp-certificate-authority-data";

/// The timeout of one request to the identity provider.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct Oidc {
    config: HashMap<String, String>,
    /// Where renewed tokens are written.
    origin: Origin,
}

#[derive(Deserialize)]
struct Discovery {
    #[serde(default)]
    token_endpoint: String,
}

#[derive(Deserialize)]
struct TokenResponse {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

/// Rejects what kubectl rejects. The error is a single line.
pub(super) fn validate(provider: &AuthProviderConfig) -> Result<(), String> {
    for field in [ISSUER, CLIENT_ID] {
        if provider.config.get(field).is_none_or(String::is_empty) {
            return Err(format!("the auth-provider oidc needs {field}"));
        }
    }
    Ok(())
}

impl Oidc {
    pub(super) fn new(provider: AuthProviderConfig, origin: Origin) -> Self {
        Self { config: provider.config, origin }
    }

    /// Returns the id token, renewed if it has expired.
    pub(super) async fn get(&mut self, output: &PluginOutput) -> Result<Credentials, LoginError> {
        self.read_tokens();
        if let Some(token) = self.field(ID_TOKEN) {
            let credentials =
                parse_token(token).map_err(|cause| failed(format!("has an id-token that {cause}")))?;
            if credentials.is_valid() {
                return Ok(credentials);
            }
        }
        if self.field(REFRESH_TOKEN).is_none() {
            return Err(failed("has no valid id-token and no refresh-token to get another one".to_owned()));
        }
        let response = self.refresh().await;
        let response = response.map_err(|cause| failed(format!("cannot renew its id-token: {cause}")))?;
        let Some(token) = response.id_token else {
            let message = "cannot renew its id-token: the identity provider sent none (was the scope `openid` requested?)";
            return Err(failed(message.to_owned()));
        };
        let credentials =
            parse_token(&token).map_err(|cause| failed(format!("was given an id-token that {cause}")))?;
        let mut changes = vec![(ID_TOKEN, token)];
        changes.extend(response.refresh_token.filter(|it| !it.is_empty()).map(|it| (REFRESH_TOKEN, it)));
        changes.retain(|(field, value)| self.field(field) != Some(value));
        for (field, value) in &changes {
            self.config.insert((*field).to_owned(), value.clone());
        }
        // Many identity providers accept a refresh token only once: kubectl needs the new one.
        if let Some((file, user)) = &self.origin
            && let Err(cause) = persist::write_tokens(file, user, &changes)
        {
            output.send(&format!("WARNING: cannot write new tokens to {}: {cause}", file.display()));
        }
        Ok(credentials)
    }

    /// Rereads the tokens from the kubeconfig: kubectl may have used up the refresh token meanwhile.
    fn read_tokens(&mut self) {
        let Some((file, user)) = &self.origin else { return };
        // An unreadable file is probably being written; the known tokens may still be valid.
        for (field, value) in persist::read_tokens(file, user, &TOKENS).unwrap_or_default() {
            self.config.insert(field, value);
        }
    }

    fn field(&self, name: &str) -> Option<&String> {
        self.config.get(name).filter(|value| !value.is_empty())
    }

    async fn refresh(&self) -> Result<TokenResponse, String> {
        let issuer = self.field(ISSUER).map_or("", |issuer| issuer.trim_end_matches('/'));
        let address = format!("{issuer}/.well-known/openid-configuration");
        let discovery = Request::get(address).body(Vec::new()).map_err(|error| error.to_string())?;
        let discovery: Discovery = self.send(discovery).await?;
        if discovery.token_endpoint.is_empty() {
            return Err("the identity provider names no token_endpoint".to_owned());
        }
        // Some identity providers want the client in the header, others in the body. They do not announce which.
        let in_header = self.token_request(&discovery.token_endpoint, true)?;
        match self.send(in_header).await {
            Ok(response) => Ok(response),
            Err(_) => self.send(self.token_request(&discovery.token_endpoint, false)?).await,
        }
    }

    fn token_request(&self, endpoint: &str, is_client_in_header: bool) -> Result<Request<Vec<u8>>, String> {
        let encoded = |name: &str| encode(self.field(name).map_or("", String::as_str));
        let mut body = format!("grant_type=refresh_token&refresh_token={}", encoded(REFRESH_TOKEN));
        let mut request = Request::post(endpoint).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let (id, secret) = (encoded(CLIENT_ID), encoded(CLIENT_SECRET));
        if is_client_in_header {
            let login = STANDARD.encode(format!("{id}:{secret}"));
            request = request.header(AUTHORIZATION, format!("Basic {login}"));
        } else {
            let _ = write!(body, "&client_id={id}");
            if !secret.is_empty() {
                let _ = write!(body, "&client_secret={secret}");
            }
        }
        request.body(body.into_bytes()).map_err(|error| error.to_string())
    }

    async fn send<T: for<'de> Deserialize<'de>>(&self, request: Request<Vec<u8>>) -> Result<T, String> {
        let address = request.uri().clone();
        let (Some(scheme), Some(authority)) = (address.scheme_str(), address.authority()) else {
            return Err(format!("`{address}` is not a URL"));
        };
        let origin = format!("{scheme}://{authority}").parse::<Uri>().map_err(|error| error.to_string())?;
        let mut config = Config::new(origin);
        config.root_cert = self.authority()?;
        config.proxy_url = proxy_environment().proxy_to(&address);
        let transport = transport::new_transport(config).map_err(|error| crate::error::causes(&error))?;
        let client = Client::new(transport, "default");
        let text = match tokio::time::timeout(TIMEOUT, client.request_text(request)).await {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => return Err(format!("{address}: {}", crate::error::causes(&error))),
            Err(_) => return Err(format!("{address} did not respond within {} seconds", TIMEOUT.as_secs())),
        };
        serde_json::from_str(&text).map_err(|error| format!("{address}: {error}"))
    }

    fn authority(&self) -> Result<Option<Vec<Vec<u8>>>, String> {
        let pem = match (self.field(AUTHORITY_DATA), self.field(AUTHORITY)) {
            (Some(data), _) => {
                STANDARD.decode(data.trim()).map_err(|error| format!("{AUTHORITY_DATA}: {error}"))?
            }
            (None, Some(file)) => {
                std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))?
            }
            (None, None) => return Ok(None),
        };
        let certificates = CertificateDer::pem_slice_iter(&pem).map(|it| it.map(|it| it.to_vec()));
        certificates.collect::<Result<_, _>>().map(Some).map_err(|error| format!("{AUTHORITY}: {error}"))
    }
}

/// The error completes "an id-token that …".
fn parse_token(token: &str) -> Result<Credentials, String> {
    #[derive(Deserialize)]
    struct Claims {
        exp: f64,
    }
    let parts: Vec<&str> = token.split('.').collect();
    let [_, claims, _] = parts[..] else { return Err("is not a JSON Web Token".to_owned()) };
    let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).map_err(|error| error.to_string());
    let claims = claims.and_then(|json| serde_json::from_slice::<Claims>(&json).map_err(|it| it.to_string()));
    let claims = claims.map_err(|error| format!("cannot be read: {error}"))?;
    #[expect(clippy::cast_possible_truncation, reason = "seconds since 1970")]
    let expires = Timestamp::from_second(claims.exp as i64).map_err(|error| error.to_string())?;
    let token = exec_plugin::bearer(token).map_err(|_| "contains control characters".to_owned())?;
    Ok(Credentials { token: Some(token), identity: None, expires: Some(expires) })
}

fn failed(message: String) -> LoginError {
    LoginError {
        message: format!("the auth-provider oidc of kubeconfig {message}"),
        output: String::new(),
        hint: "log in again, as you did to get this kubeconfig".to_owned(),
    }
}

/// Percent-encodes a form value.
fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => all.push(byte.into()),
            _ => {
                let _ = write!(all, "%{byte:02X}");
            }
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn expiry_is_read_from_the_token() {
        assert!(!parse_token(&token(r#"{"exp": 1}"#)).unwrap().is_valid());
        assert!(parse_token(&token(r#"{"exp": 32503680000.5}"#)).unwrap().is_valid());
        assert!(parse_token("abc").is_err());
        assert!(parse_token(&token("{}")).is_err());
    }

    #[tokio::test]
    async fn expired_token_without_a_refresh_token_is_not_sent() {
        let config = HashMap::from([(ID_TOKEN.to_owned(), token(r#"{"exp": 1}"#))]);
        let mut oidc = Oidc { config, origin: None };
        let failed = oidc.get(&PluginOutput::default()).await.err().unwrap();
        assert!(failed.message.contains("no refresh-token"), "{failed}");
    }

    #[tokio::test]
    async fn token_that_another_program_has_renewed_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let renewed = token(r#"{"exp": 32503680000}"#);
        let provider = serde_json::json!({"name": "oidc", "config": {ID_TOKEN: renewed}});
        let text = serde_json::json!({"users": [{"name": "me", "user": {"auth-provider": provider}}]});
        std::fs::write(&file, text.to_string()).unwrap();
        let config = HashMap::from([(ID_TOKEN.to_owned(), token(r#"{"exp": 1}"#))]);
        let mut oidc = Oidc { config, origin: Some((file, "me".to_owned())) };
        let credentials = oidc.get(&PluginOutput::default()).await.ok().unwrap();
        assert_eq!(credentials.token.unwrap().to_str().unwrap(), format!("Bearer {renewed}"));
    }

    #[test]
    fn form_values_are_encoded() {
        assert_eq!(encode("a b&c=ü~"), "a%20b%26c%3D%C3%BC~");
    }
}
