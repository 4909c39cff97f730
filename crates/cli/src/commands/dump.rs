//! `lilt dump`: prints internal state for debugging.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use lilt_client::{Connect, sessions};
use lilt_host::files;
use lilt_host::terminal;
use lilt_model::Failure;

use crate::reference;

#[derive(Debug, Subcommand)]
pub(crate) enum Dump {
    Webview(Webview),
    Engine(Engine),
    Logstore(LogStore),
    Openapi(OpenApi),
    CliDocs(CliDocs),
    ApiDocs(ApiDocs),
    ImageDeployRef(ImageDeployRef),
}

/// Print the state behind the page as JSON: session, resources and log
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt dump webview | jq '.uiResources[].metadata.name'")]
pub(crate) struct Webview {
    #[command(flatten)]
    connect: Connect,
}

/// Print the state of the engine as JSON. Its form may change with every version
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt dump engine > engine.json")]
pub(crate) struct Engine {
    #[command(flatten)]
    connect: Connect,
}

/// Print every line of log as JSON, with times and spans
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt dump logstore | jq -r '.segments[].text'")]
pub(crate) struct LogStore {
    #[command(flatten)]
    connect: Connect,
}

/// Print the OpenAPI document of the object API
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt dump openapi > swagger.json")]
pub(crate) struct OpenApi {}

/// Write a Markdown page for every command
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt dump cli-docs --dir docs/cli")]
pub(crate) struct CliDocs {
    /// The folder to write to
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

/// Write Python stub files with the builtins of Tiltfiles, for editors
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt dump api-docs --dir stubs")]
pub(crate) struct ApiDocs {
    /// The folder to write to; it must exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

/// Print the name and content tag under which an image of the Docker engine is deployed
///
/// For scripts of custom_build that have built the image $EXPECTED_REF.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt dump image-deploy-ref $EXPECTED_REF")]
pub(crate) struct ImageDeployRef {
    /// An image that the engine has
    #[arg(value_name = "REF")]
    reference: String,
}

/// Prints or writes what was asked for. `definition` has all commands, for their documentation.
pub(crate) async fn run(dump: Dump, definition: clap::Command) -> anyhow::Result<ExitCode> {
    match dump {
        Dump::Webview(webview) => print(&webview.connect, "/api/view").await,
        Dump::Engine(engine) => print(&engine.connect, "/api/dump/engine").await,
        Dump::Logstore(store) => print(&store.connect, "/api/dump/logstore").await,
        Dump::Openapi(OpenApi {}) => {
            let document = serde_json::to_string_pretty(&lilt_server::openapi())?;
            terminal::write(format!("{document}\n").as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Dump::CliDocs(docs) => {
            for (name, text) in reference::pages(definition) {
                write(&docs.dir.join(name), &text)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Dump::ApiDocs(docs) => write_stubs(&docs.dir),
        Dump::ImageDeployRef(image) => {
            let reference = lilt_daemon::deploy_reference(&image.reference).await?;
            // Without a newline, as scripts expect.
            terminal::write(reference.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Streams a response of the session to stdout.
async fn print(connect: &Connect, path: &str) -> anyhow::Result<ExitCode> {
    let mut answer = sessions::choose(connect)?.get(path).await?;
    while let Some(piece) = answer.next_chunk().await? {
        terminal::write(&piece)?;
    }
    terminal::write(b"\n")?;
    Ok(ExitCode::SUCCESS)
}

fn write_stubs(folder: &Path) -> anyhow::Result<ExitCode> {
    if !folder.is_dir() {
        let message = format!("{} does not exist or is not a folder", folder.display());
        return Err(Failure::user(message).into());
    }
    for (name, text) in lilt_tiltfile::reference::stubs() {
        let path = folder.join(name);
        write(&path, &text)?;
        terminal::line(&format!("wrote {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    files::save(path, text.as_bytes())
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}
