//! The tour: does what a person would do with the demo, and checks each step.

use std::time::Duration;

use anyhow::{Context as _, bail};
use lilt_api::{RuntimeStatus, UIResource, UpdateStatus};
use lilt_host::terminal;
use lilt_store::Reader;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::project::Unpacked;

/// A step that takes longer has failed.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn run(reader: &Reader, project: &Unpacked) -> anyhow::Result<()> {
    wait(reader, "build", |it| it.status.update_status == UpdateStatus::Ok).await?;
    for server in ["frontend", "api"] {
        wait(reader, server, |it| it.status.runtime_status == RuntimeStatus::Ok).await?;
    }
    wait(reader, "test", |it| it.status.update_status == UpdateStatus::Ok).await?;
    wait(reader, "lint", |it| it.status.update_status == UpdateStatus::Error).await?;
    served(project, "Hello from lilt").await?;
    say("everything is up; \"lint\" fails, as it should, until src/theme.txt is mended");

    say("editing src/theme.txt");
    project.write("src/theme.txt", "# The look of the site.\ncolour = teal\n")?;
    wait(reader, "lint", |it| it.status.update_status == UpdateStatus::Ok).await?;
    say("\"lint\" is content");

    say("editing src/greeting.txt");
    project.write("src/greeting.txt", "Hello again from lilt\n")?;
    served(project, "Hello again from lilt").await?;
    say("the site shows the new greeting");
    Ok(())
}

fn say(words: &str) {
    terminal::line(&format!("\n── tour: {words}\n"));
}

async fn wait(reader: &Reader, name: &str, until: impl Fn(&UIResource) -> bool) -> anyhow::Result<()> {
    let reached = async {
        let mut revision = reader.revision();
        while !reader.resource(name).is_some_and(|resource| until(&resource)) {
            revision = reader.changed(revision).await;
        }
    };
    let waited = tokio::time::timeout(STEP_TIMEOUT, reached).await;
    waited.with_context(|| format!("the demo's resource {name:?} did not get where it should"))
}

/// Waits until the site serves a text.
async fn served(project: &Unpacked, text: &str) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + STEP_TIMEOUT;
    loop {
        let page = fetch(project.frontend_port).await.unwrap_or_default();
        if page.contains(text) {
            return Ok(());
        }
        if tokio::time::Instant::now() > deadline {
            bail!("the demo's site does not show {text:?}, but: {page}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn fetch(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("localhost", port)).await?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    let mut page = String::new();
    stream.read_to_string(&mut page).await?;
    Ok(page)
}
