//! `lilt demo`: a small project, carried in the binary, brought up with neither cluster nor Docker.

mod custom;
mod project;
pub(crate) mod server;
mod tour;

use std::process::ExitCode;

use lilt_daemon::Transport;
use lilt_engine::Mode;
use lilt_host::terminal;
use lilt_tui::TerminalMode;
use lilt_tui::stream::StreamOptions;

use crate::arguments::{Demo, Project, SessionOptions};
use crate::session::{self, Plan};
use project::Unpacked;

pub(crate) async fn run(demo: Demo) -> anyhow::Result<ExitCode> {
    if demo.teardown {
        terminal::line("Nothing to remove: lilt demo creates no cluster.");
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(code) = custom::run(&demo).await? {
        return Ok(code);
    }
    // Without a terminal the user could neither press Ctrl-C nor edit a file.
    let once = demo.once || !terminal::is_terminal();
    let bound = session::bind(&demo.web).await?;
    let unpacked = Unpacked::create().await?;
    let tiltfile = unpacked.folder().join("Tiltfile");
    bound.announce("demo", &tiltfile)?;
    introduce(&unpacked, bound.link()?.as_deref(), once);
    let plan = Plan {
        command: "demo",
        project: Project { file: tiltfile, context: None, namespace: None, args: Vec::new() },
        mode: Mode::Up,
        forwards: false,
        live_update: Some(Transport::Any),
        snapshot: None,
        terminal_mode: TerminalMode::Stream,
        lines: StreamOptions::default(),
        ci_timeout: None,
        environment: Vec::new(),
        session: SessionOptions::default(),
    };
    let mut result = Ok(());
    session::run(plan, bound, |reader, cancel| {
        let (result, unpacked) = (&mut result, &unpacked);
        async move {
            if !once {
                return std::future::pending().await;
            }
            *result = tour::run(&reader, unpacked).await;
            cancel.cancel();
        }
    })
    .await?;
    result?;
    if once {
        terminal::line("The tour is over; everything it started has ended.");
    }
    Ok(ExitCode::SUCCESS)
}

fn introduce(unpacked: &Unpacked, dashboard: Option<&str>, once: bool) {
    let folder = unpacked.folder();
    let folder = folder.display();
    let page = dashboard.map(|page| format!(", the dashboard on {page}")).unwrap_or_default();
    terminal::line(&format!("\nThe demo project is in {folder}{page}"));
    if once {
        terminal::line(
            "This is the tour: everything comes up, a file is edited, what depends on it follows.\n",
        );
        return;
    }
    let watch = dashboard.map_or("watch the lines here".to_owned(), |page| format!("open {page}"));
    terminal::line(&format!(
        "Try this:\n  \
         1. {watch}\n  \
         2. mend the failing check: put teal into {folder}/src/theme.txt and save\n  \
         3. change {folder}/src/greeting.txt and look at the site again: http://localhost:{}/\n  \
         4. press the button of reset-visits\n  \
         5. break {folder}/Tiltfile, see what is said, mend it\n  \
         Ctrl-C ends everything and removes the folder.\n",
        unpacked.frontend_port
    ));
}
