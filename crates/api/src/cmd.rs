//! `Cmd`.

use std::path::Path;

use lilt_model::Timestamp;
use lilt_model::command::Command;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convert::{assignments, parse_assignments, path_text, resolve_path};
use super::disable::{DisableSource, DisableStatus};
use super::is_empty;
use super::kinds::ApiKind;
use super::probe::Probe;
use super::triggers::{RestartOnSpec, StartOnSpec};

/// A command that runs on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Cmd {
    /// The desired state.
    pub spec: CmdSpec,
    /// The observed state, set by the session.
    pub status: CmdStatus,
}

impl ApiKind for Cmd {
    const PLURAL: &'static str = "cmds";
}

/// The command and its triggers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdSpec {
    /// Command and arguments. They are not run in a shell.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
    /// Working directory, relative to the Tiltfile's directory. Defaults to that directory.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dir: String,
    /// Environment variables as `NAME=value`, in addition to those of the session.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub env: Vec<String>,
    /// Readiness probe. Without one, the command is ready as soon as it runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub readiness_probe: Option<Probe>,
    /// Triggers that restart the command.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart_on: Option<RestartOnSpec>,
    /// Triggers that start the command. Defaults to starting it immediately.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub start_on: Option<StartOnSpec>,
    /// ConfigMap values that disable the object. It stays disabled while one is missing.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_source: Option<DisableSource>,
}

/// The observed state of a command; one of `waiting`, `running` and `terminated` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdStatus {
    /// Set while the command has not started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<CmdStateWaiting>,
    /// Set while the command runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub running: Option<CmdStateRunning>,
    /// Whether the command is ready. Keeps its value when the command exits.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ready: bool,
    /// Set when the command has exited.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub terminated: Option<CmdStateTerminated>,
    /// Whether and why the object is disabled.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableStatus>,
}

/// Details of a command that has not started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdStateWaiting {
    /// Reason why the command is waiting.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// Details of a running command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdStateRunning {
    /// Process ID.
    pub pid: i32,
    /// Time when the command started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
}

/// Details of a command that has exited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdStateTerminated {
    /// Process ID.
    pub pid: i32,
    /// Time when the command started.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// Time when the command exited.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// Exit code of the process.
    pub exit_code: i32,
    /// Reason why the command exited.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

impl From<&Command> for CmdSpec {
    fn from(command: &Command) -> Self {
        Self {
            args: command.argv.clone(),
            dir: path_text(&command.dir),
            env: environment(command),
            ..Self::default()
        }
    }
}

impl CmdSpec {
    /// Returns the command. Relative paths are resolved against `folder`.
    pub fn command(&self, folder: &Path) -> Command {
        parse_command(&self.args, &self.dir, &self.env, folder)
    }
}

/// Returns the environment variables of a command as `NAME=value`.
pub fn environment(command: &Command) -> Vec<String> {
    assignments(&command.env)
}

pub(crate) fn parse_command(args: &[String], dir: &str, env: &[String], folder: &Path) -> Command {
    Command {
        argv: args.to_vec(),
        dir: resolve_path(folder, dir),
        env: parse_assignments(env),
        unset: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_directory_is_relative_to_the_folder_of_the_tiltfile() {
        let spec = CmdSpec { args: vec!["ls".into()], dir: "web".into(), ..CmdSpec::default() };
        let command = spec.command(Path::new("/p"));
        assert_eq!((command.dir, command.argv), ("/p/web".into(), vec!["ls".to_owned()]));
        assert_eq!(CmdSpec::default().command(Path::new("/p")).dir.to_str(), Some("/p"));
    }
}
