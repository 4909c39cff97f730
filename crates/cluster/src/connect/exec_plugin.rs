//! Runs exec plugins: commands named in a kubeconfig that print credentials.
//!
//! They get the terminal if they want it and nothing else reads it. Their stderr, for example a device code, is
//! passed on line by line and becomes part of the failure.
#![expect(clippy::disallowed_methods, reason = "login commands are run here")]

use std::fmt;
use std::io::IsTerminal as _;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use kube::config::{ExecConfig, ExecInteractiveMode};
use lilt_model::yaml;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// Long, because people may have to log in in a browser.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Seconds before their expiry from which credentials count as expired, because a request takes time.
const EXPIRY_MARGIN: i64 = 10;
/// How many lines of stderr a failure contains.
const MAX_OUTPUT_LINES: usize = 10;
/// Prompts have no line break: a partial line is passed on when nothing follows for this long.
const PROMPT_DELAY: Duration = Duration::from_millis(300);
/// How long stderr is read after the plugin has exited, in case a child process holds it open.
const DRAIN: Duration = Duration::from_millis(500);

/// Receives the stderr of exec plugins line by line, as soon as it is printed.
#[derive(Clone, Default)]
pub struct PluginOutput {
    receive: Option<Arc<ReceiveLine>>,
    is_terminal_free: bool,
}

type ReceiveLine = dyn Fn(&str) + Send + Sync;

impl PluginOutput {
    pub fn new(receive: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { receive: Some(Arc::new(receive)), is_terminal_free: false }
    }

    /// Lets plugins use the terminal. For callers that do not read it themselves.
    #[must_use]
    pub fn with_terminal(self) -> Self {
        Self { is_terminal_free: true, ..self }
    }

    /// Returns a copy with another receiver.
    #[must_use]
    pub fn with_receiver(&self, receive: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { receive: Some(Arc::new(receive)), ..*self }
    }

    pub(super) fn send(&self, line: &str) {
        if let Some(receive) = &self.receive {
            receive(line.trim_end());
        }
    }
}

impl fmt::Debug for PluginOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = (self.receive.is_some(), self.is_terminal_free);
        f.debug_tuple("PluginOutput").field(&fields.0).field(&fields.1).finish()
    }
}

/// The credentials that a plugin returned.
#[derive(Clone, PartialEq)]
pub(super) struct Credentials {
    /// The `Authorization` header.
    pub(super) token: Option<HeaderValue>,
    /// Certificate and key, in PEM.
    pub(super) identity: Option<(String, String)>,
    pub(super) expires: Option<Timestamp>,
}

impl Credentials {
    pub(super) fn is_valid(&self) -> bool {
        self.expires.is_none_or(|expires| expires.as_second() - EXPIRY_MARGIN > Timestamp::now().as_second())
    }
}

/// Why there are no credentials.
#[derive(Clone, Debug)]
pub(crate) struct LoginError {
    /// One line.
    pub(crate) message: String,
    /// What the plugin printed.
    pub(crate) output: String,
    /// How to install the plugin, if kubeconfig says so.
    pub(crate) hint: String,
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LoginError {}

#[derive(Deserialize)]
struct ExecCredential {
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

pub(super) async fn run(exec: &ExecConfig, output: &PluginOutput) -> Result<Credentials, LoginError> {
    let program = exec.command.as_deref().unwrap_or_default();
    let failed = |message: String, output: &[u8]| LoginError {
        message: format!("the login command {program} of kubeconfig {message}"),
        output: last_lines(output),
        hint: "run it by hand to see why, or log in again; a session gives it no terminal".to_owned(),
    };
    let must_be_interactive = exec.interactive_mode == Some(ExecInteractiveMode::Always);
    let has_terminal = std::io::stdin().is_terminal();
    let is_interactive = has_terminal && (must_be_interactive || wants_terminal(exec, output));
    if must_be_interactive && !has_terminal {
        let mut failed = failed("needs a terminal (interactiveMode: Always)".to_owned(), b"");
        failed.hint = "run lilt in a terminal, or log in with another kind of user".to_owned();
        return Err(failed);
    }
    let mut command = Command::new(program);
    command.args(exec.args.iter().flatten());
    let pair = |entry: &std::collections::HashMap<String, String>| {
        Some((entry.get("name")?.clone(), entry.get("value").cloned().unwrap_or_default()))
    };
    command.envs(exec.env.iter().flatten().filter_map(pair));
    command.env("KUBERNETES_EXEC_INFO", exec_info(exec, is_interactive));
    command.stdin(if is_interactive { Stdio::inherit() } else { Stdio::null() });
    let ended = match tokio::time::timeout(TIMEOUT, run_to_end(command, output)).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => {
            let mut failed = failed(format!("cannot be run: {error}"), b"");
            failed.hint = exec.install_hint.clone().unwrap_or(failed.hint);
            return Err(failed);
        }
        Err(_) => {
            return Err(failed(format!("did not answer within {} minutes", TIMEOUT.as_secs() / 60), b""));
        }
    };
    if !ended.status.success() {
        return Err(failed(format!("failed: {}", ended.status), &ended.stderr));
    }
    read(&ended.stdout).map_err(|why| failed(format!("gave no login: {why}"), &ended.stderr))
}

/// Whether a plugin is interactive when a terminal is available. That is the default of `v1beta1` and older; later
/// versions have no default.
fn wants_terminal(exec: &ExecConfig, output: &PluginOutput) -> bool {
    let wants = matches!(exec.interactive_mode, None | Some(ExecInteractiveMode::IfAvailable));
    wants && output.is_terminal_free
}

struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

async fn run_to_end(mut command: Command, output: &PluginOutput) -> std::io::Result<Ended> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut stdout_pipe = child.stdout.take().expect("invariant: stdout is piped");
    let stderr_pipe = child.stderr.take().expect("invariant: stderr is piped");
    let status = {
        let forwarded = forward(stderr_pipe, &mut stderr, output);
        tokio::pin!(forwarded);
        let ended = async {
            stdout_pipe.read_to_end(&mut stdout).await?;
            child.wait().await
        };
        tokio::pin!(ended);
        let status = tokio::select! {
            status = &mut ended => {
                let _ = tokio::time::timeout(DRAIN, forwarded).await;
                status
            }
            () = &mut forwarded => ended.await,
        };
        status?
    };
    Ok(Ended { status, stdout, stderr })
}

/// Passes on each line as soon as it is complete, and prompts after a delay.
async fn forward(mut from: impl AsyncRead + Unpin, all: &mut Vec<u8>, output: &PluginOutput) {
    let mut sent = 0;
    loop {
        let is_partial = all.len() > sent;
        let count = tokio::select! {
            count = from.read_buf(all) => count,
            () = tokio::time::sleep(PROMPT_DELAY), if is_partial => {
                output.send(&String::from_utf8_lossy(&all[sent..]));
                sent = all.len();
                continue;
            }
        };
        while let Some(end) = all[sent..].iter().position(|byte| *byte == b'\n') {
            output.send(&String::from_utf8_lossy(&all[sent..sent + end]));
            sent += end + 1;
        }
        if !count.is_ok_and(|count| count > 0) {
            break;
        }
    }
    if all.len() > sent {
        output.send(&String::from_utf8_lossy(&all[sent..]));
    }
}

/// Returns the error for an invalid certificate or key. Only exec plugins return certificates.
pub(super) fn unusable() -> LoginError {
    LoginError {
        message: "the login command of kubeconfig gave a certificate or a key that cannot be used".to_owned(),
        output: String::new(),
        hint: "run it by hand: clientCertificateData and clientKeyData must be in PEM form".to_owned(),
    }
}

/// Returns the value of `KUBERNETES_EXEC_INFO`.
fn exec_info(exec: &ExecConfig, is_interactive: bool) -> String {
    let mut spec = json!({"interactive": is_interactive});
    if let Some(cluster) = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info) {
        spec["cluster"] = json!(cluster);
    }
    json!({"apiVersion": exec.api_version, "kind": "ExecCredential", "spec": spec}).to_string()
}

fn read(answer: &[u8]) -> Result<Credentials, String> {
    // The protocol requires JSON; some plugins print YAML, a superset of it.
    let answer = yaml::document(&yaml::decode(answer)).map_err(|error| error.to_string())?;
    let answer: ExecCredential = serde_json::from_value(answer).map_err(|error| error.to_string())?;
    let status = answer.status.ok_or("its answer has no status")?;
    let token = status.token.filter(|token| !token.is_empty());
    let token = token.map(|token| bearer(&token)).transpose()?;
    let identity = status.client_certificate_data.zip(status.client_key_data);
    if token.is_none() && identity.is_none() {
        return Err("its answer has neither a token nor a certificate with its key".to_owned());
    }
    let expires = status.expiration_timestamp.map(|time| time.parse::<Timestamp>()).transpose();
    let expires = expires.map_err(|error| format!("its expirationTimestamp cannot be read: {error}"))?;
    Ok(Credentials { token, identity, expires })
}

/// Returns the `Authorization` header for a token.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, String> {
    let header = HeaderValue::try_from(format!("Bearer {token}"));
    let mut header = header.map_err(|_| "its token contains control characters".to_owned())?;
    header.set_sensitive(true);
    Ok(header)
}

fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(MAX_OUTPUT_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> ExecConfig {
        let args = json!(["-c", script]);
        serde_json::from_value(json!({"command": "sh", "args": args, "apiVersion": "v1",
            "env": [{"name": "GREETING", "value": "hello"}], "installHint": "buy a shell"}))
        .unwrap()
    }

    fn answer(status: &str) -> String {
        format!("echo '{{\"kind\": \"ExecCredential\", \"status\": {status}}}'")
    }

    #[tokio::test]
    async fn plugin_gets_empty_stdin_and_its_stderr_is_kept() {
        let failed = run(&shell("cat; echo $GREETING no ticket >&2; exit 3"), &PluginOutput::default())
            .await
            .err()
            .unwrap();
        assert!(failed.message.contains("login command sh of kubeconfig failed: exit status: 3"), "{failed}");
        assert_eq!(failed.output, "hello no ticket");
        let mut absent = shell("");
        absent.command = Some("no-such-login-command".to_owned());
        assert_eq!(run(&absent, &PluginOutput::default()).await.err().unwrap().hint, "buy a shell");
    }

    #[tokio::test]
    async fn plugin_output_is_parsed() {
        let credentials =
            run(&shell(&answer(r#"{"token": "abc"}"#)), &PluginOutput::default()).await.ok().unwrap();
        assert_eq!(credentials.token, Some(HeaderValue::from_static("Bearer abc")));
        assert!(credentials.is_valid(), "without a time it is good until it is refused");
        let old = answer(r#"{"token": "abc", "expirationTimestamp": "2020-01-01T00:00:00Z"}"#);
        assert!(!run(&shell(&old), &PluginOutput::default()).await.ok().unwrap().is_valid());
        let identity = answer(r#"{"clientCertificateData": "C", "clientKeyData": "K"}"#);
        let identity = run(&shell(&identity), &PluginOutput::default()).await.ok().unwrap().identity;
        assert_eq!(identity, Some(("C".to_owned(), "K".to_owned())));
        assert!(run(&shell(&answer("{}")), &PluginOutput::default()).await.is_err());
        assert!(
            run(
                &shell("echo $KUBERNETES_EXEC_INFO | grep -q interactive.:false && exit 5"),
                &PluginOutput::default()
            )
            .await
            .is_err_and(|failed| failed.message.ends_with("exit status: 5"))
        );
    }
    /// A device code is useless once the plugin has ended.
    #[tokio::test]
    async fn stderr_is_passed_on_while_the_plugin_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("go");
        let script = format!(
            "echo visit the page >&2; printf 'enter code 42: ' >&2; until [ -e {} ]; do sleep 0.05; done; {}",
            file.display(),
            answer(r#"{"token": "abc"}"#)
        );
        let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
        let output = PluginOutput::new(move |line| sender.send(line.to_owned()).unwrap());
        let plugin = tokio::spawn(async move { run(&shell(&script), &output).await });
        assert_eq!(lines.recv().await.as_deref(), Some("visit the page"));
        assert_eq!(lines.recv().await.as_deref(), Some("enter code 42:"));
        std::fs::write(&file, "").unwrap();
        assert!(plugin.await.unwrap().is_ok_and(|credentials| credentials.token.is_some()));
    }

    #[tokio::test]
    async fn plugin_that_insists_on_a_terminal_fails_without_one() {
        if std::io::stdin().is_terminal() {
            return;
        }
        let mut exec = shell(&answer(r#"{"token": "abc"}"#));
        exec.interactive_mode = Some(ExecInteractiveMode::Always);
        let failed = run(&exec, &PluginOutput::default()).await.err().unwrap();
        assert!(failed.message.contains("needs a terminal"), "{failed}");
    }
}
