//! `lilt demo --file` and `--repo`: another project in place of the sample.

use std::path::PathBuf;
use std::process::ExitCode;

use lilt_daemon::Transport;
use lilt_engine::Mode;
use lilt_host::process;
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use lilt_model::Failure;
use lilt_tui::TerminalMode;
use lilt_tui::stream::StreamOptions;

use crate::arguments::{Demo, Project, SessionOptions};
use crate::session::{self, Plan};

/// The project to run.
enum Choice {
    File(PathBuf),
    /// A path as in `go get`, or any URL that git accepts.
    Repository(String),
}

/// Tilt's default for `--repo`. Scripts that pass it want the sample project.
const DEFAULT_REPOSITORY: &str = "https://github.com/tilt-dev/tilt-avatars";

fn choice(demo: &Demo) -> Result<Option<Choice>, Failure> {
    let repository = demo.repo.as_ref().filter(|repository| {
        let address = address(repository);
        address.trim_end_matches('/').trim_end_matches(".git") != DEFAULT_REPOSITORY
    });
    let choice = match (&demo.file, repository) {
        (Some(_), Some(_)) => {
            return Err(Failure::user("cannot specify both a custom repo and Tiltfile path"));
        }
        (Some(file), None) => Choice::File(file.clone()),
        (None, Some(repository)) => Choice::Repository(repository.clone()),
        (None, None) => return Ok(None),
    };
    if !demo.no_cluster {
        // Tilt would create a cluster for it, so the current context is not used unless asked for.
        return Err(Failure::user("lilt demo cannot create a cluster to run this project on").hint(
            "create one yourself, for example with `kind create cluster`, and add --no-cluster: the project then runs \
             with the current Kubernetes context (`kubectl config current-context`)",
        ));
    }
    Ok(Some(choice))
}

/// Runs another project if the command line names one.
pub(super) async fn run(demo: &Demo) -> anyhow::Result<Option<ExitCode>> {
    let Some(choice) = choice(demo)? else { return Ok(None) };
    // Keeps the clone until the end.
    let folder = SessionDir::create()?;
    let file = match choice {
        Choice::File(file) => file,
        Choice::Repository(repository) => clone(&repository, folder.path().join("repo")).await?,
    };
    let bound = session::bind(&demo.web).await?;
    bound.announce("demo", &file)?;
    let plan = Plan {
        command: "demo",
        project: Project { file, context: None, namespace: None, args: Vec::new() },
        mode: Mode::Up,
        forwards: true,
        live_update: Some(Transport::Any),
        snapshot: None,
        terminal_mode: TerminalMode::of(false, false),
        lines: StreamOptions::default(),
        ci_timeout: None,
        environment: Vec::new(),
        session: SessionOptions::default(),
    };
    session::run(plan, bound, |_, _| std::future::pending()).await?;
    Ok(Some(ExitCode::SUCCESS))
}

/// Clones a repository and returns the path of its Tiltfile.
async fn clone(repository: &str, folder: PathBuf) -> Result<PathBuf, Failure> {
    let address = address(repository);
    terminal::line(&format!("Cloning {address}"));
    let target = folder.display().to_string();
    let argv = ["git", "clone", "--quiet", "--depth=1", "--", &address, &target].map(str::to_owned);
    let cloned = tokio::task::spawn_blocking(move || process::run_in_terminal(&argv, &[])).await;
    let exit = cloned.map_err(|error| Failure::internal(error.to_string()))??;
    if !exit.success() {
        return Err(Failure::environment(format!("cannot clone {address}: git ended with {exit}")));
    }
    Ok(folder.join("Tiltfile"))
}

/// Adds `https://` to addresses such as `github.com/owner/name`; folders and URLs are passed to git unchanged.
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

    fn demo(arguments: &[&str]) -> Demo {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            demo: Demo,
        }
        let words = ["demo"].iter().chain(arguments);
        <Line as clap::Parser>::try_parse_from(words).unwrap().demo
    }

    #[test]
    fn default_repository_of_tilt_means_the_sample_project() {
        for repository in
            [DEFAULT_REPOSITORY, "github.com/tilt-dev/tilt-avatars", "github.com/tilt-dev/tilt-avatars/"]
        {
            assert!(choice(&demo(&["--repo", repository, "--legacy", "--tmpdir=/tmp"])).unwrap().is_none());
        }
        let both = demo(&["--repo", DEFAULT_REPOSITORY, "--file", "Tiltfile", "--no-cluster"]);
        assert!(matches!(choice(&both), Ok(Some(Choice::File(_)))));
        let refused = choice(&demo(&["--repo", "github.com/me/shop"])).err().unwrap();
        assert!(refused.hint.unwrap().contains("add --no-cluster"));
    }

    #[test]
    fn repository_without_scheme_is_fetched_by_https() {
        assert_eq!(address("github.com/tilt-dev/tilt-avatars"), "https://github.com/tilt-dev/tilt-avatars");
        for kept in ["https://example.com/x", "git@example.com:x", "/srv/x", "./x", "file:///srv/x"] {
            assert_eq!(address(kept), kept);
        }
    }
}
