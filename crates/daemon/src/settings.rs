//! The settings of a session, resolved before anything runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lilt_cluster::{ConnectOptions, PluginOutput, SessionKubeconfig};
use lilt_engine::Mode;
use lilt_host::environment;
use lilt_host::watch::WatchMode;
use lilt_model::ClusterName;

use crate::command_environment::CommandEnvironment;

/// The project that a command works on.
#[derive(Clone, Debug)]
pub struct Project {
    /// Absolute.
    pub tiltfile: PathBuf,
    /// What came after `--`.
    pub args: Vec<String>,
    /// Replaces the current context of the kubeconfig.
    pub context: Option<String>,
    /// Replaces the namespace of the context.
    pub namespace: Option<String>,
}

/// Version and date of this build of lilt.
#[derive(Clone, Copy, Debug)]
pub struct BuildInfo {
    pub version: &'static str,
    /// The day on which it was built.
    pub date: &'static str,
}

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
    /// The day on which lilt was built.
    pub build_date: String,
    /// Replaces the namespace of the context.
    pub namespace: Option<String>,
    /// Added to lilt's own environment for every command that the session runs.
    pub environment: Vec<(String, String)>,
    /// Folders where commands find programs after those of `PATH`.
    pub programs: Vec<PathBuf>,
    /// The kubeconfig that is given to commands once something is deployed, and its context.
    pub kubeconfig: SessionKubeconfig,
    pub forwards: bool,
    /// The transport of live updates. None: every change is built and deployed.
    pub live_update: Option<Transport>,
    /// The address for port forwards that name no host: the same as the dashboard's.
    pub forward_host: String,
    /// The timeout of `ci`, unless the Tiltfile sets one.
    pub ci_timeout: Option<Duration>,
    /// Files that lilt writes its own output to. They are not watched, or logging an update would cause the next.
    pub output: Vec<PathBuf>,
    pub watch_mode: WatchMode,
    /// The file to which the engine's events are recorded.
    pub record: Option<PathBuf>,
    /// Commands that run `ctr` on one node each: of the session's cluster, or with `@context command` of another one.
    pub node_commands: Vec<String>,
    /// Receives the output of kubeconfig's exec plugins, such as a device code, in commands without a session. Sessions
    /// log it.
    pub plugin_output: PluginOutput,
}

/// How files get into running containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Through Kubernetes. Where an image cannot take files, through the Docker engine that runs the container.
    #[default]
    Any,
    /// Through Kubernetes.
    Exec,
    /// Through the Docker engine that runs them.
    Docker,
}

impl Settings {
    /// Creates the settings of a command without a session. Commands with one change more fields.
    pub fn new(
        subcommand: &'static str,
        project: Project,
        build: BuildInfo,
        environment: CommandEnvironment,
    ) -> Self {
        Self {
            tiltfile: project.tiltfile,
            args: project.args,
            subcommand,
            mode: Mode::Up,
            version: build.version.to_owned(),
            build_date: build.date.to_owned(),
            namespace: project.namespace,
            environment: environment.variables_with_path(),
            programs: environment.programs,
            kubeconfig: environment.kubeconfig,
            forwards: false,
            live_update: None,
            forward_host: String::new(),
            ci_timeout: None,
            output: Vec::new(),
            watch_mode: WatchMode::default(),
            record: None,
            node_commands: Vec::new(),
            plugin_output: PluginOutput::default(),
        }
    }

    /// Returns the folder of the Tiltfile.
    pub(crate) fn folder(&self) -> &Path {
        self.tiltfile.parent().unwrap_or(Path::new("/"))
    }

    /// Returns the variables that commands get in addition to lilt's own environment.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let written = self.kubeconfig.written();
        let kubeconfig = written.map(|file| ("KUBECONFIG".to_owned(), file.path.display().to_string()));
        self.environment.iter().cloned().chain(kubeconfig).collect()
    }

    /// Returns how to connect to a cluster.
    pub(crate) fn connection(&self, cluster: &ClusterName) -> ConnectOptions {
        let (context, namespace) = match cluster.is_session() {
            true => (self.kubeconfig.context().map(str::to_owned), self.namespace.clone()),
            false => (Some(cluster.to_string()), None),
        };
        let plugin_output = self.plugin_output.clone();
        ConnectOptions { context, namespace, plugin_output, ..ConnectOptions::default() }
    }

    /// Returns the commands for the nodes of one cluster.
    pub(crate) fn node_commands_of(&self, cluster: &ClusterName, context: &str) -> Vec<String> {
        let is_session = cluster.is_session();
        self.node_commands.iter().filter_map(|line| command_for(line, is_session, context)).collect()
    }
}

/// Returns the command of a line of `LILT_NODE_CTR`, if it is for this cluster.
fn command_for(line: &str, is_session: bool, context: &str) -> Option<String> {
    match line.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        Some((named, command)) => (named == context).then(|| command.trim().to_owned()),
        None => is_session.then(|| line.to_owned()),
    }
}

/// Returns the commands of `LILT_NODE_CTR`, one per line.
pub fn node_commands_from_environment() -> Vec<String> {
    let text = environment::variable(environment::LILT_NODE_CTR).unwrap_or_default();
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_commands_are_for_the_session_or_the_named_context() {
        let lines = ["ssh one sudo ctr", "@far ssh two sudo ctr", "@near  ssh three sudo ctr"];
        let found = |is_session, context| -> Vec<String> {
            lines.iter().filter_map(|line| command_for(line, is_session, context)).collect()
        };
        assert_eq!(found(true, "near"), ["ssh one sudo ctr", "ssh three sudo ctr"]);
        assert_eq!(found(false, "far"), ["ssh two sudo ctr"]);
        assert!(found(false, "other").is_empty());
    }
}
