//! Remembers across sessions what images were built from: an image whose files, recipe and base images are unchanged is
//! not built again.
//!
//! The cache is conservative, because an outdated image costs more than a superfluous build. It is used only for the first
//! build of a session, the engine must still have the image, inputs must be the same before and after the build, and
//! recipes that fetch files from elsewhere are not cached.

use std::path::PathBuf;

use lilt_docker::{BuildProgress, Engine, Fingerprint, fingerprint};
use lilt_host::{environment, files};
use lilt_model::dockerfile;
use lilt_model::image::DockerBuild;
use lilt_model::reference::Reference;
use lilt_model::{ImageName, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::build_inputs::BuildInputs;

/// More than one, because people switch between branches.
const MOST_ENTRIES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    fingerprint: String,
    /// Base images with their digests.
    bases: Vec<(String, String)>,
    /// Base images without a digest, with their ids.
    #[serde(default)]
    local: Vec<(String, String)>,
    id: String,
}

/// The cache entry of one image.
pub(super) struct CacheSlot {
    path: PathBuf,
    recipe: DockerBuild,
    /// The inputs before the build.
    fingerprint: Fingerprint,
    since: Timestamp,
    /// The hash of the inputs, including secrets.
    key: String,
}

/// The base images of a build with their digests, as reported by the engine.
#[derive(Default)]
pub(super) struct Bases(Vec<(String, String)>);

impl Bases {
    /// Reads base images from the names of steps: `[1/4] FROM docker.io/library/busybox:latest@sha256:…`.
    pub(super) fn record(&mut self, progress: &BuildProgress) {
        let BuildProgress::Started { name, .. } = progress else { return };
        let Some((reference, digest)) = base_in(name) else { return };
        if !self.has(&reference) {
            self.0.push((reference, digest));
        }
    }

    fn has(&self, reference: &str) -> bool {
        self.0.iter().any(|(known, _)| known == reference)
    }
}

impl CacheSlot {
    /// Computes the entry of an image. None if only a build can show whether the image would change.
    pub(super) async fn of(
        engine: &Engine,
        name: &ImageName,
        recipe: &DockerBuild,
        inputs: &BuildInputs,
    ) -> Option<CacheSlot> {
        if fetches(recipe) {
            return None;
        }
        let key = lilt_cluster::digest(&json!([engine.address(), name]));
        let path = environment::cache_folder()?.join("built").join(key);
        let since = lilt_host::clock::now();
        let fingerprint = fingerprint_of(recipe, since).await?;
        let key = lilt_cluster::digest(&json!([fingerprint.key, inputs.secrets]));
        Some(CacheSlot { path, recipe: recipe.clone(), fingerprint, since, key })
    }

    /// Returns the id of an image that was built from the same inputs, if the engine still has it and its base images.
    pub(super) async fn find(&self, engine: &Engine) -> Option<String> {
        let entries = self.read();
        let entry = entries.iter().find(|entry| entry.fingerprint == self.key)?;
        for (reference, digest) in &entry.bases {
            if !engine.resolves_to(reference, digest).await {
                return None;
            }
        }
        for (reference, id) in &entry.local {
            if !has(engine, reference, id).await {
                return None;
            }
        }
        has(engine, &entry.id, &entry.id).await.then(|| entry.id.clone())
    }

    /// Stores what was built, unless inputs changed meanwhile or base images are unknown.
    pub(super) async fn store(self, engine: &Engine, bases: Bases, id: &str) {
        let Some(local) = self.without_digest(engine, &bases).await else { return };
        if fingerprint_of(&self.recipe, self.since).await.as_ref() != Some(&self.fingerprint) {
            return;
        }
        let entry = Entry { fingerprint: self.key.clone(), bases: bases.0, local, id: id.to_owned() };
        let mut entries = self.read();
        entries.retain(|other| other.fingerprint != entry.fingerprint);
        entries.insert(0, entry);
        entries.truncate(MOST_ENTRIES);
        let saved = serde_json::to_vec(&entries).map_err(std::io::Error::other);
        if let Err(error) = saved.and_then(|text| files::save_private(&self.path, &text)) {
            tracing::warn!(%error, path = %self.path.display(), "what was built is not remembered");
        }
    }

    /// Returns base images without a digest, with their ids. None if the engine lacks one of them.
    ///
    /// Older builders report no digests, and images that were never in a registry have none.
    async fn without_digest(&self, engine: &Engine, bases: &Bases) -> Option<Vec<(String, String)>> {
        let mut local = Vec::new();
        for image in dockerfile::images(&self.recipe.dockerfile, &self.recipe.build_args) {
            let reference = tagged(&image).to_string();
            if is_scratch(&image) || bases.has(&reference) {
                continue;
            }
            let id = engine.image_id(&reference).await.ok()??;
            local.push((reference, id));
        }
        Some(local)
    }

    fn read(&self) -> Vec<Entry> {
        let text = files::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

async fn fingerprint_of(recipe: &DockerBuild, since: Timestamp) -> Option<Fingerprint> {
    let recipe = recipe.clone();
    tokio::task::spawn_blocking(move || fingerprint(&recipe, since)).await.ok()?
}

async fn has(engine: &Engine, reference: &str, id: &str) -> bool {
    engine.image_id(reference).await.is_ok_and(|found| found.as_deref() == Some(id))
}

/// Returns whether a recipe pulls base images, uses a custom frontend or adds remote files.
///
/// Downloads in a `RUN` do not count: builders cache them, too.
fn fetches(recipe: &DockerBuild) -> bool {
    recipe.pull || recipe.dockerfile.lines().any(|line| line_fetches(&line.trim().to_ascii_lowercase()))
}

fn line_fetches(line: &str) -> bool {
    if let Some(comment) = line.strip_prefix('#') {
        // Stable versions of Docker's own frontend are deterministic.
        let frontend =
            comment.trim_start().strip_prefix("syntax").map(|it| it.trim_start_matches([' ', '\t', '=']));
        let is_stable = |frontend: &str| {
            let own = frontend.trim_start_matches("docker.io/").strip_prefix("docker/dockerfile");
            own.is_some_and(|version| !version.contains('-'))
        };
        return frontend.is_some_and(|frontend| !is_stable(frontend));
    }
    // A continued line or a variable may contain a URL.
    let is_elsewhere =
        |rest: &str| ["://", "git@", "$"].iter().any(|mark| rest.contains(mark)) || rest.ends_with('\\');
    let added = line.strip_prefix("add").filter(|rest| rest.starts_with([' ', '\t']));
    added.is_some_and(is_elsewhere)
}

fn base_in(step: &str) -> Option<(String, String)> {
    let (_, image) = step.split_once("] FROM ")?;
    let (reference, digest) = image.trim().split_once('@')?;
    let reference = Reference::parse(reference).ok()?;
    digest.starts_with("sha256:").then(|| (tagged(&reference).to_string(), digest.to_owned()))
}

/// Adds the default tag, as engines do.
fn tagged(reference: &Reference) -> Reference {
    match reference.tag() {
        Some(_) => reference.clone(),
        None => reference.clone().with_tag("latest"),
    }
}

fn is_scratch(reference: &Reference) -> bool {
    reference.familiar_name() == "scratch"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(dockerfile: &str) -> DockerBuild {
        DockerBuild { dockerfile: dockerfile.to_owned(), ..DockerBuild::default() }
    }

    #[test]
    fn recipe_with_remote_files_is_not_cached() {
        for dockerfile in [
            "FROM busybox\n# additional\nCOPY . /\n",
            "# syntax=docker/dockerfile:1\nFROM a\n",
            "#syntax = docker.io/docker/dockerfile:1.7@sha256:0\nFROM a\n",
            "FROM a\n  add a.tar /\n",
        ] {
            assert!(!fetches(&recipe(dockerfile)), "{dockerfile}");
        }
        for dockerfile in [
            "# syntax=docker/dockerfile:1-labs\nFROM a\n",
            "# syntax=mine/frontend\nFROM a\n",
            "FROM a\nADD https://x /\n",
            "FROM a\nADD $WHERE /\n",
            "FROM a\nADD \\\n  git@x:y /\n",
        ] {
            assert!(fetches(&recipe(dockerfile)), "{dockerfile}");
        }
        assert!(fetches(&DockerBuild { pull: true, ..recipe("FROM a\n") }));
        // Builders do not repeat steps for another key or secret.
        assert!(!fetches(&DockerBuild { ssh: vec!["default".into()], ..recipe("FROM a\n") }));
        assert!(!fetches(&DockerBuild { secrets: vec!["id=a".into()], ..recipe("FROM a\n") }));
    }

    #[test]
    fn base_image_is_read_from_the_step_name() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let step = format!("[build 1/4] FROM docker.io/library/busybox:latest@{digest}");
        assert_eq!(base_in(&step), Some(("docker.io/library/busybox:latest".into(), digest)));
        assert_eq!(base_in("[2/4] RUN echo FROM a@b"), None);
        assert_eq!(base_in("[1/4] FROM docker.io/library/busybox:latest"), None);
    }
}
