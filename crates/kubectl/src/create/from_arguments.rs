//! `lilt create cmd`, `filewatch`, `ext` and `repo`: objects from arguments.

use std::path::Path;

use clap::Args;
use lilt_api::{
    API_VERSION, CmdSpec, ExtensionRepoSpec, ExtensionSpec, FileWatchSpec, IgnoreDef, ObjectKind,
    RestartOnSpec,
};
use lilt_client::Connect;
use serde::Serialize;
use serde_json::{Value, json};

use crate::flags::Printing;
use crate::problem::Problem;

#[derive(Args, Debug)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) printing: Printing,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Make a command that runs on this machine as long as the object is there
///
/// COMMAND is a program; for a line of shell use sh -c. All that stands behind the name belongs to the command.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt create cmd hello echo hello world
  lilt create cmd both sh -c 'echo one && echo two'
  lilt create cmd --filewatch=src --env=MODE=fast test make test     again with each saved file")]
pub(crate) struct MakeCmd {
    /// Folder to run it in; this one if not given
    #[arg(short, long, value_name = "FOLDER")]
    workdir: Option<String>,
    /// A variable for it, as NAME=VALUE
    #[arg(short, long, value_name = "VARIABLE")]
    env: Vec<String>,
    /// Run it again when one of these file watches sees a change; see `lilt create filewatch`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    filewatch: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Name of the object
    name: String,
    /// The command with its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

impl MakeCmd {
    pub(crate) fn object(&self) -> Result<Value, Problem> {
        let dir = absolute(self.workdir.as_deref().unwrap_or("."))?;
        let file_watches = self.filewatch.clone();
        let spec = CmdSpec {
            args: self.command.clone(),
            dir,
            env: self.env.clone(),
            restart_on: (!file_watches.is_empty())
                .then_some(RestartOnSpec { file_watches, ui_buttons: Vec::new() }),
            ..CmdSpec::default()
        };
        Ok(object(ObjectKind::Cmd, &self.name, &spec))
    }
}

/// Make an object that tells of saved files
///
/// Folders are watched with all that is in them. Other objects name it, for example those of `lilt create cmd
/// --filewatch`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt create filewatch src-and-web src web --ignore=web/node_modules")]
pub(crate) struct MakeFilewatch {
    /// Name of the object
    name: String,
    /// Files and folders to watch
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// What not to tell of, as .dockerignore says it, relative to this folder
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    ignore: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl MakeFilewatch {
    pub(crate) fn object(&self) -> Result<Value, Problem> {
        let paths: Vec<String> = self.paths.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?;
        let ignores = match self.ignore.as_slice() {
            [] => Vec::new(),
            patterns => vec![IgnoreDef { base_path: absolute(".")?, patterns: patterns.to_vec() }],
        };
        let spec = FileWatchSpec { watched_paths: paths, ignores, disable_source: None };
        Ok(object(ObjectKind::FileWatch, &self.name, &spec))
    }
}

/// Register an extension
///
/// Its repository must be known: from the Tiltfile, or from `lilt create repo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt create ext cancel
  lilt create ext cancel --repo=dev
  lilt create ext fwd --path=./kubefwd -- --namespaces=default     with arguments for the extension")]
pub(crate) struct MakeExt {
    /// Name of the object
    name: String,
    /// Arguments for the extension, behind --
    #[arg(value_name = "ARG", last = true)]
    args: Vec<String>,
    /// The repository's object; `lilt get repo` lists them
    #[arg(long, value_name = "NAME", default_value = "default")]
    repo: String,
    /// Where the extension is in its repository; as its name if not given
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl MakeExt {
    pub(crate) fn object(&self) -> Value {
        let path = self.path.as_ref().unwrap_or(&self.name);
        let spec =
            ExtensionSpec { repo_name: self.repo.clone(), repo_path: path.clone(), args: self.args.clone() };
        object(ObjectKind::Extension, &self.name, &spec)
    }
}

/// Register a repository of extensions
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt create repo default https://github.com/tilt-dev/tilt-extensions
  lilt create repo default https://github.com/tilt-dev/tilt-extensions --ref=SHA
  lilt create repo mine file:///home/user/src/extensions")]
pub(crate) struct MakeRepo {
    /// Name of the object
    name: String,
    /// Where it is: https://… or file://…
    url: String,
    /// Commit, branch or tag
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl MakeRepo {
    pub(crate) fn object(&self) -> Value {
        let spec = ExtensionRepoSpec {
            url: self.url.clone(),
            reference: self.reference.clone().unwrap_or_default(),
            ..ExtensionRepoSpec::default()
        };
        object(ObjectKind::ExtensionRepo, &self.name, &spec)
    }
}

fn object(kind: ObjectKind, name: &str, spec: &impl Serialize) -> Value {
    json!({"apiVersion": API_VERSION, "kind": kind.name(), "metadata": {"name": name}, "spec": spec})
}

/// Returns the absolute path without `.` and `..`.
fn absolute(path: &str) -> Result<String, Problem> {
    let whole = std::path::absolute(path).map_err(|error| Problem::message(format!("{path}: {error}")))?;
    let mut clean = std::path::PathBuf::new();
    for part in whole.components() {
        match part {
            std::path::Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    let named = |path: &Path| path.to_str().map(str::to_owned);
    named(&clean).ok_or_else(|| Problem::message(format!("{path:?} is no text")))
}
