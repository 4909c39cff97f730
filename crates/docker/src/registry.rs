//! Checks what a registry has. The requests go through the engine, which knows mirrors, insecure registries and
//! proxies.

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use lilt_model::reference::Reference;
use lilt_model::{Failure, Unreachable};
use serde::Deserialize;

use crate::engine::{Engine, encode_path, sentence};
use crate::error::{Error, is_connection_error};
use crate::version::ping_engine;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    id: String,
    #[serde(default)]
    repo_digests: Option<Vec<String>>,
}

impl Engine {
    /// Whether the registry has the engine's image under this reference.
    ///
    /// False if that cannot be found out: the push that follows reports errors better.
    pub async fn is_pushed(&self, reference: &str) -> bool {
        let both = async {
            let (there, here) = tokio::join!(self.digest_in_registry(reference), self.digests(reference));
            Some(here.ok()?.contains(&there.ok()??))
        };
        both.await.unwrap_or(false)
    }

    /// Whether a build that uses this reference would get the image with this digest: that of the engine, or else
    /// that of the registry.
    pub async fn resolves_to(&self, reference: &str, digest: &str) -> bool {
        match self.image_exists(reference).await {
            Ok(true) => self.digests(reference).await.is_ok_and(|known| known.iter().any(|it| it == digest)),
            Ok(false) => {
                self.digest_in_registry(reference).await.is_ok_and(|it| it.as_deref() == Some(digest))
            }
            Err(_) => false,
        }
    }

    /// Whether an unreachable dependency responds now.
    pub async fn is_reachable_again(&self, what: &Unreachable) -> bool {
        match what {
            Unreachable::DockerEngine => ping_engine(&self.address, None).await.is_ok(),
            // Any response means that it is reachable.
            Unreachable::Registry(reference) => self
                .digest_in_registry(reference)
                .await
                .map_or_else(|failure| failure.unreachable().is_none(), |_| true),
            Unreachable::Cluster | Unreachable::Machine => true,
        }
    }

    /// Returns the digest of a reference in its registry; none if it does not exist there.
    pub async fn digest_in_registry(&self, reference: &str) -> Result<Option<String>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Distribution {
            descriptor: Descriptor,
        }
        #[derive(Deserialize)]
        struct Descriptor {
            digest: String,
        }
        let parsed = Reference::parse(reference)?;
        let mut headers = HeaderMap::new();
        let auth = self.credentials.registry_auth(parsed.domain()).await;
        let auth = HeaderValue::try_from(auth).expect("invariant: base64 is a header value");
        headers.insert("X-Registry-Auth", auth);
        let path = format!("/distribution/{}/json", encode_path(reference));
        let response = self.request(Method::GET, &path, headers).await?;
        match response.status {
            StatusCode::OK => {
                let found: Distribution = self.read(&path, response).await?;
                Ok(Some(found.descriptor.digest))
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => {
                let (status, cause) = (response.status, sentence(response).await);
                let is_connection_error = is_connection_error(&cause);
                let operation = format!("cannot ask for {reference}");
                let failure = Failure::from(Error::Refused { operation, status, cause });
                Err(match is_connection_error {
                    true => failure.of_kind(Unreachable::Registry(reference.to_owned())),
                    false => failure,
                })
            }
        }
    }

    /// Returns the digests that the image may have in a registry: its id, which may be a manifest digest, and those
    /// of earlier pushes and pulls of this name.
    async fn digests(&self, reference: &str) -> Result<Vec<String>, Failure> {
        let parsed = Reference::parse(reference)?;
        let image: Inspected = self.get(&format!("/images/{}/json", encode_path(reference))).await?;
        let own = |text: String| {
            let (name, digest) = text.split_once('@')?;
            (name == parsed.familiar_name()).then(|| digest.to_owned())
        };
        let known = image.repo_digests.unwrap_or_default().into_iter().filter_map(own);
        Ok(std::iter::once(image.id).chain(known).collect())
    }
}
