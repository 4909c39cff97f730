//! The engine's API: version, tags and pushes. Builds are in [`crate::build`].

use std::path::Path;

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use lilt_model::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::address::{self, Address};
use crate::builder::BuilderSettings;
use crate::credentials::Credentials;
use crate::error::Error;
use crate::messages::{Message, Messages};
use crate::transport::{self, Payload, Response};
use crate::version::{ApiVersion, Ping, configured_version, ping_engine};
use lilt_model::reference::Reference;

/// A Docker engine. Connects with the first request.
#[derive(Debug)]
pub struct Engine {
    pub(crate) address: Address,
    pub(crate) credentials: Credentials,
    /// `DOCKER_BUILDKIT=0` is set.
    pub(crate) buildkit_off: bool,
    pub(crate) builder_settings: BuilderSettings,
    /// `DOCKER_API_VERSION`: the only version to use.
    configured_version: Option<ApiVersion>,
    ping: OnceCell<Ping>,
}

/// Version and platform of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    pub version: String,
    pub api_version: String,
    pub os: String,
    pub arch: String,
    pub image_store: ImageStore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageStore {
    /// Image ids are digests of manifests.
    Containerd,
    /// Image ids are digests of configurations.
    GraphDriver,
}

/// A progress message of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushProgress {
    /// The layer; empty for the image as a whole.
    pub layer: String,
    pub status: String,
    pub current: Option<u64>,
    pub total: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The digest of the image in the registry.
    pub digest: String,
}

impl Engine {
    /// Finds the engine that the `docker` command would use.
    pub fn connect(
        environment: &dyn Fn(&str) -> Option<String>,
        home: Option<&Path>,
    ) -> Result<Engine, Failure> {
        let address = address::resolve(environment, home)?;
        let directory = address::config_directory(environment, home);
        let buildkit_off = environment("DOCKER_BUILDKIT").is_some_and(|value| is_false(&value));
        let credentials = Credentials::in_directory(directory.as_deref())
            .with_podman(environment, home)
            .with_programs(environment("PATH"));
        let configured_version = configured_version(environment)?;
        let builder_settings = BuilderSettings::read(environment, home, &address.to_string())?;
        Ok(Engine {
            address,
            credentials,
            buildkit_off,
            builder_settings,
            configured_version,
            ping: OnceCell::new(),
        })
    }

    /// Returns the engine's address, for messages.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub async fn info(&self) -> Result<Info, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Version {
            version: String,
            #[serde(default)]
            api_version: String,
            #[serde(default)]
            os: String,
            #[serde(default)]
            arch: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct SystemInfo {
            #[serde(default)]
            driver_status: Option<Vec<(String, String)>>,
        }
        let version: Version = self.get("/version").await?;
        let system: SystemInfo = self.get("/info").await?;
        let containerd = system
            .driver_status
            .unwrap_or_default()
            .iter()
            .any(|(key, value)| key == "driver-type" && value.starts_with("io.containerd.snapshotter"));
        Ok(Info {
            version: version.version,
            api_version: version.api_version,
            os: version.os,
            arch: version.arch,
            image_store: if containerd { ImageStore::Containerd } else { ImageStore::GraphDriver },
        })
    }

    /// Whether the engine has an image of this name or id.
    pub async fn image_exists(&self, reference: &str) -> Result<bool, Failure> {
        Ok(self.image_id(reference).await?.is_some())
    }

    /// Returns the id of an image; none if the engine does not have it.
    pub async fn image_id(&self, reference: &str) -> Result<Option<String>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Image {
            id: String,
        }
        let path = format!("/images/{}/json", encode_path(reference));
        let response = self.request(Method::GET, &path, HeaderMap::new()).await?;
        match response.status {
            StatusCode::OK => self.read::<Image>(&path, response).await.map(|image| Some(image.id)),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(refusal(response, &format!("cannot look up the image {reference}")).await),
        }
    }

    /// Returns the references of images of this name, sorted.
    pub async fn tags(&self, name: &str) -> Result<Vec<String>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Image {
            #[serde(default)]
            repo_tags: Option<Vec<String>>,
        }
        let filters = serde_json::json!({ "reference": [name] }).to_string();
        let query = Query::new().add("filters", &filters).finish();
        let images: Vec<Image> = self.get(&format!("/images/json?{query}")).await?;
        let mut tags: Vec<String> =
            images.into_iter().flat_map(|image| image.repo_tags.unwrap_or_default()).collect();
        // An image is listed with all its names, also those that were not requested.
        tags.retain(|tag| tag.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
        tags.sort();
        Ok(tags)
    }

    /// Whether builds use BuildKit, rather than the classic builder.
    pub async fn uses_buildkit(&self) -> Result<bool, Failure> {
        Ok(!self.buildkit_off && self.ping().await?.buildkit)
    }

    /// Adds a name with a tag to an image.
    pub async fn tag(&self, id: &str, reference: &str) -> Result<(), Failure> {
        let parsed = Reference::parse(reference)?;
        let tag = parsed.tag().unwrap_or("latest");
        let query = Query::new().add("repo", &parsed.familiar_name()).add("tag", tag).finish();
        let path = format!("/images/{}/tag?{query}", encode_path(id));
        let response = self.request(Method::POST, &path, HeaderMap::new()).await?;
        match response.status {
            status if status.is_success() => Ok(()),
            _ => Err(refusal(response, &format!("cannot tag the image {id} as {reference}")).await),
        }
    }

    /// Pushes a tagged image to the registry in its name.
    pub async fn push(
        &self,
        reference: &str,
        on_progress: impl FnMut(PushProgress) + Send,
        cancel: CancellationToken,
    ) -> Result<Pushed, Failure> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled(format!("push of {reference}")).into()),
            pushed = self.run_push(reference, on_progress) => match pushed {
                Err(error) => {
                    let registry = Reference::parse(reference)?.domain().to_owned();
                    Err(self.add_helper_error(error, &[registry]).await.into())
                }
                Ok(pushed) => Ok(pushed),
            },
        }
    }

    async fn run_push(
        &self,
        reference: &str,
        mut on_progress: impl FnMut(PushProgress) + Send,
    ) -> Result<Pushed, Error> {
        let parsed = Reference::parse(reference).map_err(Failure::from)?;
        let mut headers = HeaderMap::new();
        let auth = self.credentials.registry_auth(parsed.domain()).await;
        let auth = HeaderValue::try_from(auth).expect("invariant: base64 is a header value");
        headers.insert("X-Registry-Auth", auth);
        let query = Query::new().add("tag", parsed.tag().unwrap_or("latest")).finish();
        let path = format!("/images/{}/push?{query}", encode_path(&parsed.familiar_name()));
        let response = self.request(Method::POST, &path, headers).await?;
        if !response.status.is_success() {
            return Err(refused(response, &format!("cannot push {reference}")).await);
        }
        let mut messages = Messages::new(response, self.address.clone());
        let mut digest = None;
        while let Some(message) = messages.next().await? {
            if let Some(found) = digest_in(&message) {
                digest = Some(found);
            }
            if message.error.is_some() || message.error_detail.is_some() {
                let cause = message.into_error().unwrap_or_default();
                return Err(Error::Push { reference: reference.to_owned(), cause, helper_error: None });
            } else if !message.status.is_empty() {
                let progress = message.progress.unwrap_or_default();
                on_progress(PushProgress {
                    layer: message.id,
                    status: message.status,
                    current: progress.current,
                    total: progress.total,
                });
            }
        }
        let digest = digest.ok_or_else(|| {
            Failure::environment(format!("the Docker engine pushed {reference} but did not say its digest"))
        })?;
        Ok(Pushed { digest })
    }

    /// Adds the error of a credential helper if a registry requires a login.
    pub(crate) async fn add_helper_error(&self, mut error: Error, hosts: &[String]) -> Error {
        if let Some(known) = error.helper_error() {
            for host in hosts {
                if let Some(trouble) = self.credentials.helper_error(host).await {
                    *known = Some(trouble);
                    break;
                }
            }
        }
        error
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let response = self.request(Method::GET, path, HeaderMap::new()).await?;
        if !response.status.is_success() {
            return Err(refusal(response, &format!("the Docker engine refused {path}")).await);
        }
        self.read(path, response).await
    }

    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        path: &str,
        response: Response,
    ) -> Result<T, Failure> {
        let body = response.bytes().await.map_err(|error| transport::lost(&self.address, &error))?;
        serde_json::from_slice(&body).map_err(|error| {
            Failure::environment(format!("cannot understand the Docker engine's answer to {path}: {error}"))
        })
    }

    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
    ) -> Result<Response, Failure> {
        self.send(method, path, headers, Payload::empty()).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        payload: Payload,
    ) -> Result<Response, Failure> {
        let path = self.versioned(path).await?;
        transport::send(&self.address, method, &path, headers, payload).await
    }

    /// Sends a request with a JSON body.
    pub(crate) async fn post_json(&self, path: &str, words: &serde_json::Value) -> Result<Response, Failure> {
        let path = self.versioned(path).await?;
        transport::send_body(&self.address, Method::POST, &path, HeaderMap::new(), words.to_string()).await
    }

    /// Prefixes a path with the negotiated API version.
    pub(crate) async fn versioned(&self, path: &str) -> Result<String, Failure> {
        let ApiVersion(major, minor) = self.ping().await?.version;
        Ok(format!("/v{major}.{minor}{path}"))
    }

    /// Requests the version once; a failure is not cached.
    pub(crate) async fn ping(&self) -> Result<&Ping, Failure> {
        self.ping.get_or_try_init(|| ping_engine(&self.address, self.configured_version)).await
    }
}

/// Parses a boolean like Go.
fn is_false(value: &str) -> bool {
    matches!(value, "0" | "f" | "F" | "false" | "FALSE" | "False")
}

/// Returns the message of an error response.
pub(crate) async fn sentence(response: Response) -> String {
    #[derive(Deserialize)]
    struct Body {
        message: String,
    }
    let status = response.status;
    let body = response.bytes().await.unwrap_or_default();
    match serde_json::from_slice::<Body>(&body) {
        Ok(body) => body.message,
        Err(_) if body.is_empty() => status.to_string(),
        Err(_) => String::from_utf8_lossy(&body).trim().to_owned(),
    }
}

/// Returns the failure of an error response.
pub(crate) async fn refusal(response: Response, operation: &str) -> Failure {
    refused(response, operation).await.into()
}

async fn refused(response: Response, operation: &str) -> Error {
    let status = response.status;
    Error::Refused { operation: operation.to_owned(), status, cause: sentence(response).await }
}

/// Returns the digest in a message: the older image store sends it as data, containerd's only in a sentence.
fn digest_in(message: &Message) -> Option<String> {
    let told = message.aux.as_ref().and_then(|aux| aux.get("Digest")?.as_str());
    let said = || message.status.split_once(": digest: ")?.1.split(' ').next();
    told.or_else(said).map(str::to_owned)
}

/// A query string under construction.
#[derive(Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub(crate) fn add(mut self, key: &str, value: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(key);
        self.0.push('=');
        encode_into(&mut self.0, value, "");
        self
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// Encodes a path; slashes, colons and at signs stay, because the engine's routes expect them.
pub(crate) fn encode_path(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    encode_into(&mut out, text, "/:@");
    out
}

fn encode_into(out: &mut String, text: &str, also_plain: &str) {
    for byte in text.bytes() {
        let plain =
            byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || also_plain.as_bytes().contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_escaped() {
        let query = Query::new().add("t", "a/b:c").add("buildargs", "{\"k\":\"ä &\"}").finish();
        assert_eq!(query, "t=a%2Fb%3Ac&buildargs=%7B%22k%22%3A%22%C3%A4%20%26%22%7D");
    }
}
