//! `lilt up`.

use std::path::Path;
use std::process::ExitCode;

use lilt_client::sessions;
use lilt_daemon::{DownOptions, Transport};
use lilt_engine::Mode;
use lilt_host::terminal;
use lilt_tui::TerminalMode;

use crate::arguments::{self, Up, UpdateMode};
use crate::commands::{down, starter};
use crate::session::{self, Plan};

pub(crate) async fn run(up: Up) -> anyhow::Result<ExitCode> {
    let live_update = transport(up.update_mode);
    if !starter::offer(&up.project.file)? {
        return Ok(ExitCode::SUCCESS);
    }
    let port = session::open_port(&up.web).await?;
    if !confirm_second_session(&up.project.file)? {
        return Ok(ExitCode::SUCCESS);
    }
    let bound = port.start()?;
    bound.announce("up", &up.project.file)?;
    let project = up.cleanup.then(|| up.project.clone());
    let plan = Plan {
        command: "up",
        project: up.project,
        mode: Mode::Up,
        forwards: !up.disable_port_forwards,
        live_update,
        snapshot: up.output_snapshot_on_exit,
        terminal_mode: TerminalMode::of(up.stream, up.legacy),
        lines: up.lines.options(),
        ci_timeout: None,
        environment: Vec::new(),
        session: up.session,
    };
    let ended = session::run(plan, bound, |_, _| std::future::pending()).await;
    // Also after an error: deployed objects exist.
    if let Some(project) = project {
        terminal::line("Cleaning up: deleting what the Tiltfile names (Ctrl-C leaves the rest)");
        down::delete(project, DownOptions::default()).await?;
    }
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// Lists running sessions of the same Tiltfile, and asks whether to start another one. Scripts
/// only get a warning.
fn confirm_second_session(tiltfile: &Path) -> anyhow::Result<bool> {
    let running = sessions::describe_deploying(&arguments::absolute(tiltfile.to_owned())?);
    if running.is_empty() || !terminal::is_interactive() || !lilt_tui::is_foreground() {
        session::warn_about_sessions(&running);
        return Ok(true);
    }
    terminal::line(&format!("This Tiltfile is already running:\n  {}", running.join("\n  ")));
    terminal::print("Two sessions build and deploy the same resources. Start another one? [y/N] ");
    let answer = terminal::read_line().unwrap_or_else(|| {
        terminal::line("");
        String::new()
    });
    let is_confirmed = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    if !is_confirmed {
        terminal::line("Not started. `lilt open` opens the page of the running session.");
    }
    Ok(is_confirmed)
}

/// Returns the transport of live updates; none if they are disabled.
fn transport(mode: UpdateMode) -> Option<Transport> {
    match mode {
        UpdateMode::Auto => Some(Transport::Any),
        UpdateMode::Exec => Some(Transport::Exec),
        UpdateMode::Container => Some(Transport::Docker),
        UpdateMode::Image => None,
    }
}
