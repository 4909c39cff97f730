//! `lilt alpha updog`: a session with API objects but no Tiltfile.

use std::process::ExitCode;

use clap::Args;
use lilt_client::Connect;
use lilt_client::object_api::ApiPath;
use lilt_daemon::Transport;
use lilt_engine::Mode;
use lilt_host::files;
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use lilt_kubectl::Problem;
use lilt_kubectl::documents::{self, Document};
use lilt_tui::TerminalMode;
use lilt_tui::stream::PrintedLines;
use tokio_util::sync::CancellationToken;

use crate::arguments::{Project, SessionOptions, Web};
use crate::session::{self, Plan};

/// Run a session that has no Tiltfile, with the objects of files, until Ctrl-C
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt alpha updog -f objects.yaml")]
pub(crate) struct Updog {
    /// A file or folder with objects as YAML or JSON; - for what comes in
    #[arg(short, long, value_name = "FILE", value_delimiter = ',')]
    filename: Vec<String>,
    #[command(flatten)]
    web: Web,
    #[command(flatten)]
    lines: PrintedLines,
}

pub(crate) async fn run(updog: Updog) -> anyhow::Result<ExitCode> {
    let documents = match read(&updog.filename) {
        Ok(documents) => documents,
        Err(problem) => return Ok(print_problem(&problem)),
    };
    let folder = SessionDir::create()?;
    let tiltfile = folder.path().join("Tiltfile");
    files::save(&tiltfile, b"")?;
    let bound = session::bind(&updog.web).await?;
    bound.announce("updog", &tiltfile)?;
    let connect = Connect { port: Some(bound.port), host: None };
    let plan = Plan {
        command: "alpha updog",
        project: Project { file: tiltfile, context: None, namespace: None, args: Vec::new() },
        mode: Mode::Up,
        forwards: true,
        live_update: Some(Transport::Any),
        snapshot: None,
        terminal_mode: TerminalMode::Stream,
        lines: updog.lines.options(),
        ci_timeout: None,
        environment: Vec::new(),
        session: SessionOptions::default(),
    };
    let mut refused = None;
    session::run(plan, bound, |_, cancel| load(connect, documents, cancel, &mut refused)).await?;
    Ok(refused.map_or(ExitCode::SUCCESS, |problem| print_problem(&problem)))
}

fn print_problem(problem: &Problem) -> ExitCode {
    terminal::aside(&problem.to_string());
    ExitCode::FAILURE
}

fn read(names: &[String]) -> Result<Vec<Document>, Problem> {
    if names.is_empty() {
        return Err(Problem::message("Expected source files with -f"));
    }
    documents::read(names, false)
}

/// Creates all objects; ends the session if one is refused.
async fn load(
    connect: Connect,
    documents: Vec<Document>,
    cancel: CancellationToken,
    refused: &mut Option<Problem>,
) {
    if let Err(problem) = make(&connect, &documents).await {
        *refused = Some(problem);
        cancel.cancel();
        return;
    }
    std::future::pending::<()>().await;
}

async fn make(connect: &Connect, documents: &[Document]) -> Result<(), Problem> {
    let mut api = lilt_kubectl::connect(connect)?;
    for document in documents {
        let doing = format!("error when creating {:?}", document.source);
        let created = api.create(&ApiPath::all(document.kind), &document.object).await;
        created.map_err(|error| Problem::from(error).when(&doing))?;
        terminal::line(&format!("loaded {}/{}", document.kind.singular(), document.name()));
    }
    Ok(())
}
