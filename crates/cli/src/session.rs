//! A session with everything around it: web port, logs, store and terminal.

use std::path::PathBuf;

use lilt_daemon::{Ended, Settings};
use lilt_engine::Mode;
use lilt_host::session_dir::SessionDir;
use lilt_host::{environment, files};
use lilt_server::ServeOptions;
use lilt_store::{LogWriter, Reader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::arguments::{Project, Web, version};
use crate::signals::Signals;
use crate::{stream, terminal};

/// Requests that may wait for a turn of the loop; more clicks than that wait in their sockets.
const REQUESTS: usize = 64;

/// What to run.
pub(crate) struct Plan {
    pub(crate) project: Project,
    pub(crate) web: Web,
    pub(crate) mode: Mode,
    pub(crate) forwards: bool,
    /// Given to commands and to the Tiltfile.
    pub(crate) environment: Vec<(String, String)>,
}

/// A port that is held, so that its number can be told before anything runs. From here on Ctrl-C is heard.
pub(crate) struct Bound {
    listener: TcpListener,
    pub(crate) port: u16,
    cancel: CancellationToken,
    _signals: Signals,
}

pub(crate) async fn bind(web: &Web) -> anyhow::Result<Bound> {
    let listener = lilt_server::bind(&web.host, web.port).await?;
    let port = listener.local_addr()?.port();
    let cancel = CancellationToken::new();
    let signals = Signals::cancel(cancel.clone())?;
    Ok(Bound { listener, port, cancel, _signals: signals })
}

/// Runs a session to its end. `beside` runs along with it and may end it by cancelling.
pub(crate) async fn run<F: Future<Output = ()>>(
    plan: Plan,
    bound: Bound,
    beside: impl FnOnce(Reader, CancellationToken) -> F,
) -> anyhow::Result<Ended> {
    let cancel = bound.cancel;
    let folder = SessionDir::create()?;
    let logs_folder = folder.path().to_owned();
    let (logs, log_reader) = LogWriter::open(Some(logs_folder), lilt_host::clock::now);
    let (writer, reader) = lilt_store::open(log_reader.clone());
    let (requests, incoming) = mpsc::channel(REQUESTS);
    let outputs = CancellationToken::new();
    let options = ServeOptions { allowed_hosts: vec![plan.web.host.clone()], version: version().to_owned() };
    let server = lilt_server::serve(bound.listener, options, reader.clone(), requests, outputs.clone());
    let printer = stream::follow(log_reader, outputs.clone());
    let settings = settings(plan, bound.port, &folder)?;
    let session = async {
        let ended = lilt_daemon::run(settings, incoming, writer, logs, cancel.clone()).await;
        // Page and terminal see the end of it before they end.
        outputs.cancel();
        ended
    };
    let beside = async {
        tokio::select! {
            () = beside(reader, cancel.clone()) => {}
            () = outputs.cancelled() => {}
        }
    };
    let (ended, (), (), ()) = tokio::join!(session, server, printer, beside);
    Ok(ended?)
}

fn settings(plan: Plan, port: u16, folder: &SessionDir) -> anyhow::Result<Settings> {
    let tiltfile = absolute(plan.project.file)?;
    let programs = programs(folder)?;
    let mut environment = vec![
        ("TILT_HOST".to_owned(), plan.web.host.clone()),
        ("TILT_PORT".to_owned(), port.to_string()),
        ("TILT_DISABLE_ANALYTICS".to_owned(), "1".to_owned()),
    ];
    // Programs without a terminal must not guess wrong, nor hold their output back.
    let colour = if terminal::has_colours() { Some(("FORCE_COLOR", "1")) } else { None };
    let habits = [("LINES", "24"), ("COLUMNS", "80"), ("PYTHONUNBUFFERED", "1")].into_iter().chain(colour);
    let unset = habits.filter(|(name, _)| environment::variable(name).is_none());
    environment.extend(unset.map(|(name, value)| (name.to_owned(), value.to_owned())));
    if let Some(path) = path_with(&programs) {
        environment.push((environment::PATH.to_owned(), path));
    }
    environment.extend(plan.environment);
    Ok(Settings {
        tiltfile,
        args: plan.project.args,
        subcommand: match plan.mode {
            Mode::Up => "up",
            Mode::Ci => "ci",
        },
        mode: plan.mode,
        version: version().to_owned(),
        context: plan.project.context,
        namespace: plan.project.namespace,
        environment,
        programs,
        forwards: plan.forwards,
        forward_host: plan.web.host,
    })
}

/// A folder in which scripts that call `tilt` find lilt; none where there is a `tilt` already.
fn programs(folder: &SessionDir) -> anyhow::Result<Vec<PathBuf>> {
    if environment::find_program("tilt").is_some() {
        return Ok(Vec::new());
    }
    let programs = folder.path().join("bin");
    files::link(&std::env::current_exe()?, &programs.join("tilt"))?;
    Ok(vec![programs])
}

/// `PATH` with these folders behind it.
fn path_with(programs: &[PathBuf]) -> Option<String> {
    let path = environment::variable(environment::PATH).unwrap_or_default();
    let folders = programs.iter().map(|folder| folder.display().to_string());
    let all: Vec<String> = std::iter::once(path).chain(folders).filter(|part| !part.is_empty()).collect();
    (!programs.is_empty()).then(|| all.join(":"))
}

/// The settings of a command that runs no session.
pub(crate) fn settings_for_down(project: Project) -> anyhow::Result<Settings> {
    Ok(Settings {
        tiltfile: absolute(project.file)?,
        args: project.args,
        subcommand: "down",
        mode: Mode::Up,
        version: version().to_owned(),
        context: project.context,
        namespace: project.namespace,
        environment: Vec::new(),
        programs: Vec::new(),
        forwards: false,
        forward_host: String::new(),
    })
}

pub(crate) fn absolute(path: PathBuf) -> anyhow::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    // Only the folder: a Tiltfile that is a link keeps its own name and place.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    Ok(match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    })
}

/// The first lines on the terminal.
pub(crate) fn greet(web: &Web, port: u16) {
    terminal::line(&format!("Tilt started on http://{}:{port}/", web.host));
    let compatible = lilt_model::COMPATIBLE_TILT_VERSION;
    terminal::line(&format!("lilt v{}, compatible with Tilt v{compatible}", version()));
}
