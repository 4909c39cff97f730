//! `lilt args`: the Tiltfile's arguments of a running session.

use std::process::ExitCode;

use clap::Args as ClapArgs;
use lilt_api::{UIResource, annotation};
use lilt_client::Client;
use lilt_client::{Connect, sessions};
use lilt_host::editor;
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use lilt_host::{environment, files};
use lilt_model::request::Request;
use lilt_model::{Failure, ResourceName};

/// Show or change the Tiltfile arguments of a running session
///
/// Without arguments they are opened in the editor that TILT_EDITOR or EDITOR names; where there is no terminal they
/// are printed.
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  lilt args                              edit the arguments that are in use
  lilt args web api -- --env=test        use these from now on
  lilt args --clear                      use none, as if `lilt up` had been given none
  lilt args --json                       print them")]
pub(crate) struct Args {
    /// The new arguments; those that begin with a dash stand after --
    #[arg(value_name = "TILTFILE ARGS")]
    args: Vec<String>,
    /// Use no arguments from now on
    #[arg(long)]
    clear: bool,
    /// Print the arguments that are in use as JSON
    #[arg(long, conflicts_with_all = ["clear", "args"])]
    json: bool,
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.clear && !args.args.is_empty() {
        return Err(Failure::user("--clear cannot be specified with other values").into());
    }
    let client = sessions::choose(&args.connect)?;
    let current = current(&client).await?;
    let wanted = if args.json {
        terminal::line(&serde_json::to_string(&current)?);
        return Ok(ExitCode::SUCCESS);
    } else if args.clear || !args.args.is_empty() {
        args.args
    } else if terminal::is_interactive() {
        edit(&current).await?
    } else {
        terminal::line(&quoted(&current)?);
        return Ok(ExitCode::SUCCESS);
    };
    if wanted == current {
        terminal::aside("Tilt is already running with those args -- no action taken");
        return Ok(ExitCode::SUCCESS);
    }
    let words =
        format!("Changed config args for Tilt running at {} to [{}]", client.authority(), wanted.join(" "));
    client.post_json("/api/request", &Request::SetArgs { args: wanted }).await?;
    terminal::aside(&words);
    Ok(ExitCode::SUCCESS)
}

async fn current(client: &Client) -> Result<Vec<String>, Failure> {
    let resources: Vec<UIResource> = client.get_json("/api/resources").await?;
    let is_tiltfile = |it: &&UIResource| ResourceName::new(&it.metadata.name).is_tiltfile();
    let tiltfile = resources.iter().find(is_tiltfile);
    let args = tiltfile.and_then(|tiltfile| tiltfile.metadata.annotations.get(annotation::ARGS));
    args.map_or(Ok(Vec::new()), |text| {
        serde_json::from_str(text)
            .map_err(|error| Failure::internal(format!("{}: {error}", annotation::ARGS)))
    })
}

fn quoted(args: &[String]) -> Result<String, Failure> {
    shlex::try_join(args.iter().map(String::as_str))
        .map_err(|error| Failure::user(format!("the arguments cannot be written in one line: {error}")))
}

/// Opens the arguments in the editor.
async fn edit(current: &[String]) -> anyhow::Result<Vec<String>> {
    let folder = SessionDir::create()?;
    let path = folder.path().join("args");
    files::save_private(
        &path,
        format!("# edit args for the running Tilt here\n{}\n", quoted(current)?).as_bytes(),
    )?;
    let opened = path.clone();
    tokio::task::spawn_blocking(move || {
        editor::open(&opened, &[environment::TILT_EDITOR, environment::EDITOR])
    })
    .await??;
    let text = files::read(&path).unwrap_or_default();
    Ok(edited(&String::from_utf8_lossy(&text))?)
}

/// Parses the edited file.
fn edited(text: &str) -> Result<Vec<String>, Failure> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    match lines.collect::<Vec<_>>().as_slice() {
        [] => Err(Failure::user("must have exactly one non-comment line, found zero")
            .hint("`lilt args --clear` uses no arguments")),
        [line] => {
            shlex::split(line).ok_or_else(|| Failure::user(format!("a quote is not closed in {line:?}")))
        }
        _ => Err(Failure::user("cannot have multiple non-comment lines")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_line_is_split_like_in_a_shell() {
        assert_eq!(
            edited("# comment\n\n web 'a b' --x=1 \n"),
            Ok(["web", "a b", "--x=1"].map(str::to_owned).to_vec())
        );
        assert!(edited("# nothing\n").is_err());
        assert!(edited("one\ntwo\n").is_err());
        assert!(edited("'open\n").is_err());
    }
}
