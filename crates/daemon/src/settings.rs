//! The settings of a session, resolved before anything runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lilt_cluster::{ConnectOptions, PluginOutput, SessionKubeconfig};
use lilt_engine::{DriftHabit, Mode};
use lilt_host::environment;
use lilt_model::{ClusterName, Failure};

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
    pub extra: ExtraOptions,
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
            extra: ExtraOptions::default(),
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
}

/// Options of a session that Tilt does not have.
///
/// They are read from the environment, so that Tiltfiles stay compatible with Tilt.
#[derive(Clone, Debug, Default)]
pub struct ExtraOptions {
    /// After a resource was updated, resources that depend on it are updated, too.
    pub cascade: bool,
    /// Servers that exit are restarted, with growing delays.
    pub restart_servers: bool,
    /// What to do about objects that somebody deleted or changed in the cluster.
    pub drift: DriftHabit,
    /// The file that the session's events are recorded to.
    pub record: Option<PathBuf>,
    /// Commands that run `ctr` on the nodes of the session's cluster, or of another context's: `@context command`.
    pub node_commands: Vec<String>,
}

impl ExtraOptions {
    /// Returns the commands for the nodes of one cluster.
    pub(crate) fn node_commands_of(&self, cluster: &ClusterName, context: &str) -> Vec<String> {
        let is_for = |line: &String| match line.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
            Some((named, command)) => (named == context).then(|| command.trim().to_owned()),
            None => cluster.is_session().then(|| line.clone()),
        };
        self.node_commands.iter().filter_map(is_for).collect()
    }

    pub fn from_environment() -> Self {
        let is_on = |name: &str| {
            environment::variable(name).is_some_and(|value| !matches!(value.as_str(), "0" | "false" | "no"))
        };
        let lines = |name: &str| {
            let text = environment::variable(name).unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
        };
        Self {
            cascade: is_on(environment::LILT_CASCADE),
            restart_servers: is_on(environment::LILT_RESTART),
            drift: match environment::variable(environment::LILT_DRIFT).as_deref() {
                Some("correct") => DriftHabit::Correct,
                Some("ignore") => DriftHabit::Ignore,
                _ => DriftHabit::Tell,
            },
            record: environment::variable(environment::LILT_RECORD).map(PathBuf::from),
            node_commands: lines(environment::LILT_NODE_CTR),
        }
    }
}

/// Returns how many bytes of log a session may keep on disk, if the environment sets that.
pub fn log_limit_from_environment() -> Result<Option<u64>, Failure> {
    let Some(text) = environment::variable(environment::LILT_LOG_LIMIT_GB) else { return Ok(None) };
    match text.parse::<f64>() {
        Ok(gigabytes) if gigabytes >= 0.0 => Ok(Some((gigabytes * 1e9) as u64)),
        _ => Err(Failure::user(format!("LILT_LOG_LIMIT_GB={text} is no number of gigabytes"))
            .hint("how much of the log stays readable, for example 0.5 or 20")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_reached_as_the_user_says_for_each_cluster() {
        let lines = ["ssh one sudo ctr", "@far ssh two sudo ctr", "@near  ssh three sudo ctr"];
        let extra =
            ExtraOptions { node_commands: lines.map(str::to_owned).into(), ..ExtraOptions::default() };
        let session = ClusterName::default();
        assert_eq!(extra.node_commands_of(&session, "near"), ["ssh one sudo ctr", "ssh three sudo ctr"]);
        assert_eq!(extra.node_commands_of(&ClusterName::from("far"), "far"), ["ssh two sudo ctr"]);
        assert!(extra.node_commands_of(&ClusterName::from("other"), "other").is_empty());
    }
}
