//! `lilt demo --file` and `--repo`: another project in place of the sample.

use std::path::PathBuf;
use std::process::ExitCode;

use lilt_daemon::Transport;
use lilt_engine::Mode;
use lilt_host::process;
use lilt_host::session_dir::SessionDir;
use lilt_model::Failure;

use crate::arguments::{Demo, Project};
use crate::face::Face;
use crate::session::{self, Plan};
use crate::stream::StreamOptions;
use crate::terminal;

/// Which project to run.
enum Choice {
    File(PathBuf),
    /// As `go get` writes it, or any address that git takes.
    Repository(String),
}

fn choice(demo: &Demo) -> Result<Option<Choice>, Failure> {
    let choice = match (&demo.file, &demo.repo) {
        (Some(_), Some(_)) => {
            return Err(Failure::user("cannot specify both a custom repo and Tiltfile path"));
        }
        (Some(file), None) => Choice::File(file.clone()),
        (None, Some(repository)) => Choice::Repository(repository.clone()),
        (None, None) => return Ok(None),
    };
    if !demo.no_cluster {
        // Tilt would create a cluster for it: whichever context is current was not meant.
        return Err(Failure::user("lilt demo does not create a cluster for another project")
            .hint("add --no-cluster to run it with the current Kubernetes context"));
    }
    Ok(Some(choice))
}

/// Runs another project if the command line names one.
pub(super) async fn run(demo: &Demo) -> anyhow::Result<Option<ExitCode>> {
    let Some(choice) = choice(demo)? else { return Ok(None) };
    // A clone lives as long as this.
    let folder = SessionDir::create()?;
    let file = match choice {
        Choice::File(file) => file,
        Choice::Repository(repository) => clone(&repository, folder.path().join("repo")).await?,
    };
    let bound = session::bind(&demo.web).await?;
    bound.announce("demo", &file)?;
    let plan = Plan {
        project: Project { file, context: None, namespace: None, args: Vec::new() },
        mode: Mode::Up,
        forwards: true,
        live_update: Some(Transport::Any),
        snapshot: None,
        face: Face::of(false, false),
        lines: StreamOptions::default(),
        ci_timeout: None,
        environment: Vec::new(),
    };
    session::run(plan, bound, |_, _| std::future::pending()).await?;
    Ok(Some(ExitCode::SUCCESS))
}

/// Returns the path of its Tiltfile.
async fn clone(repository: &str, folder: PathBuf) -> Result<PathBuf, Failure> {
    let address = address(repository);
    terminal::line(&format!("Cloning {address}"));
    let target = folder.display().to_string();
    let argv = ["git", "clone", "--quiet", "--depth=1", "--", &address, &target].map(str::to_owned);
    let cloned = tokio::task::spawn_blocking(move || process::in_terminal(&argv, &[])).await;
    let exit = cloned.map_err(|error| Failure::internal(error.to_string()))??;
    if !exit.success() {
        return Err(Failure::environment(format!("cannot clone {address}: git ended with {exit}")));
    }
    Ok(folder.join("Tiltfile"))
}

/// `github.com/owner/name` is an address without scheme; folders and addresses with one are git's own.
fn address(repository: &str) -> String {
    let is_local = repository.starts_with(['/', '.']);
    if is_local || repository.contains("://") || repository.contains('@') {
        repository.to_owned()
    } else {
        format!("https://{repository}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_without_scheme_is_fetched_by_https() {
        assert_eq!(address("github.com/tilt-dev/tilt-avatars"), "https://github.com/tilt-dev/tilt-avatars");
        for kept in ["https://example.com/x", "git@example.com:x", "/srv/x", "./x", "file:///srv/x"] {
            assert_eq!(address(kept), kept);
        }
    }
}
