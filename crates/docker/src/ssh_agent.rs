//! An ssh agent for a build that is given key files: OpenSSH's own, which knows every kind of key, with nothing but them.
#![expect(clippy::disallowed_methods, reason = "the agent's program is started here")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lilt_model::Failure;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// Where the steps of a build find the keys that they may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SshSource {
    /// An agent that runs.
    Agent(PathBuf),
    /// Private keys.
    Keys(Vec<PathBuf>),
}

/// An agent that holds keys; it ends when this is dropped, or when this process ends in whatever way.
pub(crate) struct KeyAgent {
    folder: tempfile::TempDir,
    _process: Child,
    _input: ChildStdin,
}

/// The agent lives as long as this command, and the command as long as somebody holds its input. Keys come through the
/// input of ssh-add because it refuses files that others may read, which a build never minded.
const SCRIPT: &str = r#"for key; do ssh-add -q - < "$key" || exit 1; done; echo ready; exec cat"#;
const START_TIMEOUT: Duration = Duration::from_secs(20);

impl KeyAgent {
    pub(crate) async fn start(keys: &[PathBuf]) -> Result<Self, Failure> {
        let problem = |why: &dyn std::fmt::Display| {
            let names: Vec<String> = keys.iter().map(|key| key.display().to_string()).collect();
            Failure::user(format!("an ssh agent with {} cannot be started: {why}", names.join(", ")))
        };
        let folder = tempfile::Builder::new()
            .prefix("lilt-ssh-")
            .tempdir()
            .map_err(|error| problem(&error).caused_by(&error))?;
        let mut process = Command::new("ssh-agent")
            .arg("-a")
            .arg(folder.path().join("agent"))
            .args(["sh", "-c", SCRIPT, "sh"])
            .args(keys)
            // A key with a passphrase fails at once: nobody is there to be asked.
            .env("SSH_ASKPASS", "false")
            .env("SSH_ASKPASS_REQUIRE", "force")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                problem(&error)
                    .hint("keys for a build need OpenSSH's ssh-agent and ssh-add on the PATH")
                    .caused_by(&error)
            })?;
        let input = process.stdin.take().ok_or_else(|| problem(&"it has no input"))?;
        match tokio::time::timeout(START_TIMEOUT, wait_until_ready(&mut process)).await {
            Ok(Ok(())) => Ok(Self { folder, _process: process, _input: input }),
            Ok(Err(why)) => Err(problem(&why)
                .hint("a key with a passphrase must be in an agent: docker_build(ssh='default')")),
            Err(_) => Err(problem(&"it does not answer")),
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        Path::join(self.folder.path(), "agent")
    }
}

async fn wait_until_ready(process: &mut Child) -> Result<(), String> {
    let mut line = String::new();
    if let Some(output) = process.stdout.take() {
        let mut output = BufReader::new(output);
        output.read_line(&mut line).await.map_err(|error| error.to_string())?;
    }
    if line.trim_end() == "ready" {
        return Ok(());
    }
    let mut stderr = String::new();
    if let Some(mut errors) = process.stderr.take() {
        // What it could not say, its silence does.
        let _ = errors.read_to_string(&mut stderr).await;
    }
    Err(stderr.trim().replace('\n', "; "))
}
