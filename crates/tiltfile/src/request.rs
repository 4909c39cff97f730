//! What a load is asked for, and what it returns.

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
    /// What stands after `--` on the command line.
    pub args: Vec<String>,
    /// `up`, `ci` or `down`.
    pub subcommand: String,
    /// What commands that the Tiltfile runs get unless their environment has it: `TILT_HOST`, `TILT_PORT` and the like.
    pub variables: Vec<(String, String)>,
    /// Folders in which those commands find programs after the ones of `PATH`.
    pub programs: Vec<PathBuf>,
    /// What earlier loads of the session changed in the environment, as [`Loaded::environment`] tells it: it lasts.
    pub environment: Vec<(String, Option<String>)>,
    /// Whether to note how long each builtin takes.
    pub with_timings: bool,
}

/// What came of a load.
#[derive(Debug)]
pub struct Loaded {
    pub project: Result<Project, Failure>,
    /// What was read or looked for: a change to any of it asks for another load.
    pub files: FileSet,
    /// The environment variables that the Tiltfile set, none for one that it removed, with those of the request:
    /// commands of the session that run later get the same, and later loads.
    pub environment: Vec<(String, Option<String>)>,
    /// What the files that were read held then.
    pub contents: Contents,
    /// Of the code that ran.
    pub hashes: Hashes,
    /// The builtins that were called, in the order in which they ended; empty unless the request asks for them.
    pub calls: Vec<BuiltinCall>,
}

/// One call of a builtin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltinCall {
    /// With that of its module.
    pub name: String,
    /// Those that were given by position, as a tuple prints.
    pub arguments: String,
    pub took: Duration,
}
