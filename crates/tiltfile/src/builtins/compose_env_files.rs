//! The `env_file` of the services of a Docker Compose project.
//!
//! `docker compose config` replaces it with the variables of the files. Tilt shows it, and the files are watched.

use lilt_model::compose::{ComposeConfig, ComposeProject};
use serde_json::{Value as Json, json};

use super::compose_config::resolve;
use crate::load_state::LoadState;
use crate::paths::clean;
use lilt_model::yaml;

pub(super) struct EnvFiles<'p> {
    project: &'p ComposeProject,
    sources: Vec<Source>,
}

/// One of the project's files, unresolved.
struct Source {
    name: String,
    text: String,
    /// The error is the cause in one line.
    content: Result<Json, String>,
}

impl<'p> EnvFiles<'p> {
    pub(super) fn of(state: &LoadState<'_>, project: &'p ComposeProject) -> Self {
        Self { project, sources: project.configs.iter().map(|config| Source::read(state, config)).collect() }
    }

    /// Watches the files, also those whose absence makes Compose fail.
    pub(super) fn watch(&self, state: &LoadState<'_>) {
        let services = self.sources.iter().filter_map(|source| source.content.as_ref().ok()?.get("services"));
        for service in services.filter_map(Json::as_object).flat_map(|services| services.values()) {
            self.watch_all(state, &entries(service.get("env_file")));
        }
        if self.project.env_file.is_none() {
            state.watch_entry(&self.project.directory.join(".env"));
        }
    }

    /// Adds `env_file` to the services.
    ///
    /// Only a second run of Compose has the paths with their variables, `extends` and `include` resolved.
    pub(super) fn add(&self, state: &LoadState<'_>, resolved: &mut Json) -> starlark::Result<()> {
        // Compose could read them: it would have failed otherwise.
        for source in &self.sources {
            if let Err(cause) = &source.content {
                state.warn(lilt_model::os_error::plain(&format!(
                    "docker_compose: cannot read {}: {cause}\nlilt does not watch what it names in `env_file`",
                    source.name
                )));
            }
        }
        if !self.mentions(&["env_file", "extends", "include"]) {
            return Ok(());
        }
        let unresolved = match resolve(state, self.project, &["--no-env-resolution"]) {
            Ok(unresolved) => Some(unresolved),
            Err(error) if state.is_cancelled() => return Err(error),
            // Versions before 2.34 do not know the flag.
            Err(_) => {
                if self.mentions(&["extends", "include"]) {
                    state.warn(
                        "docker_compose: this version of Docker Compose does not show the `env_file` of services \
                         that come from `extends` or `include`: lilt does not watch these files"
                            .to_owned(),
                    );
                }
                None
            }
        };
        let services = resolved.get_mut("services").and_then(Json::as_object_mut);
        for (name, service) in services.into_iter().flatten() {
            let env_file = match &unresolved {
                Some(unresolved) => {
                    unresolved.pointer("/services").and_then(|it| it.get(name)?.get("env_file")).cloned()
                }
                None => self.as_written(name),
            };
            if let (Some(env_file), Some(service)) = (env_file, service.as_object_mut()) {
                self.watch_all(state, &entries(Some(&env_file)));
                service.insert("env_file".to_owned(), env_file);
            }
        }
        Ok(())
    }

    fn mentions(&self, words: &[&str]) -> bool {
        self.sources.iter().any(|source| words.iter().any(|word| source.text.contains(word)))
    }

    fn watch_all(&self, state: &LoadState<'_>, entries: &[Json]) {
        for path in entries.iter().filter_map(path_of) {
            state.watch_entry(&clean(&self.project.directory.join(path)));
        }
    }

    /// Returns the unresolved `env_file` of a service in the format of Compose's output. Variables are not replaced.
    fn as_written(&self, service: &str) -> Option<Json> {
        let contents = self.sources.iter().filter_map(|source| source.content.as_ref().ok());
        let fields = contents.filter_map(|content| content.get("services")?.get(service)?.get("env_file"));
        let all: Vec<Json> = fields
            .flat_map(|field| entries(Some(field)))
            .map(|mut entry| {
                let path = clean(&self.project.directory.join(path_of(&entry).unwrap_or_default()));
                entry["path"] = json!(path);
                entry
            })
            .collect();
        (!all.is_empty()).then_some(Json::Array(all))
    }
}

impl Source {
    fn read(state: &LoadState<'_>, config: &ComposeConfig) -> Self {
        let (name, text) = match config {
            ComposeConfig::Text(text) => ("a blob of the Tiltfile".to_owned(), Ok(text.clone())),
            ComposeConfig::File(path) => {
                let content = state.system.read_file(path);
                (path.display().to_string(), content.map(|content| yaml::decode(&content).into_owned()))
            }
        };
        let content = match &text {
            Ok(text) => yaml::document(text).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        Self { name, text: text.unwrap_or_default(), content }
    }
}

/// Each as an object with a `path`.
fn entries(field: Option<&Json>) -> Vec<Json> {
    let entry = |item: &Json| match item {
        Json::String(path) => Some(json!({"path": path})),
        item => path_of(item).map(|_| item.clone()),
    };
    match field {
        Some(Json::Array(items)) => items.iter().filter_map(entry).collect(),
        Some(item @ Json::String(_)) => entry(item).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn path_of(entry: &Json) -> Option<&str> {
    entry.get("path")?.as_str()
}
