//! Starts an ssh agent for a build with key files: OpenSSH's, which supports every kind of key, with only these keys.
#![expect(clippy::disallowed_methods, reason = "the agent's program is started here")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lilt_model::Failure;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// The keys that build steps may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SshSource {
    /// A running agent.
    Agent(PathBuf),
    /// Files of private keys.
    Keys(Vec<PathBuf>),
}

/// A running agent with keys. It exits when this is dropped, or when this process exits in any way.
pub(crate) struct KeyAgent {
    folder: tempfile::TempDir,
    _process: Child,
    _input: ChildStdin,
}

/// The agent exits with this script, and the script when its stdin is closed.
///
/// Keys are passed to ssh-add through stdin, because it refuses files that others may read, which builds have always
/// accepted.
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
            // A key with a passphrase fails at once, because nobody could enter it.
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
        // An unreadable stderr is reported as an empty one.
        let _ = errors.read_to_string(&mut stderr).await;
    }
    Err(stderr.trim().replace('\n', "; "))
}
