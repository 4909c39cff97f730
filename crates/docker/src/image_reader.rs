//! Reads the configuration and files of images without starting a container; also pulls and loads images.

mod directories;

use http::{HeaderMap, Method, StatusCode};
use lilt_model::reference::Reference;
use lilt_model::{Failure, Timestamp};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::engine::{Engine, Query, encode_path, refusal};
use crate::messages::Messages;
use crate::transport::{self, Payload};
use directories::ChannelReader;
pub use directories::Directories;

/// Enough of an archive to contain the header of its first file.
const HEADER_BYTES: usize = 4096;
/// Longer files are not lists of users.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// How much of a directory is read to find the owners of its subdirectories: about a second's worth.
const MAX_TREE_BYTES: usize = 512 << 20;
/// Chunks between the connection and the archive reader. When it is full, the engine is not read.
const CHUNKS_BUFFERED: usize = 4;
/// The name prefix of containers that are created to read images.
const CONTAINER_PREFIX: &str = "lilt-look-";
/// Longer chains of links are loops.
const MAX_LINKS: usize = 16;

/// The configuration of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageConfiguration {
    pub id: String,
    /// For example `amd64`.
    pub architecture: String,
    /// As in the Dockerfile.
    pub user: String,
    pub environment: Vec<String>,
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    /// Empty: the root directory.
    pub working_directory: String,
}

/// Type, mode and owner of a file or directory of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathInfo {
    pub directory: bool,
    pub mode: u32,
    pub user: u64,
    pub group: u64,
}

/// Reads files of an image, through a container that never starts, or of an existing container.
#[derive(Debug)]
pub struct ImageReader<'a> {
    engine: &'a Engine,
    container: String,
}

impl Engine {
    /// Returns none if the engine does not have the image.
    pub async fn image_configuration(&self, reference: &str) -> Result<Option<ImageConfiguration>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Image {
            id: String,
            #[serde(default)]
            architecture: String,
            #[serde(default)]
            config: Option<Config>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "PascalCase", default)]
        struct Config {
            user: Option<String>,
            env: Option<Vec<String>>,
            entrypoint: Option<Vec<String>>,
            cmd: Option<Vec<String>>,
            working_dir: Option<String>,
        }
        let path = format!("/images/{}/json", encode_path(reference));
        let response = self.request(Method::GET, &path, HeaderMap::new()).await?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(refusal(response, &format!("cannot look up the image {reference}")).await),
        }
        let image: Image = self.read(&path, response).await?;
        let config = image.config.unwrap_or_default();
        Ok(Some(ImageConfiguration {
            id: image.id,
            architecture: image.architecture,
            user: config.user.unwrap_or_default(),
            environment: config.env.unwrap_or_default(),
            entrypoint: config.entrypoint.unwrap_or_default(),
            command: config.cmd.unwrap_or_default(),
            working_directory: config.working_dir.unwrap_or_default(),
        }))
    }

    /// Pulls an image from the registry in its name.
    pub async fn pull(&self, reference: &str) -> Result<(), Failure> {
        let parsed = Reference::parse(reference)?;
        let mut headers = HeaderMap::new();
        let auth = self.credentials.registry_auth(parsed.domain()).await;
        let auth = http::HeaderValue::try_from(auth).expect("invariant: base64 is a header value");
        headers.insert("X-Registry-Auth", auth);
        let query = Query::new()
            .add("fromImage", &parsed.familiar_name())
            .add("tag", parsed.tag().unwrap_or("latest"))
            .finish();
        let response = self.request(Method::POST, &format!("/images/create?{query}"), headers).await?;
        if !response.status.is_success() {
            return Err(refusal(response, &format!("cannot pull {reference}")).await);
        }
        self.read_messages(response, &format!("cannot pull {reference}")).await
    }

    /// Reads the progress messages of a request; fails if one is an error.
    async fn read_messages(&self, response: transport::Response, operation: &str) -> Result<(), Failure> {
        let mut messages = Messages::new(response, self.address.clone());
        while let Some(message) = messages.next().await? {
            if message.error.is_some() || message.error_detail.is_some() {
                let cause = message.into_error().unwrap_or_default();
                return Err(Failure::environment(format!("{operation}: {cause}")));
            }
        }
        Ok(())
    }

    /// Opens an image for reading.
    ///
    /// `owner` must differ between processes and between overlapping readers of one process: one would remove the
    /// container that the other reads. A container that a cancelled reader of the same owner left is reused.
    pub async fn open_image(&self, id: &str, owner: &str) -> Result<ImageReader<'_>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Created {
            id: String,
        }
        let digits: String = id.trim_start_matches("sha256:").chars().take(24).collect();
        let owner: String = Sha256::digest(owner).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{CONTAINER_PREFIX}{digits}-{owner}");
        let query = Query::new().add("name", &name).finish();
        let path = format!("/containers/create?{query}");
        // It is never started: any command works for images without one.
        let wanted = serde_json::json!({ "Image": id, "Entrypoint": ["/"], "NetworkDisabled": true });
        let response = self.post_json(&path, &wanted).await?;
        match response.status {
            StatusCode::CONFLICT => Ok(ImageReader { engine: self, container: name }),
            status if status.is_success() => {
                let Created { id } = self.read(&path, response).await?;
                Ok(ImageReader { engine: self, container: id })
            }
            _ => Err(refusal(response, &format!("cannot look into the image {id}")).await),
        }
    }

    /// Removes the containers of readers that killed processes left before `deadline`.
    pub async fn remove_abandoned_readers(&self, deadline: Timestamp) -> Result<(), Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Listed {
            id: String,
            /// In seconds.
            created: i64,
        }
        let filters = serde_json::json!({ "name": [CONTAINER_PREFIX], "status": ["created"] }).to_string();
        let query = Query::new().add("all", "1").add("filters", &filters).finish();
        let path = format!("/containers/json?{query}");
        let response = self.request(Method::GET, &path, HeaderMap::new()).await?;
        if !response.status.is_success() {
            return Err(refusal(response, "cannot list containers").await);
        }
        let listed: Vec<Listed> = self.read(&path, response).await?;
        for container in listed.iter().filter(|it| it.created.saturating_mul(1_000_000) < deadline.0) {
            self.remove_container(&container.id).await?;
        }
        Ok(())
    }

    /// Removes a container; false if it is removed already or being removed.
    async fn remove_container(&self, container: &str) -> Result<bool, Failure> {
        let path = format!("/containers/{}?force=1", encode_path(container));
        let response = self.request(Method::DELETE, &path, HeaderMap::new()).await?;
        match response.status {
            status if status.is_success() => Ok(true),
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(false),
            _ => Err(refusal(response, "cannot end a look into an image").await),
        }
    }

    /// Loads an image from an archive in the format of `docker save`.
    pub async fn load(&self, archive: Vec<u8>) -> Result<(), Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/x-tar"));
        let payload = Payload::whole(archive);
        let response = self.send(Method::POST, "/images/load?quiet=1", headers, payload).await?;
        if !response.status.is_success() {
            return Err(refusal(response, "cannot load an image").await);
        }
        self.read_messages(response, "cannot load an image").await
    }
}

impl<'a> ImageReader<'a> {
    /// Reads an existing container, which is not removed.
    pub(crate) fn at(engine: &'a Engine, container: &str) -> Self {
        Self { engine, container: container.to_owned() }
    }
}

impl ImageReader<'_> {
    /// Returns what is at a path of the image, following links; none if nothing is.
    pub async fn find(&self, path: &str) -> Result<Option<PathInfo>, Failure> {
        Ok(self.follow(path, HEADER_BYTES).await?.map(|followed| followed.found))
    }

    /// Returns the directories at and below a path of the image, as far as they are found within the size limit.
    pub async fn directories(&self, path: &str) -> Result<Directories, Failure> {
        let Some(Followed { path, .. }) = self.follow(path, HEADER_BYTES).await? else {
            return Ok(Directories { complete: true, ..Directories::default() });
        };
        let Some(mut response) = self.open(&path).await? else { return Ok(Directories::default()) };
        let (sender, chunks) = tokio::sync::mpsc::channel(CHUNKS_BUFFERED);
        let reading = tokio::task::spawn_blocking(|| directories::directories(ChannelReader::new(chunks)));
        let mut read = 0;
        let mut outcome = Ok(());
        while read < MAX_TREE_BYTES {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    read += chunk.len();
                    // The receiver has seen the end of the archive.
                    if sender.send(chunk).await.is_err() {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    outcome = Err(transport::lost(&self.engine.address, &error));
                    break;
                }
            }
        }
        drop(sender);
        let broken = |error| Failure::internal(format!("reading an image broke: {error}"));
        let Directories { found, complete } = reading.await.map_err(broken)?;
        outcome.map(|()| Directories { found, complete: complete && read < MAX_TREE_BYTES })
    }

    /// Reads a text file of the image; none if it does not exist.
    pub async fn read(&self, path: &str) -> Result<Option<String>, Failure> {
        let text = |archive: Vec<u8>| {
            let mut archive = tar::Archive::new(archive.as_slice());
            let mut text = String::new();
            let file = archive.entries().ok()?.next()?.ok()?;
            std::io::Read::read_to_string(&mut { file }, &mut text).ok()?;
            Some(text)
        };
        Ok(self.follow(path, MAX_TEXT_BYTES).await?.and_then(|followed| text(followed.archive)))
    }

    /// Removes the container; false if somebody else did, for example `docker container prune`. Files that were not
    /// found then may exist.
    pub async fn close(self) -> Result<bool, Failure> {
        self.engine.remove_container(&self.container).await
    }

    async fn follow(&self, path: &str, limit: usize) -> Result<Option<Followed>, Failure> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let Some(archive) = self.archive(&path, limit).await? else { return Ok(None) };
            let Some((found, link)) = first(&archive) else {
                return Err(Failure::environment(format!("cannot understand what the image has at {path}")));
            };
            match link {
                None => return Ok(Some(Followed { found, path, archive })),
                Some(target) if target.starts_with('/') => path = target,
                // The engine resolves `..` inside of the image.
                Some(target) => {
                    path = format!("{}/{target}", path.rsplit_once('/').map_or("", |(folder, _)| folder));
                }
            }
        }
        Ok(None)
    }

    /// Reads the beginning of an archive of a path; none if the path does not exist.
    async fn archive(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
        let Some(mut response) = self.open(path).await? else { return Ok(None) };
        let mut archive = Vec::new();
        while archive.len() < limit {
            let chunk = response.chunk().await;
            match chunk.map_err(|error| transport::lost(&self.engine.address, &error))? {
                Some(chunk) => archive.extend_from_slice(&chunk),
                None => break,
            }
        }
        Ok(Some(archive))
    }

    async fn open(&self, path: &str) -> Result<Option<transport::Response>, Failure> {
        let query = Query::new().add("path", path).finish();
        let request = format!("/containers/{}/archive?{query}", encode_path(&self.container));
        let response = self.engine.request(Method::GET, &request, HeaderMap::new()).await?;
        match response.status {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => Ok(Some(response)),
            _ => Err(refusal(response, &format!("cannot read {path} in an image")).await),
        }
    }
}

/// The end of a chain of links.
struct Followed {
    found: PathInfo,
    /// The resolved path.
    path: String,
    /// The beginning of its archive.
    archive: Vec<u8>,
}

fn path_info(header: &tar::Header) -> Option<PathInfo> {
    Some(PathInfo {
        directory: header.entry_type().is_dir(),
        mode: header.mode().ok()?,
        user: header.uid().ok()?,
        group: header.gid().ok()?,
    })
}

/// Returns the first entry of an archive, and its target if it is a link.
fn first(archive: &[u8]) -> Option<(PathInfo, Option<String>)> {
    let mut archive = tar::Archive::new(archive);
    let entry = archive.entries().ok()?.next()?.ok()?;
    let header = entry.header();
    let found = path_info(header)?;
    let target = || Some(entry.link_name().ok()??.to_string_lossy().into_owned());
    Some((found, if header.entry_type().is_symlink() { target() } else { None }))
}
