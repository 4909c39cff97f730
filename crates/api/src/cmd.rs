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

/// A command on this machine. It runs as long as its object exists and says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Cmd {
    /// What is wanted.
    pub spec: CmdSpec,
    /// What is so. The session writes it.
    pub status: CmdStatus,
}

impl ApiKind for Cmd {
    const PLURAL: &'static str = "cmds";
}

/// What is run, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdSpec {
    /// The command, word by word; no shell is put around it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub args: Vec<String>,
    /// The folder that the command runs in. Relative ones count from the Tiltfile's folder.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dir: String,
    /// Variables for the command, each as NAME=value, on top of the session's own.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub env: Vec<String>,
    /// Tells whether the command is ready; without one it is as soon as it runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub readiness_probe: Option<Probe>,
    /// What starts it anew.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart_on: Option<RestartOnSpec>,
    /// Waits for a click instead of starting at once.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub start_on: Option<StartOnSpec>,
    /// Values that switch the object off. As long as one is missing it is off, too.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_source: Option<DisableSource>,
}

/// How far the command is; one of waiting, running and terminated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdStatus {
    /// Set while it has not begun.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub waiting: Option<CmdStateWaiting>,
    /// Set while it runs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub running: Option<CmdStateRunning>,
    /// Whether its probe found it ready. Stays as it was when the command ends.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ready: bool,
    /// Set when it has ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub terminated: Option<CmdStateTerminated>,
    /// Whether the object is switched off, and by what.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableStatus>,
}

/// It has not begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdStateWaiting {
    /// Why, in a word or a sentence.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: String,
}

/// It runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdStateRunning {
    /// The number of the process.
    pub pid: i32,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
}

/// It has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct CmdStateTerminated {
    /// The number of the process.
    pub pid: i32,
    /// When it began.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub finished_at: Option<Timestamp>,
    /// The code that the process ended with.
    pub exit_code: i32,
    /// Why, in a word or a sentence.
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
    /// Returns the command. `folder` is what relative paths are relative to.
    pub fn command(&self, folder: &Path) -> Command {
        parse_command(&self.args, &self.dir, &self.env, folder)
    }
}

/// Returns the variables of a command as `NAME=value`.
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
