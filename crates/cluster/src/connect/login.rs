//! The login command of a kubeconfig's user (`exec`): run without a terminal, which is lilt's own, and without holding up
//! anything else. What it has to say against it becomes part of the failure.
#![expect(clippy::disallowed_methods, reason = "login commands are run here")]

use std::fmt;
use std::process::Stdio;
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use kube::config::ExecConfig;
use serde::Deserialize;
use serde_json::json;

/// People may have to log in in a browser meanwhile.
const PATIENCE: Duration = Duration::from_secs(180);
/// What expires so soon counts as expired: a request takes its time.
const MARGIN: i64 = 10;
/// How much of a command's complaints is shown.
const SHOWN: usize = 10;

/// What a login command gave.
#[derive(Clone, PartialEq)]
pub(super) struct Given {
    /// The header with its token.
    pub(super) token: Option<HeaderValue>,
    /// Certificate and key.
    pub(super) identity: Option<(String, String)>,
    expires: Option<Timestamp>,
}

impl Given {
    pub(super) fn is_valid(&self) -> bool {
        self.expires.is_none_or(|expires| expires.as_second() - MARGIN > Timestamp::now().as_second())
    }
}

/// Why there is no login.
#[derive(Clone, Debug)]
pub(crate) struct LoginFailed {
    /// In one line.
    pub(crate) words: String,
    /// What the command said.
    pub(crate) said: String,
    /// What kubeconfig says to whoever lacks the command.
    pub(crate) hint: String,
}

impl fmt::Display for LoginFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for LoginFailed {}

#[derive(Deserialize)]
struct Answer {
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

pub(super) async fn run(exec: &ExecConfig) -> Result<Given, LoginFailed> {
    let program = exec.command.as_deref().unwrap_or_default();
    let failed = |words: String, said: &[u8]| LoginFailed {
        words: format!("the login command {program} of kubeconfig {words}"),
        said: last_lines(said),
        hint: "run it by hand to see why, or log in again; from lilt it gets no terminal".to_owned(),
    };
    let mut command = tokio::process::Command::new(program);
    command.args(exec.args.iter().flatten());
    let pair = |entry: &std::collections::HashMap<String, String>| {
        Some((entry.get("name")?.clone(), entry.get("value")?.clone()))
    };
    command.envs(exec.env.iter().flatten().filter_map(pair));
    command.env("KUBERNETES_EXEC_INFO", question(exec));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = match tokio::time::timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => {
            let mut failed = failed(format!("cannot be run: {error}"), b"");
            failed.hint = exec.install_hint.clone().unwrap_or(failed.hint);
            return Err(failed);
        }
        Err(_) => {
            return Err(failed(format!("did not answer within {} seconds", PATIENCE.as_secs()), b""));
        }
    };
    if !output.status.success() {
        return Err(failed(format!("failed: {}", output.status), &output.stderr));
    }
    read(&output.stdout).map_err(|why| failed(format!("gave no login: {why}"), &output.stderr))
}

/// What it gave is no certificate with its key.
pub(super) fn unusable(exec: &ExecConfig) -> LoginFailed {
    let program = exec.command.as_deref().unwrap_or_default();
    LoginFailed {
        words: format!(
            "the login command {program} of kubeconfig gave a certificate or a key that cannot be used"
        ),
        said: String::new(),
        hint: "run it by hand: clientCertificateData and clientKeyData must be in PEM form".to_owned(),
    }
}

/// What is asked of it.
fn question(exec: &ExecConfig) -> String {
    let mut spec = json!({"interactive": false});
    if let Some(cluster) = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info) {
        spec["cluster"] = json!(cluster);
    }
    json!({"apiVersion": exec.api_version, "kind": "ExecCredential", "spec": spec}).to_string()
}

fn read(answer: &[u8]) -> Result<Given, String> {
    // JSON by the book; some print YAML, of which it is a part.
    let answer: Answer = serde_saphyr::from_slice(answer).map_err(|error| error.to_string())?;
    let status = answer.status.ok_or("its answer has no status")?;
    let token = status.token.filter(|token| !token.is_empty());
    let header = |token: String| HeaderValue::try_from(format!("Bearer {token}"));
    let mut token = token.map(header).transpose().map_err(|_| "its token is no text for a header")?;
    token.iter_mut().for_each(|token| token.set_sensitive(true));
    let identity = status.client_certificate_data.zip(status.client_key_data);
    if token.is_none() && identity.is_none() {
        return Err("its answer has neither a token nor a certificate with its key".to_owned());
    }
    let expires = status.expiration_timestamp.map(|time| time.parse::<Timestamp>()).transpose();
    let expires = expires.map_err(|error| format!("its expirationTimestamp cannot be read: {error}"))?;
    Ok(Given { token, identity, expires })
}

fn last_lines(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
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
    async fn a_command_that_reads_gets_nothing_and_what_it_says_is_kept() {
        let failed = run(&shell("cat; echo $GREETING no ticket >&2; exit 3")).await.err().unwrap();
        assert!(failed.words.contains("login command sh of kubeconfig failed: exit status: 3"), "{failed}");
        assert_eq!(failed.said, "hello no ticket");
        let mut absent = shell("");
        absent.command = Some("no-such-login-command".to_owned());
        assert_eq!(run(&absent).await.err().unwrap().hint, "buy a shell");
    }

    #[tokio::test]
    async fn answers_are_read() {
        let given = run(&shell(&answer(r#"{"token": "abc"}"#))).await.ok().unwrap();
        assert_eq!(given.token, Some(HeaderValue::from_static("Bearer abc")));
        assert!(given.is_valid(), "without a time it is good until it is refused");
        let old = answer(r#"{"token": "abc", "expirationTimestamp": "2020-01-01T00:00:00Z"}"#);
        assert!(!run(&shell(&old)).await.ok().unwrap().is_valid());
        let identity = answer(r#"{"clientCertificateData": "C", "clientKeyData": "K"}"#);
        let identity = run(&shell(&identity)).await.ok().unwrap().identity;
        assert_eq!(identity, Some(("C".to_owned(), "K".to_owned())));
        assert!(run(&shell(&answer("{}"))).await.is_err());
        assert!(
            run(&shell("echo $KUBERNETES_EXEC_INFO | grep -q interactive.:false && exit 5"))
                .await
                .is_err_and(|failed| failed.words.ends_with("exit status: 5"))
        );
    }
}
