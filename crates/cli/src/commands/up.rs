//! `lilt up`.

use std::process::ExitCode;

use lilt_engine::Mode;

use crate::arguments::Up;
use crate::session::{self, Plan};

pub(crate) async fn run(up: Up) -> anyhow::Result<ExitCode> {
    // Streaming is the only way yet, with or without the flag.
    let _ = up.stream;
    let bound = session::bind(&up.web).await?;
    bound.announce("up", &up.project.file)?;
    let plan = Plan {
        project: up.project,
        mode: Mode::Up,
        forwards: !up.disable_port_forwards,
        environment: Vec::new(),
    };
    session::run(plan, bound, |_, _| std::future::pending()).await?;
    Ok(ExitCode::SUCCESS)
}
