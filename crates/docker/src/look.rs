//! What an image says of itself and what lies in it, without starting anything; and images that are made elsewhere.

mod tree;

use http::{HeaderMap, Method, StatusCode};
use lilt_model::reference::Reference;
use lilt_model::{Failure, Timestamp};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::engine::{Engine, Query, encode_path, refusal};
use crate::messages::Messages;
use crate::transport::{self, Payload};
pub use tree::Directories;
use tree::Pieces;

/// The beginning of an archive that surely has the header of its first file.
const HEADERS: usize = 4096;
/// More than this is no list of users.
const LONGEST_TEXT: usize = 1 << 20;
/// As much of a directory as is read to see whose the directories in it are: about a second's worth.
const LARGEST_TREE: usize = 512 << 20;
/// Pieces of it on their way to whoever reads it: the engine is not read faster.
const PIECES_AHEAD: usize = 4;
/// How the names of containers begin that are made to look into images.
const LOOK_PREFIX: &str = "lilt-look-";
/// More links in a row are a loop.
const MOST_LINKS: usize = 16;

/// How an image starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageConfiguration {
    pub id: String,
    /// Such as `amd64`.
    pub architecture: String,
    /// As the Dockerfile says it.
    pub user: String,
    pub environment: Vec<String>,
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    /// Empty: the root directory.
    pub working_directory: String,
}

/// A file or directory of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub directory: bool,
    pub mode: u32,
    pub user: u64,
    pub group: u64,
}

/// A look into an image, through a container that never starts; or into a container.
#[derive(Debug)]
pub struct Look<'a> {
    engine: &'a Engine,
    container: String,
}

impl Engine {
    /// None if the engine does not hold the image.
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

    /// Fetches an image from the registry in its name.
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
        self.hear(response, &format!("cannot pull {reference}")).await
    }

    /// Reads what the engine tells of a long request; an error in it is one.
    async fn hear(&self, response: transport::Response, what: &str) -> Result<(), Failure> {
        let mut messages = Messages::new(response, self.address.clone());
        while let Some(message) = messages.next().await? {
            if message.error.is_some() || message.error_detail.is_some() {
                let cause = message.into_error().unwrap_or_default();
                return Err(Failure::environment(format!("{what}: {cause}")));
            }
        }
        Ok(())
    }

    /// Opens an image. `whose` must differ between processes and between looks of one process that overlap: one of them
    /// would close the container that the other reads. A look of the same owner that was cancelled halfway is reused.
    pub async fn look_into(&self, id: &str, whose: &str) -> Result<Look<'_>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Created {
            id: String,
        }
        let digits: String = id.trim_start_matches("sha256:").chars().take(24).collect();
        let whose: String = Sha256::digest(whose).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{LOOK_PREFIX}{digits}-{whose}");
        let query = Query::new().add("name", &name).finish();
        let path = format!("/containers/create?{query}");
        // It is never started: any command will do, where the image has none.
        let wanted = serde_json::json!({ "Image": id, "Entrypoint": ["/"], "NetworkDisabled": true });
        let response = self.say(&path, &wanted).await?;
        match response.status {
            StatusCode::CONFLICT => Ok(Look { engine: self, container: name }),
            status if status.is_success() => {
                let Created { id } = self.read(&path, response).await?;
                Ok(Look { engine: self, container: id })
            }
            _ => Err(refusal(response, &format!("cannot look into the image {id}")).await),
        }
    }

    /// Removes the containers of looks that were made before `deadline` by processes that were killed.
    pub async fn remove_abandoned_looks(&self, deadline: Timestamp) -> Result<(), Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Listed {
            id: String,
            /// In seconds.
            created: i64,
        }
        let filters = serde_json::json!({ "name": [LOOK_PREFIX], "status": ["created"] }).to_string();
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

    /// False if it is gone already, or about to be.
    async fn remove_container(&self, container: &str) -> Result<bool, Failure> {
        let path = format!("/containers/{}?force=1", encode_path(container));
        let response = self.request(Method::DELETE, &path, HeaderMap::new()).await?;
        match response.status {
            status if status.is_success() => Ok(true),
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(false),
            _ => Err(refusal(response, "cannot end a look into an image").await),
        }
    }

    /// Takes an image from an archive as `docker save` writes it.
    pub async fn load(&self, archive: Vec<u8>) -> Result<(), Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/x-tar"));
        let payload = Payload::whole(archive);
        let response = self.send(Method::POST, "/images/load?quiet=1", headers, payload).await?;
        if !response.status.is_success() {
            return Err(refusal(response, "cannot load an image").await);
        }
        self.hear(response, "cannot load an image").await
    }
}

impl<'a> Look<'a> {
    /// A look into a container that is there anyway: nothing is to be closed.
    pub(crate) fn at(engine: &'a Engine, container: &str) -> Self {
        Self { engine, container: container.to_owned() }
    }
}

impl Look<'_> {
    /// What lies at a path of the image, links followed; none if nothing does.
    pub async fn find(&self, path: &str) -> Result<Option<Found>, Failure> {
        Ok(self.follow(path, HEADERS).await?.map(|followed| followed.found))
    }

    /// The directories at and below a path of the image, as far as a look at so much content finds them.
    pub async fn directories(&self, path: &str) -> Result<Directories, Failure> {
        let Some(Followed { path, .. }) = self.follow(path, HEADERS).await? else {
            return Ok(Directories { complete: true, ..Directories::default() });
        };
        let Some(mut response) = self.open(&path).await? else { return Ok(Directories::default()) };
        let (pieces, coming) = tokio::sync::mpsc::channel(PIECES_AHEAD);
        let reading = tokio::task::spawn_blocking(|| tree::directories(Pieces::new(coming)));
        let mut read = 0;
        let mut outcome = Ok(());
        while read < LARGEST_TREE {
            match response.chunk().await {
                Ok(Some(piece)) => {
                    read += piece.len();
                    // Who reads has seen the end of the archive.
                    if pieces.send(piece).await.is_err() {
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
        drop(pieces);
        let broken = |error| Failure::internal(format!("reading an image broke: {error}"));
        let Directories { found, complete } = reading.await.map_err(broken)?;
        outcome.map(|()| Directories { found, complete: complete && read < LARGEST_TREE })
    }

    /// What a text file of the image says; none if there is none.
    pub async fn read(&self, path: &str) -> Result<Option<String>, Failure> {
        let text = |archive: Vec<u8>| {
            let mut archive = tar::Archive::new(archive.as_slice());
            let mut text = String::new();
            let file = archive.entries().ok()?.next()?.ok()?;
            std::io::Read::read_to_string(&mut { file }, &mut text).ok()?;
            Some(text)
        };
        Ok(self.follow(path, LONGEST_TEXT).await?.and_then(|followed| text(followed.archive)))
    }

    /// Ends the look. False if somebody else removed its container meanwhile, for example `docker container prune`: what
    /// was not found then may well be in the image.
    pub async fn close(self) -> Result<bool, Failure> {
        self.engine.remove_container(&self.container).await
    }

    async fn follow(&self, path: &str, most: usize) -> Result<Option<Followed>, Failure> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Some(archive) = self.archive(&path, most).await? else { return Ok(None) };
            let Some((found, link)) = first(&archive) else {
                return Err(Failure::environment(format!("cannot understand what the image has at {path}")));
            };
            match link {
                None => return Ok(Some(Followed { found, path, archive })),
                Some(target) if target.starts_with('/') => path = target,
                // The engine understands `..` as it is meant in the image.
                Some(target) => {
                    path = format!("{}/{target}", path.rsplit_once('/').map_or("", |(folder, _)| folder));
                }
            }
        }
        Ok(None)
    }

    /// The beginning of an archive of a path; none if the image has none.
    async fn archive(&self, path: &str, most: usize) -> Result<Option<Vec<u8>>, Failure> {
        let Some(mut response) = self.open(path).await? else { return Ok(None) };
        let mut archive = Vec::new();
        while archive.len() < most {
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

/// What lies at the end of a path.
struct Followed {
    found: Found,
    /// Without links at its end.
    path: String,
    /// Its beginning.
    archive: Vec<u8>,
}

fn found(header: &tar::Header) -> Option<Found> {
    Some(Found {
        directory: header.entry_type().is_dir(),
        mode: header.mode().ok()?,
        user: header.uid().ok()?,
        group: header.gid().ok()?,
    })
}

/// The first entry of an archive, and where it leads if it is a link.
fn first(archive: &[u8]) -> Option<(Found, Option<String>)> {
    let mut archive = tar::Archive::new(archive);
    let entry = archive.entries().ok()?.next()?.ok()?;
    let header = entry.header();
    let found = found(header)?;
    let target = || Some(entry.link_name().ok()??.to_string_lossy().into_owned());
    Some((found, if header.entry_type().is_symlink() { target() } else { None }))
}
