//! Builds an image with the engine's BuildKit.
//!
//! The engine runs the build; a [`Session`] serves it the files and logins it asks for. Dropping the future of
//! [`Engine::build`], or cancelling its token, closes both connections, and the engine stops building.

mod diagnosis;
mod dockerfile;
mod trace;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{HeaderMap, Method};
use lilt_model::Failure;
use lilt_model::ignore::Matcher;
use lilt_model::image::DockerBuild;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::address::hex;
use crate::engine::{Engine, Query, refusal};
use crate::messages::Messages;
use crate::session::{Offer, Session, Source};
use crate::ssh_agent::SshSource;
use trace::Trace;

/// What to build.
#[derive(Clone)]
pub struct BuildRequest {
    pub build: DockerBuild,
    /// Labels of the image.
    pub labels: Vec<(String, String)>,
    /// What steps may ask for, by id.
    pub secrets: BTreeMap<String, Vec<u8>>,
    /// Whose ssh keys steps may use, by id.
    pub ssh: BTreeMap<String, SshSource>,
}

/// Never shows secrets.
impl std::fmt::Debug for BuildRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { build, labels, secrets, ssh } = self;
        let secrets: Vec<&String> = secrets.keys().collect();
        f.debug_struct("BuildRequest")
            .field("build", build)
            .field("labels", labels)
            .field("secrets", &secrets)
            .field("ssh", ssh)
            .finish()
    }
}

impl BuildRequest {
    /// With the labels that mark an image as made in development, by which old ones are found and pruned.
    pub fn new(build: DockerBuild) -> Self {
        let labels = ["dev.tilt.built", "dev.tilt.gc"].map(|name| (name.to_owned(), "true".to_owned()));
        Self { build, labels: labels.into(), secrets: BTreeMap::new(), ssh: BTreeMap::new() }
    }
}

/// An image that the engine now holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltImage {
    /// `sha256:…`
    pub id: String,
    pub transferred: Transferred,
}

/// What a build took from this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Files, directories and links that the engine was told of.
    pub listed: u64,
    /// Files whose content it asked for, the Dockerfile among them.
    pub files: u64,
    pub bytes: u64,
}

/// What happens in a build, in the order in which the engine tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildProgress {
    /// A step began; one that is read from the cache begins and ends at once.
    Started {
        step: StepId,
        name: Arc<str>,
    },
    /// A line of a step's output, without its end.
    Log {
        step: StepId,
        name: Arc<str>,
        stderr: bool,
        line: String,
    },
    /// How far a step has come with something it names: a layer that is pulled, files that are sent.
    Advanced {
        step: StepId,
        name: Arc<str>,
        what: String,
        current: u64,
        total: u64,
    },
    Finished {
        step: StepId,
        name: Arc<str>,
        cached: bool,
        duration: Duration,
        error: Option<String>,
    },
    /// Advice about the Dockerfile.
    Warning {
        message: String,
        line: Option<u32>,
    },
}

/// Tells the steps of one build apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(pub Arc<str>);

impl Engine {
    pub async fn build(
        &self,
        request: &BuildRequest,
        on_progress: impl FnMut(BuildProgress) + Send,
        cancel: CancellationToken,
    ) -> Result<BuiltImage, Failure> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failure::environment("the build was cancelled")),
            built = self.build_to_the_end(request, on_progress) => built,
        }
    }

    async fn build_to_the_end(
        &self,
        request: &BuildRequest,
        mut on_progress: impl FnMut(BuildProgress) + Send,
    ) -> Result<BuiltImage, Failure> {
        self.require_buildkit().await?;
        let files = source(&request.build)?;
        let offer = Offer { files, secrets: request.secrets.clone(), ssh: request.ssh.clone() };
        let session = Session::open(self, &shared_key(&request.build), offer).await?;
        let path = format!("/build?{}", query(request, &session.id));
        let response = self.request(Method::POST, &path, HeaderMap::new()).await?;
        if !response.status.is_success() {
            return Err(refusal(response, "the Docker engine refused the build").await);
        }
        let mut messages = Messages::new(response, self.address.clone());
        let mut trace = Trace::default();
        let mut id = None;
        while let Some(message) = messages.next().await? {
            match (message.id.as_str(), &message.aux) {
                ("moby.buildkit.trace", Some(aux)) => trace.read(aux, &mut on_progress)?,
                ("moby.image.id", Some(aux)) => {
                    id = aux.get("ID").and_then(|id| id.as_str()).map(str::to_owned)
                }
                _ => {
                    if let Some(error) = message.into_error() {
                        return Err(diagnosis::explain(&request.build, &trace, &error));
                    }
                }
            }
        }
        let id = id.ok_or_else(|| {
            Failure::environment("the Docker engine ended the build without an image")
                .hint("see whether the engine's disk is full: `docker system df`, `docker system prune`")
        })?;
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &session.counters;
        let transferred = Transferred {
            listed: count(&counters.listed),
            files: count(&counters.files),
            bytes: count(&counters.bytes),
        };
        Ok(BuiltImage { id, transferred })
    }

    async fn require_buildkit(&self) -> Result<(), Failure> {
        if self.buildkit_off {
            return Err(Failure::environment(
                "not supported yet: building without BuildKit (DOCKER_BUILDKIT=0 is set)",
            )
            .hint("unset DOCKER_BUILDKIT"));
        }
        if !self.ping().await?.buildkit {
            return Err(Failure::environment(format!(
                "not supported yet: the engine at {} does not build with BuildKit",
                self.address
            ))
            .hint("use Docker 23 or later, or switch `features.buildkit` on in the engine's daemon.json"));
        }
        Ok(())
    }
}

fn source(build: &DockerBuild) -> Result<Source, Failure> {
    let [context] = build.context.roots.as_slice() else {
        return Err(Failure::internal(format!(
            "a build context has one root, not {}",
            build.context.roots.len()
        )));
    };
    if !context.is_dir() {
        let problem = if context.exists() { "is not a directory" } else { "does not exist" };
        return Err(Failure::user(format!("the build context {} {problem}", context.display()))
            .hint("the second argument of docker_build is a directory, relative to the Tiltfile"));
    }
    let ignores = Matcher::new(&build.context.ignores).map_err(|error| Failure::user(error.to_string()))?;
    let dockerfile = Arc::from(build.dockerfile.as_str());
    Ok(Source { context: context.clone(), ignores: Arc::new(ignores), dockerfile })
}

/// Builds with the same key share the engine's copy of the files. Ignore rules are part of it: two images of one
/// directory with different rules would delete each other's files there, and all would travel each time.
fn shared_key(build: &DockerBuild) -> String {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update(bytes.len().to_le_bytes());
        hash.update(bytes);
    };
    let path = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
    for root in &build.context.roots {
        add(&path(root));
    }
    for rule in &build.context.ignores {
        add(&path(&rule.base));
        for pattern in &rule.patterns {
            add(pattern.as_bytes());
        }
    }
    hex(&hash.finalize())
}

fn query(request: &BuildRequest, session: &str) -> String {
    let build = &request.build;
    let object = |pairs: &[(String, String)]| {
        let map: serde_json::Map<_, _> =
            pairs.iter().map(|(key, value)| (key.clone(), serde_json::Value::from(value.as_str()))).collect();
        serde_json::Value::Object(map).to_string()
    };
    let mut query = Query::new()
        .add("version", "2")
        .add("remote", "client-session")
        .add("session", session)
        .add("buildid", session)
        .add("dockerfile", "Dockerfile")
        .add("rm", "1")
        .add("labels", &object(&request.labels));
    if !build.build_args.is_empty() {
        query = query.add("buildargs", &object(&build.build_args));
    }
    if !build.cache_from.is_empty() {
        query = query.add("cachefrom", &serde_json::Value::from(build.cache_from.clone()).to_string());
    }
    for (key, value) in
        [("target", &build.target), ("platform", &build.platform), ("networkmode", &build.network)]
    {
        if !value.is_empty() {
            query = query.add(key, value);
        }
    }
    for tag in &build.extra_tags {
        query = query.add("t", tag);
    }
    for host in &build.extra_hosts {
        query = query.add("extrahosts", host);
    }
    if build.pull {
        query = query.add("pull", "1");
    }
    query.finish()
}
