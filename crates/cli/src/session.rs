//! Composes a session: web port, object API, log, store, terminal and the daemon's loop.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use lilt_client::sessions::{self, SessionRecord};
use lilt_client::sign_in::{self, CurrentKeys};
use lilt_client::{Client, DEFAULT_HOST, DEFAULT_PORT};
use lilt_daemon::{CommandEnvironment, PluginOutput, SessionOutcome, Settings, Transport};
use lilt_engine::Mode;
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use lilt_host::{environment, files, limits};
use lilt_model::auth::CodeLifetime;
use lilt_model::localhost::is_localhost;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, SpanId};
use lilt_server::{ApiOptions, Auth, AuthOwner, ProxiedApi, Warn};
use lilt_server::{BindError, Listener, ServeOptions};
use lilt_store::{LogWriter, Reader};
use lilt_tui::stream::StreamOptions;
use lilt_tui::{SessionLink, TerminalMode};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::arguments::{self, BUILD, Port, Project, SessionOptions, WatchMode, Web, WebMode, version};
use crate::signals::Signals;
use crate::{api, hosts, session_menu, snapshot, token};

/// Requests that may wait for a turn of the loop; further ones wait in their sockets.
const REQUESTS: usize = 64;

/// What to run, from the arguments of a command.
pub(crate) struct Plan {
    /// The command that runs it, such as `up`.
    pub(crate) command: &'static str,
    pub(crate) project: Project,
    pub(crate) mode: Mode,
    pub(crate) forwards: bool,
    pub(crate) live_update: Option<Transport>,
    /// The file for the snapshot at the end.
    pub(crate) snapshot: Option<PathBuf>,
    pub(crate) terminal_mode: TerminalMode,
    /// Which log lines to print.
    pub(crate) lines: StreamOptions,
    /// The timeout of `ci` if the Tiltfile has none.
    pub(crate) ci_timeout: Option<std::time::Duration>,
    /// Variables for commands and the Tiltfile.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) session: SessionOptions,
}

/// An open port with token, folder and signal handlers; nothing runs yet.
pub(crate) struct Bound {
    /// None: the session has no dashboard.
    listener: Option<Listener>,
    pub(crate) host: String,
    /// 0 without dashboard, as in Tilt. It is part of the name of the session's API context.
    pub(crate) port: u16,
    /// Owns the token of the port.
    owner: Option<AuthOwner>,
    /// Host names of proxies and tunnels in front of the port.
    further_hosts: Vec<String>,
    folder: SessionDir,
    cancel: CancellationToken,
    _signals: Signals,
}

impl Bound {
    fn auth(&self) -> Option<Auth> {
        self.owner.as_ref().map(AuthOwner::auth)
    }

    /// Returns the address of the page with a one-time code; none without dashboard.
    pub(crate) fn link(&self) -> Result<Option<String>, Failure> {
        if self.listener.is_none() {
            return Ok(None);
        }
        let keys = self.auth().map(|auth| auth.keys());
        let address = Client::new(&self.host, self.port).address();
        sign_in::link(&address, keys.as_deref(), CodeLifetime::UntilSessionEnds).map(Some)
    }

    /// Publishes the session's record for other commands, and prints the first lines.
    pub(crate) fn announce(&self, command: &str, tiltfile: &Path) -> anyhow::Result<()> {
        let running = SessionRecord {
            pid: std::process::id(),
            command: command.to_owned(),
            host: self.host.clone(),
            port: self.port,
            tiltfile: arguments::absolute(tiltfile.to_owned())?,
            started: lilt_host::clock::now(),
            version: version().to_owned(),
            token: self.auth().map(|auth| auth.keys().token().to_string()),
            addresses: self.listener.as_ref().map(|it| it.addresses().to_vec()).unwrap_or_default(),
        };
        running.publish(&self.folder)?;
        let status = self.link()?.map_or("(without browser UI)".to_owned(), |link| format!("on {link}"));
        terminal::line(&format!("Tilt started {status}"));
        let has_dashboard = self.listener.is_some();
        if let Some(words) = exposure_warning(&self.host, self.owner.is_some()).filter(|_| has_dashboard) {
            terminal::line(&words);
        }
        let compatible = lilt_model::COMPATIBLE_TILT_VERSION;
        terminal::line(&format!("lilt v{}, compatible with Tilt v{compatible}", version()));
        Ok(())
    }
}

/// An open port that is not served yet. Ctrl-C still ends the process at once.
pub(crate) struct OpenPort {
    /// None: the session has no dashboard.
    listener: Option<Listener>,
    host: String,
    further_hosts: Vec<String>,
    keeps_token: bool,
}

impl OpenPort {
    /// Creates the session's token and folder, and installs signal handlers.
    pub(crate) fn start(self) -> anyhow::Result<Bound> {
        let OpenPort { listener, host, further_hosts, keeps_token } = self;
        let port = listener.as_ref().map_or(0, Listener::port);
        let cancel = CancellationToken::new();
        let signals = Signals::cancel(cancel.clone())?;
        let folder = SessionDir::create()?;
        let owner = match &listener {
            Some(_) => token::of_session(port, keeps_token, folder.path())?,
            None => None,
        };
        Ok(Bound { listener, host, port, owner, further_hosts, folder, cancel, _signals: signals })
    }
}

pub(crate) async fn open_port(web: &Web) -> Result<OpenPort, Failure> {
    for warning in environment::warnings_of_removed() {
        terminal::aside(&warning);
    }
    let further_hosts = hosts::further(&web.allowed_host)?;
    let (listener, host, chosen) = open(web).await?;
    Ok(OpenPort { listener, host, further_hosts, keeps_token: web.keep_token && chosen })
}

pub(crate) async fn bind(web: &Web) -> anyhow::Result<Bound> {
    open_port(web).await?.start()
}

/// Returns the warning about a host that other machines can reach.
fn exposure_warning(host: &str, asks: bool) -> Option<String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let loopback =
        bare.parse::<std::net::IpAddr>().map_or(is_localhost(bare), |address| address.is_loopback());
    let who = if asks { "who has the link above" } else { "everybody there" };
    (!loopback).then(|| {
        format!(
            "--host {host}: the page can be reached from other machines, unencrypted, and {who} can run commands as you"
        )
    })
}

/// Opens the requested port, the next free one, or none. The last value is whether the number was chosen, not random.
async fn open(web: &Web) -> Result<(Option<Listener>, String, bool), Failure> {
    if web.web_mode == WebMode::Local {
        let message = "--web-mode=local: lilt carries its page and starts no server for it";
        let hint = format!(
            "in lilt's folder web/, `TILT_PORT=10350 npx vite --port {}` serves a page that you work on",
            web.webdev_port
        );
        return Err(Failure::user(message).hint(hint));
    }
    let host = web.host.clone().or_else(|| environment::variable(environment::TILT_HOST));
    let host = host.unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let port = match &web.port {
        Some(port) => *port,
        None => match environment::variable(environment::TILT_PORT) {
            Some(text) => {
                text.parse().map_err(|error| Failure::user(format!("invalid TILT_PORT {text:?}: {error}")))?
            }
            None => Port::Number(DEFAULT_PORT),
        },
    };
    let number = match port {
        Port::Number(number) => number,
        Port::Auto => DEFAULT_PORT,
        Port::Random => 0,
        Port::Disabled => return Ok((None, host, false)),
    };
    for number in number..=u16::MAX {
        match lilt_server::bind(&host, number).await {
            Ok(listener) => return Ok((Some(listener), host, number != 0)),
            Err(BindError::InUse(_)) if port == Port::Auto => {}
            Err(BindError::InUse(address)) => return Err(port_in_use(address)),
            Err(BindError::Failed(failure)) => return Err(failure),
        }
    }
    Err(Failure::environment("no port is free"))
}

/// Returns the error that names the process on the port, if it is known.
fn port_in_use(address: SocketAddr) -> Failure {
    let port = address.port();
    let failure = Failure::from(BindError::InUse(address));
    if let Some(running) = sessions::running().into_iter().find(|running| running.port == port) {
        return failure.detail(format!("It is {}", running.describe()));
    }
    match lilt_host::ports::holder(port) {
        Some(holder) => {
            let folder = holder.folder.map(|folder| format!(" in {}", folder.display())).unwrap_or_default();
            failure.detail(format!("It is {}, process {}{folder}", holder.program, holder.pid))
        }
        None => failure,
    }
}

/// Runs a session to its end. `beside` runs concurrently and may cancel it.
pub(crate) async fn run<F: Future<Output = ()>>(
    mut plan: Plan,
    bound: Bound,
    beside: impl FnOnce(Reader, CancellationToken) -> F,
) -> anyhow::Result<SessionOutcome> {
    let auth = bound.auth();
    let cancel = bound.cancel;
    let command = format!("lilt {}", plan.command);
    let limit = plan.session.log_limit;
    // With a limit of 0 nothing is written to disk.
    let logs_folder = (limit > 0).then(|| bound.folder.path().to_owned());
    let (logs, log_reader) = LogWriter::open_limited(logs_folder, limit, lilt_host::clock::now);
    let (writer, queries, reader) = lilt_store::open(log_reader);
    let (requests, incoming) = mpsc::channel(REQUESTS);
    let (writes, incoming_writes) = mpsc::channel(REQUESTS);
    let mut announced = api::announce(bound.port).await?;
    let outputs = CancellationToken::new();
    let options = ServeOptions {
        allowed_hosts: vec![bound.host.clone()],
        further_hosts: bound.further_hosts,
        command,
        open_files: Some(limits::open_files),
        version: version().to_owned(),
        api: Some(ProxiedApi { writes: writes.clone(), clock: lilt_host::clock::now }),
        auth: bound.owner.map(|owner| owner.with_warnings(warnings(&logs))),
        sessions: Some(session_menu::entries),
        snapshot: None,
    };
    let link = SessionLink {
        lines: plan.lines.clone(),
        reader: reader.clone(),
        requests: requests.clone(),
        address: bound.listener.as_ref().map(|_| Client::new(&bound.host, bound.port).address()),
        keys: auth.map(|auth| CurrentKeys::new(move || auth.keys())),
        cancel: cancel.clone(),
        over: outputs.clone(),
    };
    let server = {
        let (listener, reader, outputs) = (bound.listener, reader.clone(), outputs.clone());
        async move {
            match listener {
                Some(listener) => lilt_server::serve(listener, options, reader, requests, outputs).await,
                None => outputs.cancelled().await,
            }
        }
    };
    let api_options = ApiOptions {
        credentials: announced.credentials.clone(),
        clock: lilt_host::clock::now,
        open_files: Some(limits::open_files),
        version: version().to_owned(),
    };
    let api_listener = announced.listener.take();
    let api_server = {
        let (reader, outputs) = (reader.clone(), outputs.clone());
        async move {
            match api_listener {
                Some(listener) => {
                    lilt_server::serve_api(listener, api_options, reader, writes, outputs).await
                }
                None => Ok(()),
            }
        }
    };
    let store = lilt_daemon::Store { writer, reader: reader.clone(), writes: incoming_writes, queries };
    let shown = lilt_tui::show(plan.terminal_mode, link);
    let snapshot = plan.snapshot.take().map(|path| (path, reader.clone()));
    tracing::info!(port = bound.port, folder = %bound.folder.path().display(), "the session begins");
    let settings = settings(plan, &bound.host, bound.port, &bound.folder)?;
    let session = async {
        let ended = lilt_daemon::run(settings, incoming, store, logs, cancel.clone()).await;
        // Page and terminal show the end of the session before they close.
        outputs.cancel();
        ended
    };
    let beside = async {
        tokio::select! {
            () = beside(reader, cancel.clone()) => {}
            () = outputs.cancelled() => {}
        }
    };
    let (ended, (), shown, (), served) = tokio::join!(session, server, shown, beside, api_server);
    served?;
    if let Some((path, reader)) = snapshot
        && let Err(failure) = snapshot::write(reader, &path).await
    {
        // A failed snapshot does not change the result of the session.
        terminal::aside(&failure.to_string());
    }
    shown?;
    Ok(ended?)
}

/// Returns a function that logs warnings about access.
fn warnings(logs: &LogWriter) -> Warn {
    let logs = logs.clone();
    Box::new(move |text| {
        logs.span(SpanId::new("access"), None, Source::Runtime).print(Level::Warn, text);
    })
}

fn settings(plan: Plan, host: &str, port: u16, folder: &SessionDir) -> anyhow::Result<Settings> {
    let project = plan.project.absolute()?;
    let environment = CommandEnvironment::prepare(folder, &project, host, port)?;
    let subcommand = match plan.mode {
        Mode::Up => "up",
        Mode::Ci => "ci",
    };
    let mut settings = Settings::new(subcommand, project, BUILD, environment);
    settings.environment.extend(plan.environment);
    Ok(Settings {
        mode: plan.mode,
        forwards: plan.forwards,
        live_update: plan.live_update,
        // Other programs may not resolve names below localhost.
        forward_host: if is_localhost(host) { DEFAULT_HOST } else { host }.to_owned(),
        ci_timeout: plan.ci_timeout,
        output: files::own_output(),
        watch_mode: match plan.session.watch_mode {
            WatchMode::Auto => lilt_host::watch::WatchMode::Auto,
            WatchMode::Poll => lilt_host::watch::WatchMode::Poll,
            WatchMode::Events => lilt_host::watch::WatchMode::Events,
        },
        record: plan.session.record,
        node_commands: lilt_daemon::node_commands_from_environment(),
        plugin_output: match plan.terminal_mode {
            TerminalMode::Stream | TerminalMode::None => PluginOutput::default().with_terminal(),
            // Prompts of plugins would conflict with the keys.
            TerminalMode::Prompt | TerminalMode::Ui => PluginOutput::default(),
        },
        ..settings
    })
}

/// Prepares the environment of a Tiltfile's commands without a session. They use the running session, if there is one.
pub(crate) fn environment_without_session(
    project: &lilt_daemon::Project,
    folder: &SessionDir,
) -> Result<CommandEnvironment, Failure> {
    let host = environment::variable(environment::TILT_HOST).unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let port = environment::variable(environment::TILT_PORT).and_then(|port| port.parse().ok());
    CommandEnvironment::prepare(folder, project, &host, port.unwrap_or(DEFAULT_PORT))
}

/// Returns the settings of a command that runs no session. The folder contains files for the commands of the Tiltfile.
pub(crate) fn settings_without_session(
    subcommand: &'static str,
    project: Project,
    folder: &SessionDir,
) -> anyhow::Result<Settings> {
    let project = project.absolute()?;
    let environment = environment_without_session(&project, folder)?;
    let settings = Settings::new(subcommand, project, BUILD, environment);
    Ok(Settings { plugin_output: plugin_output(), ..settings })
}

/// Prints messages of exec plugins, such as a device code, at once. Plugins may read from the terminal: this is for
/// commands that do not.
pub(crate) fn plugin_output() -> PluginOutput {
    PluginOutput::new(terminal::aside).with_terminal()
}

/// Prints a warning about the sessions of [`sessions::describe_deploying`].
pub(crate) fn warn_about_sessions(running: &[String]) {
    if !running.is_empty() {
        terminal::aside(&format!("warning: this Tiltfile is already running: {}", running.join("; ")));
    }
}
