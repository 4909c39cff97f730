//! What a session is started with, resolved before anything runs.

use std::path::PathBuf;

use lilt_engine::Mode;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Absolute.
    pub tiltfile: PathBuf,
    /// What came after `--`.
    pub args: Vec<String>,
    /// `up`, `ci` or `down`, as `config.tilt_subcommand` sees it.
    pub subcommand: &'static str,
    pub mode: Mode,
    /// lilt's own version.
    pub version: String,
    /// In place of the kubeconfig's current context.
    pub context: Option<String>,
    /// In place of the context's namespace.
    pub namespace: Option<String>,
    /// Given to every command that the session runs, on top of lilt's own environment.
    pub environment: Vec<(String, String)>,
    /// Folders where commands find programs after those of `PATH`.
    pub programs: Vec<PathBuf>,
    /// What commands have as `KUBECONFIG`, also in the environment above; none if they find their own.
    pub kubeconfig: Option<PathBuf>,
    pub forwards: bool,
    /// Whether running containers are changed; otherwise every change is built and deployed.
    pub live_update: bool,
    /// Where forwards listen that name no host: the dashboard's.
    pub forward_host: String,
}
