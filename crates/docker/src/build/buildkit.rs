//! Builds with the engine's BuildKit, to which a [`Session`] provides files and credentials.

use std::path::Path;
use std::sync::atomic::Ordering;

use http::{HeaderMap, Method};
use lilt_model::image::DockerBuild;
use sha2::{Digest as _, Sha256};

use super::trace::Trace;
use super::{BuildProgress, BuildRequest, BuiltImage, Transferred, diagnosis, query, source};
use crate::address::hex;
use crate::engine::{Engine, refusal};
use crate::error::Error;
use crate::messages::Messages;
use crate::session::{Session, SessionResources};

pub(super) async fn build(
    engine: &Engine,
    request: &BuildRequest,
    mut on_progress: impl FnMut(BuildProgress) + Send,
) -> Result<BuiltImage, Error> {
    let files = source(request)?;
    let resources = SessionResources { files, secrets: request.secrets.clone(), ssh: request.ssh.clone() };
    let session = Session::open(engine, &shared_key(&request.build), resources).await?;
    let query = query(request, "Dockerfile")
        .add("version", "2")
        .add("remote", "client-session")
        .add("session", &session.id)
        .add("buildid", &session.id);
    let response =
        engine.request(Method::POST, &format!("/build?{}", query.finish()), HeaderMap::new()).await?;
    if !response.status.is_success() {
        return Err(refusal(response, "the Docker engine refused the build").await.into());
    }
    let mut messages = Messages::new(response, engine.address.clone());
    let mut trace = Trace::default();
    let mut id = None;
    while let Some(message) = messages.next().await? {
        match (message.id.as_str(), &message.aux) {
            ("moby.buildkit.trace", Some(aux)) => trace.read(aux, &mut on_progress)?,
            ("moby.image.id", Some(aux)) => {
                id = aux.get("ID").and_then(|id| id.as_str()).map(str::to_owned);
            }
            _ => {
                if let Some(error) = message.into_error() {
                    return Err(diagnosis::explain(&request.build, trace.failed_step(), &error));
                }
            }
        }
    }
    let id = id.ok_or_else(super::no_image)?;
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let counters = &session.counters;
    let transferred = Transferred {
        listed: count(&counters.listed),
        files: count(&counters.files),
        bytes: count(&counters.bytes),
    };
    Ok(BuiltImage { id, transferred })
}

/// Returns the key under which builds share the engine's copy of the context.
///
/// It includes ignore rules: two images of one directory with different rules would delete each other's files, which
/// then would be sent again each time.
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
