//! A single readiness probe of a server on this machine, with the semantics of Kubernetes probes.
//!
//! The caller decides when to probe and what a sequence of attempts means.

mod http;

use std::io;
use std::time::Duration;

use lilt_model::probe::ProbeAction;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::process::{Daemons, Guardian, Launch, Process};

const DEFAULT_HOST: &str = "localhost";
/// Output of a probe's command or server is kept up to this length.
const MAX_OUTPUT: usize = 10 * 1024;

/// The result of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Why the attempt failed; `None` if it succeeded.
    pub cause: Option<String>,
    /// What the command printed or the server responded.
    pub output: String,
}

impl Attempt {
    fn success(output: impl Into<String>) -> Self {
        Self { cause: None, output: output.into() }
    }

    fn failure(cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), output: String::new() }
    }

    pub fn succeeded(&self) -> bool {
        self.cause.is_none()
    }
}

/// Runs the probe once, for at most `limit`. `launch` makes the launch of an exec probe's command.
pub async fn attempt(
    guardian: &Guardian,
    action: &ProbeAction,
    limit: Duration,
    launch: impl FnOnce(&[String]) -> Launch,
) -> Attempt {
    let timed_out = |what: String| Attempt::failure(format!("{what} within {limit:?}"));
    match action {
        // Stops its command itself.
        ProbeAction::Exec { command } => execute(guardian, &launch(command), limit).await,
        ProbeAction::TcpSocket { port, host } => {
            let host = or_default(host);
            let Some(port) = valid_port(*port) else { return out_of_range(*port) };
            let result = timeout(limit, connect(host, port)).await;
            result.unwrap_or_else(|_| timed_out(format!("{host}:{port} takes no connection")))
        }
        ProbeAction::HttpGet { port, host, scheme, path, headers } => {
            if !matches!(scheme.as_str(), "" | "HTTP" | "HTTPS") {
                return Attempt::failure(format!("unsupported scheme {scheme:?}"));
            }
            let Some(port) = valid_port(*port) else { return out_of_range(*port) };
            let target = http::Target::new(scheme, or_default(host), port, path);
            let url = target.to_string();
            let result = timeout(limit, http::get(target, headers)).await;
            result.unwrap_or_else(|_| timed_out(format!("no answer from {url}")))
        }
    }
}

fn valid_port(number: i32) -> Option<u16> {
    u16::try_from(number).ok().filter(|port| *port > 0)
}

fn out_of_range(number: i32) -> Attempt {
    Attempt::failure(format!("port number out of range: {number}"))
}

fn or_default(host: &str) -> &str {
    if host.is_empty() { DEFAULT_HOST } else { host }
}

async fn connect(host: &str, port: u16) -> Attempt {
    match TcpStream::connect((host, port)).await {
        Ok(_) => Attempt::success(""),
        Err(error) => Attempt::failure(format!("{host}:{port}: {}", describe(&error))),
    }
}

/// Describes an error without the operating system's error number.
fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".into(),
        io::ErrorKind::ConnectionReset => "connection reset".into(),
        io::ErrorKind::UnexpectedEof => "it closed the connection without an answer".into(),
        _ => lilt_model::os_error::plain(&error.to_string()),
    }
}

async fn execute(guardian: &Guardian, launch: &Launch, limit: Duration) -> Attempt {
    // Unbounded: what is sent is bounded by MAX_OUTPUT.
    let (sender, mut pieces) = mpsc::unbounded_channel::<Vec<u8>>();
    let mut remaining = MAX_OUTPUT;
    let started = Process::spawn(guardian, launch, move |bytes| {
        let kept = &bytes[..bytes.len().min(remaining)];
        remaining -= kept.len();
        if !kept.is_empty() {
            // The receiver lives as long as the process.
            let _ = sender.send(kept.to_vec());
        }
    });
    let mut process = match started.await {
        Ok(process) => process,
        Err(failure) => return Attempt::failure(failure.message),
    };
    let exited = timeout(limit, process.wait()).await;
    if exited.is_err() {
        process.stop(Duration::ZERO, Daemons::End).await;
    }
    let mut output = Vec::new();
    while let Ok(piece) = pieces.try_recv() {
        output.extend(piece);
    }
    let output = String::from_utf8_lossy(&output).into_owned();
    let last = || output.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let program = launch.argv.first().map_or("", String::as_str);
    let cause = match exited {
        Ok(exit) if exit.success() => None,
        Ok(exit) if last().is_empty() => Some(format!("`{program}` ended with {exit}")),
        Ok(exit) => Some(format!("`{program}` ended with {}: {}", exit, last())),
        Err(_) => Some(format!("`{program}` did not end within {limit:?}")),
    };
    Attempt { cause, output }
}
