//! `lilt up`.

use std::process::ExitCode;

use lilt_daemon::{Extent, Transport};
use lilt_engine::Mode;

use crate::arguments::{Up, UpdateMode};
use crate::commands::{down, starter};
use crate::face::Face;
use crate::session::{self, Plan};
use crate::terminal;

pub(crate) async fn run(up: Up) -> anyhow::Result<ExitCode> {
    let live_update = transport(up.update_mode);
    if !starter::offer(&up.project.file)? {
        return Ok(ExitCode::SUCCESS);
    }
    let bound = session::bind(&up.web).await?;
    bound.announce("up", &up.project.file)?;
    let project = up.cleanup.then(|| up.project.clone());
    let plan = Plan {
        project: up.project,
        mode: Mode::Up,
        forwards: !up.disable_port_forwards,
        live_update,
        snapshot: up.output_snapshot_on_exit,
        face: Face::of(up.stream, up.legacy),
        lines: up.lines.options(),
        ci_timeout: None,
        environment: Vec::new(),
    };
    let ended = session::run(plan, bound, |_, _| std::future::pending()).await;
    // However it ended: what it deployed is there.
    if let Some(project) = project {
        terminal::line("Cleaning up: deleting what the Tiltfile names (Ctrl-C leaves the rest)");
        down::delete(project, Extent::default()).await?;
    }
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// How changed files are put into running containers, if they are.
fn transport(mode: UpdateMode) -> Option<Transport> {
    match mode {
        UpdateMode::Auto => Some(Transport::Any),
        UpdateMode::Exec => Some(Transport::Exec),
        UpdateMode::Container => Some(Transport::Docker),
        UpdateMode::Image => None,
    }
}
