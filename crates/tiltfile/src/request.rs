//! The request and the result of a load.

use std::path::PathBuf;
use std::time::Duration;

use lilt_model::Failure;
use lilt_model::files::{Contents, FileSet};
use lilt_model::project::Project;

use crate::hashes::Hashes;

/// Which Tiltfile to load, and how lilt was called.
#[derive(Clone, Debug, Default)]
pub struct LoadRequest {
    /// Absolute.
    pub path: PathBuf,
    /// The arguments after `--` on the command line.
    pub args: Vec<String>,
    /// `up`, `ci` or `down`.
    pub subcommand: String,
    /// Default variables of commands that the Tiltfile runs, such as `TILT_HOST` and `TILT_PORT`.
    pub variables: Vec<(String, String)>,
    /// Folders that are appended to the `PATH` of these commands.
    pub programs: Vec<PathBuf>,
    /// What earlier loads of the session changed in the environment: their [`Loaded::environment`].
    pub environment: Vec<(String, Option<String>)>,
    /// Whether to measure how long each builtin takes.
    pub with_timings: bool,
}

/// The result of a load.
#[derive(Debug)]
pub struct Loaded {
    pub project: Result<Project, Failure>,
    /// The files that were read or searched for: a change to one of them requires another load.
    pub files: FileSet,
    /// The environment variables that the Tiltfile set (none: removed), with those of the request. Later commands of
    /// the session and later loads get the same.
    pub environment: Vec<(String, Option<String>)>,
    /// The contents of the files at the time they were read.
    pub contents: Contents,
    /// Hashes of the code that ran.
    pub hashes: Hashes,
    /// The calls of builtins, in the order in which they ended; empty unless the request asks for timings.
    pub calls: Vec<BuiltinCall>,
}

/// One call of a builtin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltinCall {
    /// Qualified with its module.
    pub name: String,
    /// The positional arguments, printed as a tuple.
    pub arguments: String,
    pub took: Duration,
}
