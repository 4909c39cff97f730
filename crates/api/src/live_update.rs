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

/// Copies saved files into running containers, without a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdate {
    /// What is wanted.
    pub spec: LiveUpdateSpec,
    /// What is so. The session writes it.
    pub status: LiveUpdateStatus,
}

impl ApiKind for LiveUpdate {
    const PLURAL: &'static str = "liveupdates";
}

/// What goes where, when files are saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSpec {
    /// The folder that local paths count from.
    pub base_path: String,
    /// Which containers.
    pub selector: LiveUpdateSelector,
    /// A save of one of these cannot be copied: it takes a build.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub stop_paths: Vec<String>,
    /// Which files go where.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub syncs: Vec<LiveUpdateSync>,
    /// Commands that run in the container after files were copied.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub execs: Vec<LiveUpdateExec>,
    /// "always" if the container is restarted after each update.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart: String,
    /// Set if all files go into every container that starts.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub initial_sync: Option<LiveUpdateInitialSync>,
    /// Where saves are seen.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub sources: Vec<LiveUpdateSource>,
}

/// Where saves are seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSource {
    /// The FileWatch that sees them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub file_watch: String,
    /// The ImageMap whose builds have them, once they are built.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_map: String,
}

/// Which containers; one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSelector {
    /// Those of a Docker Compose service.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub docker_compose: Option<LiveUpdateDockerComposeSelector>,
    /// Those of pods.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes: Option<LiveUpdateKubernetesSelector>,
}

/// Containers of pods; found by one of image, imageMapName and containerName.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateKubernetesSelector {
    /// The KubernetesDiscovery that finds the pods.
    pub discovery_name: String,
    /// The KubernetesApply that the pods come of: only those of its last apply count.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub apply_name: String,
    /// Those that run the image of this ImageMap.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_map_name: String,
    /// Those of this name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub container_name: String,
    /// Those that run this image.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image: String,
}

/// Containers of a Docker Compose service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateDockerComposeSelector {
    /// The name of the service.
    pub service: String,
}

/// A path and its place in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateSync {
    /// The path on this machine.
    pub local_path: String,
    /// The absolute path in the container.
    pub container_path: String,
}

/// A command in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateExec {
    /// The command, word by word.
    pub args: Vec<String>,
    /// It runs only if one of these was saved; without any, always.
    #[schemars(skip_serializing_if = "is_empty")]
    #[serde(serialize_with = "null_if_empty")]
    #[schemars(with = "Vec<String>")]
    pub trigger_paths: Vec<String>,
    /// Whether the command itself is left out of the log.
    pub echo_off: bool,
}

/// All files go into every container that starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct LiveUpdateInitialSync {}

/// How far each container is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateStatus {
    /// The containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Vec<LiveUpdateContainerStatus>,
    /// Set if it cannot be done.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub failed: Option<LiveUpdateStateFailed>,
}

/// How far a container is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateContainerStatus {
    /// The container.
    #[serde(rename = "containerID", default, skip_serializing_if = "is_empty")]
    pub container_id: String,
    /// Its name in the pod.
    pub container_name: String,
    /// The pod.
    pub pod_name: String,
    /// The namespace in the cluster; without one it is that of the kubeconfig context.
    pub namespace: String,
    /// The newest save that it has.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_file_time_synced: Option<Timestamp>,
    /// What the last command that failed said.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub last_exec_error: String,
    /// Set while it cannot be updated.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<LiveUpdateContainerStateWaiting>,
}

/// Why a container cannot be updated now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateContainerStateWaiting {
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// More about it, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
}

/// Why it cannot be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct LiveUpdateStateFailed {
    /// Why, in a word.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
    /// More about it, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message: String,
    /// Since when it is so.
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
    /// Returns the live update. `folder` is what a relative base path is relative to.
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
