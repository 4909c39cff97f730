//! How an image is built, and how its running containers are updated.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::files::FileSet;
use crate::names::ImageName;
use crate::reference::Reference;
use crate::time::Timestamp;

/// One attempt to build an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    pub image: ImageName,
    pub began: Timestamp,
    pub ended: Timestamp,
    /// The stages that the builder reports, and the delivery to the cluster. Empty for images that a command builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<BuildStage>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A step of a builder, such as an instruction of the Dockerfile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildStage {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    pub began: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An image that a resource needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageTarget {
    pub name: ImageName,
    pub build: ImageBuild,
    /// The files whose changes trigger a build: the context without ignored files.
    pub files: FileSet,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_update: Option<LiveUpdate>,
    /// Images of the project that this one builds on, without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ImageName>,
    /// Whether the name matches exactly this reference: it has a tag, or another image of the project has the same name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub match_exact: bool,
    /// Whether its name is also replaced in the values of environment variables.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub match_in_env_vars: bool,
    /// Replaces the `command` of containers that run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// Replaces the `args` of containers that run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_args: Option<Vec<String>>,
}

impl ImageTarget {
    /// Returns whether lilt builds it. Other images come from elsewhere and only take live updates.
    pub fn is_built(&self) -> bool {
        self.build.is_built(self.live_update.as_ref())
    }

    /// Returns whether a container with this name and image is selected. For images that lilt does not build.
    pub fn selects(&self, container: &str, image: &str) -> bool {
        let by_name = self.live_update.as_ref().map(|it| it.container_name.as_str()).unwrap_or_default();
        if !by_name.is_empty() {
            return by_name == container;
        }
        match (Reference::parse(self.name.as_str()), Reference::parse(image)) {
            (Ok(own), Ok(used)) if self.match_exact => own == used,
            (Ok(own), Ok(used)) => own.matches(&used),
            _ => false,
        }
    }
}

/// How an image is built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageBuild {
    Docker(DockerBuild),
    Custom(CustomBuild),
    Compose(ComposeBuild),
    /// It is not built. It only selects the running containers that take live updates.
    LiveUpdateOnly,
}

impl Default for ImageBuild {
    fn default() -> Self {
        Self::Docker(DockerBuild::default())
    }
}

impl ImageBuild {
    /// Returns whether there is anything to build for an image with this live update.
    ///
    /// As under Tilt, a command that does nothing means that the image comes from elsewhere.
    pub fn is_built(&self, update: Option<&LiveUpdate>) -> bool {
        let updates = || update.is_some_and(|update| !update.syncs.is_empty() || !update.runs.is_empty());
        match self {
            Self::Docker(_) | Self::Compose(_) => true,
            Self::Custom(build) => build.command.argv != ["sh", "-c", ":"] || !updates(),
            Self::LiveUpdateOnly => false,
        }
    }

    pub fn docker(&self) -> Option<&DockerBuild> {
        match self {
            Self::Docker(build) => Some(build),
            _ => None,
        }
    }
}

/// An image that a command of the user builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomBuild {
    pub command: Command,
    pub deps: Vec<PathBuf>,
    /// The tag that the command sets. Empty: it uses the one in `EXPECTED_TAG`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tag: String,
    pub output: CustomOutput,
    /// The file that the command writes the image's reference to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs_image_ref_to: Option<PathBuf>,
}

/// Where a command puts the image it built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CustomOutput {
    /// In the local engine, from which it is pushed.
    #[default]
    LocalDocker,
    /// In the local engine and in the registry.
    LocalDockerAndRemote,
    /// In the registry only.
    Remote,
}

/// An image that `docker compose build` makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComposeBuild {
    pub service: String,
    /// None if it is not a directory of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DockerBuild {
    /// The build context, without its `ignores`. It has one root.
    pub context: FileSet,
    /// The path of the Dockerfile, for messages. None if its text was given in the Tiltfile.
    pub dockerfile_path: Option<PathBuf>,
    pub dockerfile: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build_args: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub platform: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub network: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_from: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_hosts: Vec<String>,
    #[serde(default)]
    pub pull: bool,
    /// Agents and keys as `docker build --ssh` takes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh: Vec<String>,
    /// As `docker build --secret` takes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Variables that the Tiltfile changed and that affect the build. None: removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(String, Option<String>)>,
}

/// How running containers are updated without a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveUpdate {
    /// The directory that paths in the Tiltfile are relative to.
    #[serde(default, skip_serializing_if = "is_empty_path")]
    pub base: PathBuf,
    /// Whether all synced files are copied into every container that starts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub initial_sync: bool,
    /// A change to one of these (absolute paths; a directory includes everything below it) triggers a full build.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_paths: Vec<PathBuf>,
    pub syncs: Vec<Sync>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// Whether the container is restarted at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
    /// Whether and how the process in the container is restarted at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_process: Option<RestartProcess>,
    /// The name of the container, if it is not selected by its image.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub container_name: String,
}

impl LiveUpdate {
    /// Returns the paths whose changes trigger a `run` step or a restart of the process.
    pub fn step_paths(&self) -> Vec<&PathBuf> {
        let runs = self.runs.iter().map(|run| &run.triggers);
        let steps = runs.chain(self.restart_process.iter().map(|restart| &restart.triggers));
        let always = steps.clone().any(Vec::is_empty);
        let synced = self.syncs.iter().map(|sync| &sync.local).filter(|_| always);
        steps.flatten().chain(synced).collect()
    }
}

/// Removes `.`, `..` and doubled slashes from a path in a container. A trailing slash, which marks a directory, is kept.
pub fn clean_container_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let is_directory = path.ends_with('/') && !parts.is_empty();
    format!("/{}{}", parts.join("/"), if is_directory { "/" } else { "" })
}

fn is_empty_path(path: &std::path::Path) -> bool {
    path.as_os_str().is_empty()
}

/// How the process of a container is restarted, without a change to the image or to the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartProcess {
    /// The process to run, if it is not the container's own command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Restart only if one of these (absolute paths; a directory includes everything below it) changed. Empty: always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<PathBuf>,
    /// A file in the container; a write to it restarts the process, too. Empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub restart_file: String,
    /// Whether to wait for the next live update when the process ends by itself. Otherwise the container ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait_when_ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sync {
    /// Absolute path of a file or directory on this machine.
    pub local: PathBuf,
    /// Absolute path in the container.
    pub container: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub argv: Vec<String>,
    /// Run only if one of these (absolute paths; a directory includes everything below it) changed. Empty: always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<PathBuf>,
    /// Whether the command is not printed.
    #[serde(default)]
    pub echo_off: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_paths_are_cleaned() {
        for (path, clean) in
            [("/app/../x", "/x"), ("/app//b/./c/", "/app/b/c/"), ("/", "/"), ("/..", "/"), ("/a/..//", "/")]
        {
            assert_eq!(clean_container_path(path), clean, "{path}");
        }
    }

    #[test]
    fn step_paths_are_triggers_or_all_synced_paths() {
        let sync = Sync { local: "/p/src".into(), container: "/app".into() };
        let run = |triggers: &[&str]| Run {
            argv: vec!["make".into()],
            triggers: triggers.iter().map(PathBuf::from).collect(),
            echo_off: false,
        };
        let paths = |runs: Vec<Run>, restart_process: Option<RestartProcess>| {
            let update =
                LiveUpdate { syncs: vec![sync.clone()], runs, restart_process, ..LiveUpdate::default() };
            update.step_paths().into_iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(paths(vec![], None), Vec::<String>::new());
        assert_eq!(paths(vec![run(&["/p/src/go.mod"])], None), ["/p/src/go.mod"]);
        assert_eq!(paths(vec![run(&["/p/src/go.mod"]), run(&[])], None), ["/p/src/go.mod", "/p/src"]);
        assert_eq!(paths(vec![], Some(RestartProcess::default())), ["/p/src"]);
    }

    #[test]
    fn containers_are_selected_by_image_or_by_name() {
        let mut image = ImageTarget { name: "team/web".into(), ..ImageTarget::default() };
        assert!(image.selects("any", "docker.io/team/web:v1"));
        assert!(!image.selects("any", "web:v1"));
        assert!(!image.selects("any", "Not an image"));
        image.live_update = Some(LiveUpdate { container_name: "main".into(), ..LiveUpdate::default() });
        assert!(image.selects("main", "other:v1"));
        assert!(!image.selects("sidecar", "team/web"));
    }
}
