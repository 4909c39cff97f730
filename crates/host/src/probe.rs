//! One attempt to find out whether a server on this machine is ready, as Kubernetes' probes do it.
//!
//! When to try and what a row of attempts means is the caller's business.

mod http;

use std::io;
use std::time::Duration;

use lilt_model::probe::ProbeAction;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::process::{Daemons, Guardian, Launch, Process};

const DEFAULT_HOST: &str = "localhost";
/// What a probe's command printed, or a server answered, is kept up to this length.
const LONGEST_OUTPUT: usize = 10 * 1024;

/// What one attempt found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// None: it succeeded. Otherwise why not, in words.
    pub cause: Option<String>,
    /// What the command printed or the server answered.
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

/// Tries once. `launch` says how a command of the probe is started, by the guardian.
pub async fn attempt(
    guardian: &Guardian,
    action: &ProbeAction,
    patience: Duration,
    launch: impl FnOnce(&[String]) -> Launch,
) -> Attempt {
    let too_late = |what: String| Attempt::failure(format!("{what} within {patience:?}"));
    match action {
        // Ends its command itself.
        ProbeAction::Exec { command } => execute(guardian, &launch(command), patience).await,
        ProbeAction::TcpSocket { port, host } => {
            let host = or_default(host);
            let Some(port) = valid_port(*port) else { return out_of_range(*port) };
            let tried = timeout(patience, connect(host, port)).await;
            tried.unwrap_or_else(|_| too_late(format!("{host}:{port} takes no connection")))
        }
        ProbeAction::HttpGet { port, host, scheme, path, headers } => {
            if !matches!(scheme.as_str(), "" | "HTTP" | "HTTPS") {
                return Attempt::failure(format!("unsupported scheme {scheme:?}"));
            }
            let Some(port) = valid_port(*port) else { return out_of_range(*port) };
            let target = http::Target::new(scheme, or_default(host), port, path);
            let words = target.to_string();
            let tried = timeout(patience, http::get(target, headers)).await;
            tried.unwrap_or_else(|_| too_late(format!("no answer from {words}")))
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
        Err(error) => Attempt::failure(format!("{host}:{port}: {}", words(&error))),
    }
}

/// Without the operating system's number.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".into(),
        io::ErrorKind::ConnectionReset => "connection reset".into(),
        io::ErrorKind::UnexpectedEof => "it closed the connection without an answer".into(),
        _ => lilt_model::os_error::plain(&error.to_string()),
    }
}

async fn execute(guardian: &Guardian, launch: &Launch, patience: Duration) -> Attempt {
    // Unbounded: what is sent is bounded by LONGEST_OUTPUT.
    let (sender, mut pieces) = mpsc::unbounded_channel::<Vec<u8>>();
    let mut room = LONGEST_OUTPUT;
    let started = Process::spawn(guardian, launch, move |bytes| {
        let taken = &bytes[..bytes.len().min(room)];
        room -= taken.len();
        if !taken.is_empty() {
            // The receiver lives as long as the process.
            let _ = sender.send(taken.to_vec());
        }
    });
    let mut process = match started.await {
        Ok(process) => process,
        Err(failure) => return Attempt::failure(failure.message),
    };
    let ended = timeout(patience, process.wait()).await;
    if ended.is_err() {
        process.stop(Duration::ZERO, Daemons::End).await;
    }
    let mut output = Vec::new();
    while let Ok(piece) = pieces.try_recv() {
        output.extend(piece);
    }
    let output = String::from_utf8_lossy(&output).into_owned();
    let last = || output.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let program = launch.argv.first().map_or("", String::as_str);
    let cause = match ended {
        Ok(exit) if exit.success() => None,
        Ok(exit) if last().is_empty() => Some(format!("`{program}` ended with {}", exit)),
        Ok(exit) => Some(format!("`{program}` ended with {}: {}", exit, last())),
        Err(_) => Some(format!("`{program}` did not end within {patience:?}")),
    };
    Attempt { cause, output }
}
