//! `lilt snapshot`: saves the state of a session in a file, and shows such files.

mod stored;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use lilt_client::Client;
use lilt_client::browser;
use lilt_client::sign_in;
use lilt_client::{Connect, DEFAULT_HOST, sessions};
use lilt_host::terminal;
use lilt_host::{environment, files, limits};
use lilt_model::Failure;
use lilt_model::auth::{BROWSER_LIFETIME, CodeLifetime};
use lilt_server::{Auth, AuthOwner, ProxiedApi, ServeOptions};
use lilt_store::{Refusal, WriteRequest};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::signals::Signals;
use crate::snapshot::unwritten;
use crate::{arguments, hosts, token};

#[derive(Debug, Subcommand)]
pub(crate) enum Snapshot {
    Create(Create),
    View(View),
}

/// Write all that a running session knows to a file, or to stdout
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt snapshot create snapshot.json       to a file
  lilt snapshot create | gzip > it.gz      to stdout
  lilt snapshot view snapshot.json         look at it")]
pub(crate) struct Create {
    /// The file; without it stdout
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    connect: Connect,
}

/// Show a snapshot on the page, as if its session still ran
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt ci --output-snapshot-on-exit=snapshot.json
  lilt snapshot view snapshot.json
  curl https://ci.example/snapshot.json | lilt snapshot view -")]
pub(crate) struct View {
    /// The file, of lilt or of Tilt; - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Do not open it in a browser
    #[arg(long)]
    no_open: bool,
    /// Host to listen on; else TILT_HOST, else localhost
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Port to listen on; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Name of a proxy or tunnel through which browsers reach the page, with a port if it is an unusual one; repeatable
    #[arg(long, value_name = "HOST")]
    allowed_host: Vec<String>,
}

pub(crate) async fn run(command: Snapshot) -> anyhow::Result<ExitCode> {
    match command {
        Snapshot::Create(create) => self::create(create).await,
        Snapshot::View(view) => self::view(view).await,
    }
}

async fn create(create: Create) -> anyhow::Result<ExitCode> {
    let mut answer = sessions::choose(&create.connect)?.get("/api/snapshot").await?;
    let mut file = match &create.file {
        Some(path) => Some(files::create_private(path).map_err(|error| unwritten(path, &error))?),
        None => None,
    };
    let mut put = |bytes: &[u8]| -> anyhow::Result<()> {
        match (&mut file, &create.file) {
            (Some(file), Some(path)) => Ok(file.write_all(bytes).map_err(|error| unwritten(path, &error))?),
            _ => Ok(terminal::write_raw(bytes)?),
        }
    };
    while let Some(piece) = answer.next_chunk().await? {
        put(&piece)?;
    }
    if let (Some(file), Some(path)) = (&mut file, &create.file) {
        file.flush().map_err(|error| unwritten(path, &error))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn view(view: View) -> anyhow::Result<ExitCode> {
    let text = read(&view.file)?;
    let stored = stored::open(&text).map_err(|failure| describe(failure, &view.file))?;
    let host = view.host.or_else(|| environment::variable(environment::TILT_HOST));
    let host = host.unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let further_hosts = hosts::further(&view.allowed_host)?;
    let cancel = CancellationToken::new();
    let _signals = Signals::cancel(cancel.clone())?;
    let listener = lilt_server::bind(&host, view.port).await.map_err(Failure::from)?;
    let port = listener.port();
    let owner = token::of_viewer()?;
    let auth = owner.as_ref().map(AuthOwner::auth);
    let address = Client::new(&host, port).address();
    let keys = auth.as_ref().map(Auth::keys);
    let link = sign_in::link(&address, keys.as_deref(), CodeLifetime::UntilSessionEnds)?;
    terminal::line(&format!("Serving snapshot at {link}\nCtrl-C ends it"));
    if !view.no_open {
        let link = sign_in::link(&address, keys.as_deref(), BROWSER_LIFETIME)?;
        if let Err(reason) = browser::open(&link).await {
            terminal::aside(&format!("{reason}; open the link above where you have one"));
        }
    }
    // Writers wait for the response.
    let (writes, incoming) = mpsc::channel(1);
    let api = ProxiedApi { writes, clock: lilt_host::clock::now };
    let options = ServeOptions {
        allowed_hosts: vec![host],
        further_hosts,
        command: "lilt snapshot view".to_owned(),
        open_files: Some(limits::open_files),
        version: arguments::version().to_owned(),
        auth: owner,
        api: Some(api),
        sessions: None,
        snapshot: Some(stored.made),
    };
    // Snapshots take no requests: without a receiver the server refuses all.
    let (requests, _) = mpsc::channel(1);
    tokio::select! {
        () = lilt_server::serve(listener, options, stored.reader.clone(), requests, cancel) => {}
        () = stored.answer() => {}
        () = refuse(incoming) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses all writes with an explanation. Never ends.
async fn refuse(mut writes: mpsc::Receiver<WriteRequest>) {
    while let Some(write) = writes.recv().await {
        // The client may have disconnected.
        let _ = write.reply.send(Err(Refusal::Forbidden("this is a snapshot".to_owned())));
    }
    std::future::pending::<()>().await;
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        return terminal::read_all()
            .map_err(|error| Failure::environment(format!("cannot read the snapshot from stdin: {error}")));
    }
    files::read(path).ok_or_else(|| {
        Failure::user(format!("cannot read the snapshot {}", path.display())).hint("does it exist?")
    })
}

fn describe(failure: Failure, path: &Path) -> Failure {
    let message = format!("{} is no snapshot: {}", path.display(), failure.message);
    Failure::user(message).hint("`lilt snapshot create` and --output-snapshot-on-exit write them")
}
