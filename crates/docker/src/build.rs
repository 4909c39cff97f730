//! Builds an image, with the builder that the user's Docker would use.
//!
//! Dropping the future of [`Engine::build`], or cancelling its token, closes all connections, and the engine stops
//! building.

mod archive;
mod buildkit;
mod buildx;
mod classic;
mod diagnosis;
mod dockerfile;
mod trace;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lilt_model::dockerfile::images;
use lilt_model::ignore::Matcher;
use lilt_model::image::DockerBuild;
use lilt_model::reference::Reference;
use lilt_model::{Failure, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::builder::Builder;
use crate::engine::{Engine, Query};
use crate::error::Error;
use crate::session::Source;
use crate::ssh_agent::SshSource;

/// A build and what it may use.
#[derive(Clone)]
pub struct BuildRequest {
    pub build: DockerBuild,
    /// Labels of the image.
    pub labels: Vec<(String, String)>,
    /// Secrets for build steps, by id.
    pub secrets: BTreeMap<String, Vec<u8>>,
    /// Ssh agents and keys for build steps, by id.
    pub ssh: BTreeMap<String, SshSource>,
    /// Until it is cancelled, no file of the context is read; none: read at once.
    pub hold: Option<CancellationToken>,
}

/// Omits the values of secrets.
impl std::fmt::Debug for BuildRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { build, labels, secrets, ssh, hold: _ } = self;
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
    /// Adds the labels of development images, by which old ones are pruned.
    pub fn new(build: DockerBuild) -> Self {
        let labels = ["dev.tilt.built", "dev.tilt.gc"].map(|name| (name.to_owned(), "true".to_owned()));
        Self { build, labels: labels.into(), secrets: BTreeMap::new(), ssh: BTreeMap::new(), hold: None }
    }
}

/// An image that the engine has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltImage {
    /// `sha256:…`
    pub id: String,
    pub transferred: Transferred,
}

/// What was sent to the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Files, directories and links that were listed.
    pub listed: u64,
    /// Files whose content was requested, including the Dockerfile.
    pub files: u64,
    pub bytes: u64,
}

/// The progress of a build, in the engine's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildProgress {
    /// A step started. A cached step also finishes at once.
    Started {
        step: StepId,
        name: Arc<str>,
        /// By the builder's clock, if it reports the time.
        at: Option<Timestamp>,
    },
    /// A line of a step's output, without its line end.
    Log { step: StepId, name: Arc<str>, stderr: bool, line: String },
    /// The progress of a part of a step: pulling a layer, sending files.
    Advanced { step: StepId, name: Arc<str>, what: String, current: u64, total: u64 },
    Finished {
        step: StepId,
        name: Arc<str>,
        cached: bool,
        duration: Duration,
        /// By the builder's clock, if it reports the time.
        at: Option<Timestamp>,
        error: Option<String>,
    },
    /// A linter warning about the Dockerfile.
    Warning { message: String, line: Option<u32> },
}

/// Identifies a step of a build.
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
            () = cancel.cancelled() => Err(Error::Cancelled("build".to_owned()).into()),
            built = self.run_build(request, on_progress) => match built {
                Err(error) => Err(self.add_helper_error(error, &registries(&request.build)).await.into()),
                Ok(built) => Ok(built),
            },
        }
    }

    async fn run_build(
        &self,
        request: &BuildRequest,
        on_progress: impl FnMut(BuildProgress) + Send,
    ) -> Result<BuiltImage, Error> {
        let builder = if self.buildkit_off { Builder::Engine } else { self.builder_settings.builder()? };
        let by_program = matches!(builder, Builder::Buildx(_)) || request.build.platform.contains(',');
        if !self.buildkit_off && !by_program && self.uses_buildkit().await? {
            // It waits for `hold` itself, when it requests files.
            return buildkit::build(self, request, on_progress).await;
        }
        if let Some(hold) = &request.hold {
            hold.cancelled().await;
        }
        match builder {
            _ if self.buildkit_off => classic::build(self, request, on_progress).await,
            Builder::Buildx(name) => buildx::build(self, &name, request, on_progress).await,
            // Only buildx can load an image of several platforms into the engine.
            Builder::Engine if by_program => {
                buildx::build(self, self.builder_settings.context(), request, on_progress).await
            }
            Builder::Engine => classic::build(self, request, on_progress).await,
        }
    }
}

/// Returns the registries of the images that a build uses.
fn registries(build: &DockerBuild) -> Vec<String> {
    let named = images(&build.dockerfile, &build.build_args);
    let caches = build.cache_from.iter().filter_map(|cache| Reference::parse(cache).ok());
    let mut hosts: Vec<String> =
        named.into_iter().chain(caches).map(|image| image.domain().to_owned()).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn no_image() -> Failure {
    Failure::environment("the Docker engine ended the build without an image")
        .hint("see whether the engine's disk is full: `docker system df`, `docker system prune`")
}

fn source(request: &BuildRequest) -> Result<Source, Failure> {
    let build = &request.build;
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
    let hold = request.hold.clone();
    Ok(Source { context: context.clone(), ignores: Arc::new(ignores), dockerfile, hold })
}

/// Returns the query parameters that every builder of an engine supports.
fn query(request: &BuildRequest, dockerfile: &str) -> Query {
    let build = &request.build;
    let object = |pairs: &[(String, String)]| {
        let map: serde_json::Map<_, _> =
            pairs.iter().map(|(key, value)| (key.clone(), serde_json::Value::from(value.as_str()))).collect();
        serde_json::Value::Object(map).to_string()
    };
    let mut query = Query::new()
        .add("dockerfile", dockerfile)
        .add("rm", "1")
        .add("forcerm", "1")
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
    query
}
