//! Finds the builder that the user chose: the engine's own, or one of `docker buildx`.
//!
//! Read for each build, like `docker build` does, so that `docker buildx use` takes effect while lilt runs.
#![expect(clippy::disallowed_methods, reason = "the settings of buildx are read here")]

use std::path::{Path, PathBuf};

use lilt_model::Failure;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::address::{config_directory, current_context, hex, unreadable};

/// The name of the engine's own builder.
const ENGINE_BUILDER: &str = "default";

/// The builder settings in the environment.
#[derive(Debug)]
pub(crate) struct BuilderSettings {
    /// `BUILDX_BUILDER`.
    named: Option<String>,
    /// The folder in which buildx keeps its settings.
    folder: Option<PathBuf>,
    /// The Docker context; `default` if there is none.
    context: String,
    /// The key under which buildx stores the builder chosen for this engine.
    key: String,
    /// Variables that make buildx use the same engine and settings.
    variables: Vec<(&'static str, String)>,
}

/// The variables that select an engine and how to reach it.
const VARIABLES: [&str; 8] = [
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_TLS",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
    "DOCKER_API_VERSION",
    "BUILDX_CONFIG",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Builder {
    /// The engine's own.
    Engine,
    /// A builder of buildx, by name.
    Buildx(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Current {
    #[serde(default)]
    key: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    global: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Instance {
    #[serde(default)]
    driver: String,
}

impl BuilderSettings {
    /// `address` is the engine's address.
    pub(crate) fn read(
        environment: &dyn Fn(&str) -> Option<String>,
        home: Option<&Path>,
        address: &str,
    ) -> Result<Self, Failure> {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        let config = config_directory(environment, home);
        let folder = set("BUILDX_CONFIG").map(PathBuf::from);
        let context = match set("DOCKER_HOST") {
            Some(_) => None,
            None => current_context(environment, config.as_deref())?,
        };
        let context = context.unwrap_or_else(|| ENGINE_BUILDER.to_owned());
        let key = if context == ENGINE_BUILDER { address.to_owned() } else { context.clone() };
        Ok(Self {
            named: set("BUILDX_BUILDER"),
            folder: folder.or_else(|| config.map(|config| config.join("buildx"))),
            context,
            key,
            variables: VARIABLES.into_iter().filter_map(|name| Some((name, set(name)?))).collect(),
        })
    }

    pub(crate) fn variables(&self) -> &[(&'static str, String)] {
        &self.variables
    }

    /// Returns buildx's name for the engine's own builder.
    pub(crate) fn context(&self) -> &str {
        &self.context
    }

    pub(crate) fn builder(&self) -> Result<Builder, Failure> {
        let (name, is_named) = match (&self.named, self.chosen()?) {
            (Some(name), _) => (name.clone(), true),
            (None, Some(name)) => (name, false),
            (None, None) => return Ok(Builder::Engine),
        };
        if name == self.context {
            return Ok(Builder::Engine);
        }
        match self.instance(&name)? {
            Some(instance) if instance.driver == "docker" => Ok(Builder::Engine),
            Some(_) => Ok(Builder::Buildx(name)),
            // The builder of another context's engine. buildx finds it.
            None if is_named => Ok(Builder::Buildx(name)),
            // It was removed since: like buildx, fall back to the engine's own.
            None => Ok(Builder::Engine),
        }
    }

    /// Returns the builder that `docker buildx use` chose, for this engine or globally.
    fn chosen(&self) -> Result<Option<String>, Failure> {
        let Some(current): Option<Current> = self.parsed("current")? else { return Ok(None) };
        if !current.name.is_empty() && (current.global || current.key == self.key) {
            return Ok(Some(current.name));
        }
        let digest = hex(&Sha256::digest(self.key.as_bytes()));
        let usual = self.text(&format!("defaults/{}", &digest[..20]))?;
        Ok(usual.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()))
    }

    fn instance(&self, name: &str) -> Result<Option<Instance>, Failure> {
        if name.contains(['/', '\\']) {
            return Ok(None);
        }
        self.parsed(&format!("instances/{name}"))
    }

    fn parsed<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let path = self.folder.clone().unwrap_or_default().join(name);
        serde_json::from_str(&text).map(Some).map_err(|error| unreadable(&path, &error))
    }

    fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = folder.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&path, &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(files: &[(&str, &str)], named: &str) -> Builder {
        let config = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = config.path().join("buildx").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let folder = config.path().to_str().unwrap().to_owned();
        let environment = |name: &str| match name {
            "DOCKER_CONFIG" => Some(folder.clone()),
            "BUILDX_BUILDER" => Some(named.to_owned()),
            "DOCKER_HOST" => Some("unix:///x.sock".to_owned()),
            _ => None,
        };
        BuilderSettings::read(&environment, None, "unix:///x.sock").unwrap().builder().unwrap()
    }

    #[test]
    fn builder_chosen_for_this_engine_is_used() {
        let far = ("instances/far", r#"{"Name": "far", "Driver": "docker-container"}"#);
        let current = |key: &str, name: &str, global: bool| {
            serde_json::json!({"Key": key, "Name": name, "Global": global}).to_string()
        };
        let with = |current: &str| builder(&[far, ("current", current)], "");
        let buildx = Builder::Buildx("far".to_owned());
        assert_eq!(with(&current("unix:///x.sock", "far", false)), buildx);
        assert_eq!(with(&current("unix:///other.sock", "far", false)), Builder::Engine);
        assert_eq!(with(&current("unix:///other.sock", "far", true)), buildx);
        assert_eq!(with(&current("unix:///x.sock", "", false)), Builder::Engine);
        assert_eq!(with(&current("unix:///x.sock", "gone", false)), Builder::Engine);
        let usual = format!("defaults/{}", &hex(&Sha256::digest(b"unix:///x.sock"))[..20]);
        let current = current("", "", false);
        assert_eq!(builder(&[far, ("current", &current), (&usual, "far")], ""), buildx);
        assert_eq!(builder(&[], ""), Builder::Engine);
        // The environment wins.
        assert_eq!(builder(&[far, ("current", &current)], "far"), buildx);
        assert_eq!(builder(&[far, (&usual, "far"), ("current", &current)], "default"), Builder::Engine);
        let own = ("instances/own", r#"{"Name": "own", "Driver": "docker"}"#);
        assert_eq!(builder(&[own], "own"), Builder::Engine);
    }
}
