//! Arguments that several commands share, and those of commands without a file of their own. Flags and their meaning are
//! Tilt's.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lilt_daemon::BuildInfo;
use lilt_model::duration::parse_flag;
use lilt_model::size;
use lilt_store::DEFAULT_LIMIT;
use lilt_tui::stream::PrintedLines;

/// Returns the name by which the program was called: `lilt`, or `tilt` through a link.
pub(crate) fn program_name() -> String {
    let name = std::env::args_os().next().map(PathBuf::from);
    let name =
        name.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| name == "tilt").unwrap_or_else(|| "lilt".to_owned())
}

/// Returns lilt's own version.
pub(crate) fn version() -> &'static str {
    BUILD.version
}

pub(crate) const BUILD: BuildInfo =
    BuildInfo { version: env!("CARGO_PKG_VERSION"), date: env!("LILT_BUILD_DATE") };

/// Evaluate the Tiltfile and print what came of it as JSON: exit 0, 5 if the Tiltfile is wrong, 1 for all else
///
/// With -v the lines that the Tiltfile prints go to stderr, also if nothing is wrong.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt alpha tiltfile-result | jq '.Manifests[].Name'")]
pub(crate) struct TiltfileResult {
    #[command(flatten)]
    pub(crate) project: Project,
    /// Print how long each call of a builtin took, in place of the result
    #[arg(short, long)]
    pub(crate) builtin_timings: bool,
    /// With --builtin-timings: leave out calls that took less, for example 10ms
    #[arg(long, default_value = "0s", value_name = "DURATION", value_parser = parse_flag)]
    pub(crate) dur_threshold: std::time::Duration,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Project {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    pub(crate) file: PathBuf,
    /// Kubernetes context to use instead of the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Namespace for objects that name none, instead of the context's
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Arguments for the Tiltfile: the resources to enable, or what its config.parse() defines. Those that begin with
    /// a dash stand after --
    #[arg(value_name = "TILTFILE ARGS")]
    pub(crate) args: Vec<String>,
}

impl Project {
    /// Resolves paths against the current folder.
    pub(crate) fn absolute(self) -> std::io::Result<lilt_daemon::Project> {
        let Project { file, context, namespace, args } = self;
        Ok(lilt_daemon::Project { tiltfile: absolute(file)?, args, context, namespace })
    }
}

/// Returns the absolute path of a Tiltfile.
pub(crate) fn absolute(path: PathBuf) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    // Only the folder is resolved: a Tiltfile that is a link keeps its own path.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    Ok(match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    })
}

#[derive(Args, Debug)]
pub(crate) struct Web {
    /// Host to listen on for the dashboard, and for port forwards that name none; else TILT_HOST, else localhost.
    /// Others can reach it there: only change it if you mean that
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Port of the dashboard: a number, auto for the next free one from 10350 on, random for any that is free, 0 for no
    /// dashboard; else TILT_PORT, else 10350
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<Port>,
    /// Where the page comes from: lilt carries it. local is for those who work on the page
    #[arg(long, value_enum, value_name = "MODE", default_value_t = WebMode::Default)]
    pub(crate) web_mode: WebMode,
    /// Port of the page's development server, for --web-mode=local
    #[arg(long, value_name = "PORT", default_value_t = 46764)]
    pub(crate) webdev_port: u16,
    /// Name of a proxy or tunnel through which browsers reach the page, with a port if it is an unusual one; repeatable
    #[arg(long, value_name = "HOST")]
    pub(crate) allowed_host: Vec<String>,
    /// Keep the token of the page for the next session on this port, so that browsers stay signed in. Otherwise it ends
    /// with the session
    #[arg(long)]
    pub(crate) keep_token: bool,
}

/// How a session watches files and keeps its log.
#[derive(Args, Debug)]
pub(crate) struct SessionOptions {
    /// How file changes are noticed: events, from the file system; poll, by comparing files; auto, by polling only where
    /// the file system does not report all changes
    #[arg(long, value_enum, value_name = "MODE", default_value_t = WatchMode::Auto)]
    pub(crate) watch_mode: WatchMode,
    /// How much log to keep on disk, for example 500MB or 20GB; 0 for only the newest lines, in memory
    #[arg(long, default_value = "4GB", value_name = "SIZE", value_parser = size::parse)]
    pub(crate) log_limit: u64,
    /// Record the session's events in this file, for bug reports; the values of Secrets are redacted
    #[arg(long, value_name = "PATH")]
    pub(crate) record: Option<PathBuf>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { watch_mode: WatchMode::Auto, log_limit: DEFAULT_LIMIT, record: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WatchMode {
    Auto,
    Poll,
    Events,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WebMode {
    Default,
    Local,
    Prod,
    #[value(hide = true)]
    Embedded,
    #[value(hide = true)]
    Precompiled,
}

/// Which port to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// Never 0.
    Number(u16),
    /// The next free one.
    Auto,
    /// Any free one, chosen by the system.
    Random,
    /// 0, as in Tilt: a session without dashboard.
    Disabled,
}

impl std::str::FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Port, String> {
        match text {
            "auto" => Ok(Port::Auto),
            "random" => Ok(Port::Random),
            _ => match text.parse() {
                Ok(0) => Ok(Port::Disabled),
                Ok(number) => Ok(Port::Number(number)),
                Err(_) => Err("expected a number up to 65535, `auto` or `random`".to_owned()),
            },
        }
    }
}

/// Bring everything up and keep it up to date until Ctrl-C
///
/// Without arguments for the Tiltfile all its resources are enabled, otherwise those that are named; a Tiltfile that
/// calls config.parse() or config.set_enabled_resources() decides itself.
///
/// At the end commands and servers of this machine are stopped. What was deployed goes on running: `lilt down` deletes
/// it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt up                          bring up the project of this folder
  lilt up web api                  only these resources
  lilt up -f deploy/Tiltfile       another Tiltfile
  lilt up --port=auto              beside a session that already runs
  lilt up -- --env=test web        arguments for the Tiltfile's config.parse()")]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) project: Project,
    #[command(flatten)]
    pub(crate) web: Web,
    #[command(flatten)]
    pub(crate) session: SessionOptions,
    /// Print all logs to the terminal
    #[arg(long)]
    pub(crate) stream: bool,
    /// Start in the terminal UI
    #[arg(long, alias = "hud")]
    pub(crate) legacy: bool,
    #[command(flatten)]
    pub(crate) lines: PrintedLines,
    /// Do not open port forwards
    #[arg(long)]
    pub(crate) disable_port_forwards: bool,
    /// How running containers are changed: container, through their Docker engine; exec, through Kubernetes; auto, the
    /// one that works; image, to build and deploy always
    #[arg(long, value_enum, value_name = "MODE", default_value_t = UpdateMode::Auto)]
    pub(crate) update_mode: UpdateMode,
    /// Write a snapshot of all that is known to this file at the end, for `lilt snapshot view`
    #[arg(long, value_name = "PATH")]
    pub(crate) output_snapshot_on_exit: Option<PathBuf>,
    /// At the end, delete what the Tiltfile names, as `lilt down` does; a second Ctrl-C leaves the rest
    #[arg(long)]
    pub(crate) cleanup: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UpdateMode {
    Auto,
    Image,
    Container,
    Exec,
}

/// Bring everything up once: exit 0 when all is ready, 1 when something is broken
///
/// Commands must have succeeded, servers and pods must be ready, jobs must be done.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt ci                                            everything, at most half an hour
  lilt ci --timeout=5m web                           one resource, at most five minutes
  lilt ci --output-snapshot-on-exit=snapshot.json    keep what happened, for `lilt snapshot view`")]
pub(crate) struct Ci {
    #[command(flatten)]
    pub(crate) project: Project,
    #[command(flatten)]
    pub(crate) web: Web,
    #[command(flatten)]
    pub(crate) session: SessionOptions,
    #[command(flatten)]
    pub(crate) lines: PrintedLines,
    /// How long to wait for everything to be ready, for example 90s or 30m; 0 for as long as it takes
    #[arg(long, default_value = "30m0s", value_name = "DURATION", value_parser = parse_flag)]
    pub(crate) timeout: std::time::Duration,
    /// Write a snapshot of all that is known to this file at the end, for `lilt snapshot view`
    #[arg(long, value_name = "PATH")]
    pub(crate) output_snapshot_on_exit: Option<PathBuf>,
}

/// Delete what the Tiltfile names, whoever deployed it
///
/// Objects with the annotation `tilt.dev/down-policy: keep` stay, those with `lilt.dev/create-once: "true"` if somebody
/// filled them in, and namespaces and volumes unless asked for. What is already gone is no error.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt down                          delete what was deployed
  lilt down web                      only what belongs to web
  lilt down --delete-namespaces      namespaces of the Tiltfile, too
  lilt down -- --env=test            with arguments for the Tiltfile's config.parse()")]
pub(crate) struct Down {
    #[command(flatten)]
    pub(crate) project: Project,
    /// Delete namespaces too
    #[arg(long)]
    pub(crate) delete_namespaces: bool,
    /// Delete volumes of Docker Compose too
    #[arg(long)]
    pub(crate) delete_volumes: bool,
}

/// Try lilt on a small project that needs no cluster and no Docker
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt demo            try it\n  lilt demo --once     watch it, and exit")]
pub(crate) struct Demo {
    #[command(flatten)]
    pub(crate) web: Web,
    /// Do the whole tour by itself, then exit
    #[arg(long)]
    pub(crate) once: bool,
    /// Run this Tiltfile in place of the sample project; needs --no-cluster
    #[arg(short, long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Clone this repository and run its Tiltfile in place of the sample project, for example
    /// github.com/tilt-dev/tilt-avatars; needs --no-cluster
    #[arg(short, long, value_name = "REPO")]
    pub(crate) repo: Option<String>,
    /// Use the current Kubernetes context for --file and --repo. The sample project needs no cluster
    #[arg(long)]
    pub(crate) no_cluster: bool,
    /// Remove clusters left over from earlier demos and exit. lilt creates none
    #[arg(long)]
    pub(crate) teardown: bool,
    /// Accepted for Tilt's sake: without effect
    #[arg(long, hide = true)]
    legacy: bool,
    /// Accepted for Tilt's sake: without effect
    #[arg(long, hide = true, value_name = "PATH")]
    tmpdir: Option<PathBuf>,
}

/// Print the version of Tilt that lilt is compatible with, and lilt's own
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt version\n  lilt version --json | jq -r .lilt")]
pub(crate) struct Version {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DemoServer {
    #[arg(long)]
    pub(crate) port: u16,
    /// Folder with the files to serve
    #[arg(long)]
    pub(crate) folder: PathBuf,
}
