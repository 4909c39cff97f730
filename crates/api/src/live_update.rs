//! `LiveUpdate`.

use std::path::{Path, PathBuf};

use lilt_model::Timestamp;
use lilt_model::image as model;
use lilt_model::image::clean_container_path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convert::{path_text, relative_path, resolve_path};
use super::kinds::ApiKind;
use super::{is_empty, null_if_empty};

/// Copies changed files into running containers, without an image build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdate {
    /// The desired state.
    pub spec: LiveUpdateSpec,
    /// The observed state, set by the session.
    pub status: LiveUpdateStatus,
}

impl ApiKind for LiveUpdate {
    const PLURAL: &'static str = "liveupdates";
}

/// The files to copy, the target containers and the steps that follow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSpec {
    /// Directory that local paths are relative to.
    pub base_path: String,
    /// Containers to update.
    pub selector: LiveUpdateSelector,
    /// Paths whose changes require an image build instead of a live update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stop_paths: Vec<String>,
    /// Local paths and their paths in the container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub syncs: Vec<LiveUpdateSync>,
    /// Commands to run in the container after files are copied.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub execs: Vec<LiveUpdateExec>,
    /// Restart policy: `always` restarts the container after each update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart: String,
    /// If set, all files are copied into every container that starts.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub initial_sync: Option<LiveUpdateInitialSync>,
    /// Sources of file changes.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub sources: Vec<LiveUpdateSource>,
}

/// A source of file changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSource {
    /// Name of the FileWatch object that reports the changes.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub file_watch: String,
    /// Name of the ImageMap object whose builds contain the changes.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_map: String,
}

/// Selects containers; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSelector {
    /// Selects containers of a Docker Compose service.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub docker_compose: Option<LiveUpdateDockerComposeSelector>,
    /// Selects containers of pods.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes: Option<LiveUpdateKubernetesSelector>,
}

/// Selects containers of pods by one of `image`, `imageMapName` and `containerName`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateKubernetesSelector {
    /// Name of the KubernetesDiscovery object that finds the pods.
    pub discovery_name: String,
    /// Name of the KubernetesApply object; only pods of its last apply are selected.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub apply_name: String,
    /// Selects containers that run the image of this ImageMap object.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_map_name: String,
    /// Selects containers with this name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_name: String,
    /// Selects containers that run this image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image: String,
}

/// Selects containers of a Docker Compose service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateDockerComposeSelector {
    /// Name of the service.
    pub service: String,
}

/// A local path and its path in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSync {
    /// Local path, relative to `basePath`.
    pub local_path: String,
    /// Absolute path in the container.
    pub container_path: String,
}

/// A command to run in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateExec {
    /// Command and arguments. They are not run in a shell.
    pub args: Vec<String>,
    /// Run only if one of these paths changed. Defaults to running after every update.
    #[schemars(skip_serializing_if = "is_empty")]
    #[serde(serialize_with = "null_if_empty")]
    #[schemars(with = "Vec<String>")]
    pub trigger_paths: Vec<String>,
    /// Omit the command line from the log.
    pub echo_off: bool,
}

/// Copies all files into every container that starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LiveUpdateInitialSync {}

/// The observed state of the containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateStatus {
    /// State of each container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Vec<LiveUpdateContainerStatus>,
    /// Set if live updates are not possible.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub failed: Option<LiveUpdateStateFailed>,
}

/// State of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateContainerStatus {
    /// ID of the container.
    #[serde(rename = "containerID", default, skip_serializing_if = "is_empty")]
    pub container_id: String,
    /// Name of the container in the pod.
    pub container_name: String,
    /// Name of the pod.
    pub pod_name: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// Time of the newest file change in the container.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_file_time_synced: Option<Timestamp>,
    /// Error of the last command that failed; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_exec_error: String,
    /// Set while the container cannot be updated.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<LiveUpdateContainerStateWaiting>,
}

/// Details of a container that cannot be updated now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateContainerStateWaiting {
    /// Reason as a single CamelCase word.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// Human-readable details.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
}

/// Details of a live update that is not possible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateStateFailed {
    /// Reason as a single CamelCase word.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// Human-readable details.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
    /// Time when the failure was first observed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_transition_time: Option<Timestamp>,
}

impl From<&model::LiveUpdate> for LiveUpdateSpec {
    fn from(update: &model::LiveUpdate) -> Self {
        let from_base = |path: &PathBuf| relative_path(&update.base, path);
        let selector = LiveUpdateKubernetesSelector {
            container_name: update.container_name.clone(),
            ..LiveUpdateKubernetesSelector::default()
        };
        let sync = |sync: &model::Sync| LiveUpdateSync {
            local_path: from_base(&sync.local),
            container_path: sync.container.clone(),
        };
        let exec = |run: &model::Run| LiveUpdateExec {
            args: run.argv.clone(),
            trigger_paths: run.triggers.iter().map(from_base).collect(),
            echo_off: run.echo_off,
        };
        Self {
            base_path: path_text(&update.base),
            selector: LiveUpdateSelector {
                kubernetes: (!update.container_name.is_empty()).then_some(selector),
                docker_compose: None,
            },
            stop_paths: update.stop_paths.iter().map(from_base).collect(),
            syncs: update.syncs.iter().map(sync).collect(),
            execs: update.runs.iter().map(exec).collect(),
            restart: if update.restart { "always" } else { "" }.to_owned(),
            initial_sync: update.initial_sync.then_some(LiveUpdateInitialSync {}),
            sources: Vec::new(),
        }
    }
}

impl LiveUpdateSpec {
    /// Returns the live update. A relative base path is resolved against `folder`.
    pub fn live_update(&self, folder: &Path) -> model::LiveUpdate {
        let base = resolve_path(folder, &self.base_path);
        let from_base = |path: &str| if path == "." { base.clone() } else { base.join(path) };
        let paths = |paths: &[String]| paths.iter().map(|path| from_base(path)).collect();
        let sync = |sync: &LiveUpdateSync| model::Sync {
            local: from_base(&sync.local_path),
            container: clean_container_path(&sync.container_path),
        };
        let run = |exec: &LiveUpdateExec| model::Run {
            argv: exec.args.clone(),
            triggers: paths(&exec.trigger_paths),
            echo_off: exec.echo_off,
        };
        let selector = self.selector.kubernetes.as_ref();
        model::LiveUpdate {
            initial_sync: self.initial_sync.is_some(),
            stop_paths: paths(&self.stop_paths),
            syncs: self.syncs.iter().map(sync).collect(),
            runs: self.execs.iter().map(run).collect(),
            restart: self.restart == "always",
            restart_process: None,
            container_name: selector.map(|selector| selector.container_name.clone()).unwrap_or_default(),
            base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_update_survives_the_round_trip() {
        let update = model::LiveUpdate {
            base: "/p".into(),
            initial_sync: true,
            stop_paths: vec!["/p/go.mod".into()],
            syncs: vec![model::Sync { local: "/p".into(), container: "/app".into() }],
            runs: vec![model::Run { argv: vec!["x".into()], triggers: vec!["/p/a".into()], echo_off: true }],
            restart: true,
            ..model::LiveUpdate::default()
        };
        assert_eq!(LiveUpdateSpec::from(&update).live_update(Path::new("/p")), update);
    }
}
