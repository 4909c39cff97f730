//! What was built from what, from one session to the next: an image whose files, recipe and base images are still the
//! same is not built again.
//!
//! A cache, and a careful one: a build too many costs a moment, an outdated image costs an afternoon. It holds only what
//! was so before and after the build, it is asked only when a session begins, the engine must still have the image, and
//! recipes that fetch from elsewhere are never in it.

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

/// Branches are switched to and fro.
const MOST_ENTRIES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    fingerprint: String,
    /// What it was built on, by the digest that was used.
    bases: Vec<(String, String)>,
    /// And what the engine has no digest of, by its id.
    #[serde(default)]
    local: Vec<(String, String)>,
    id: String,
}

/// One image that is to be built.
pub(super) struct CacheSlot {
    path: PathBuf,
    recipe: DockerBuild,
    /// Before it is built.
    fingerprint: Fingerprint,
    since: Timestamp,
    /// Together with what it is inputs beside files.
    key: String,
}

/// What an image is built on, by the digest that is used, as the engine tells it while it builds.
#[derive(Default)]
pub(super) struct Bases(Vec<(String, String)>);

impl Bases {
    /// Learns from the steps' names what is built on: `[1/4] FROM docker.io/library/busybox:latest@sha256:…`.
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
    /// None if it can be told only by building whether it would become another.
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

    /// The id of the image that was built from the same, if the engine has it and would build on the same again.
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

    /// Keeps what was built, if nothing changed meanwhile and all that it was built on is known.
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

    /// The images that the Dockerfile names and nobody told a digest of, as older builders do not and engines cannot of what
    /// was never in a registry. None if the engine has not got one of them either.
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

/// Those that look for newer base images, use a frontend of their own or add what lies elsewhere. What a `RUN` fetches does
/// not count: builders do not look for it again either.
fn fetches(recipe: &DockerBuild) -> bool {
    recipe.pull || recipe.dockerfile.lines().any(|line| line_fetches(&line.trim().to_ascii_lowercase()))
}

fn line_fetches(line: &str) -> bool {
    if let Some(comment) = line.strip_prefix('#') {
        // Versions of Docker's own frontend make the same of the same.
        let frontend =
            comment.trim_start().strip_prefix("syntax").map(|it| it.trim_start_matches([' ', '\t', '=']));
        let is_stable = |frontend: &str| {
            let own = frontend.trim_start_matches("docker.io/").strip_prefix("docker/dockerfile");
            own.is_some_and(|version| !version.contains('-'))
        };
        return frontend.is_some_and(|frontend| !is_stable(frontend));
    }
    // What goes on in the next line, or comes out of a variable, may be an address.
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

/// As engines write it.
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
    fn what_fetches_is_always_built() {
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
        // Builders do not do it again for another key or secret.
        assert!(!fetches(&DockerBuild { ssh: vec!["default".into()], ..recipe("FROM a\n") }));
        assert!(!fetches(&DockerBuild { secrets: vec!["id=a".into()], ..recipe("FROM a\n") }));
    }

    #[test]
    fn base_images_are_heard_of() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let step = format!("[build 1/4] FROM docker.io/library/busybox:latest@{digest}");
        assert_eq!(base_in(&step), Some(("docker.io/library/busybox:latest".into(), digest)));
        assert_eq!(base_in("[2/4] RUN echo FROM a@b"), None);
        assert_eq!(base_in("[1/4] FROM docker.io/library/busybox:latest"), None);
    }
}
