//! What can be typed. Flags and their meaning are Tilt's.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::dump::Dump;
use crate::commands::switch::{Disable, Enable};
use crate::commands::trigger::Trigger;

/// The inner development loop on Kubernetes: reads a Tiltfile, brings up what it describes and keeps it up to date
/// while you edit.
#[derive(Debug, Parser)]
#[command(name = "lilt", version = version(), propagate_version = false, infer_long_args = false)]
#[command(
    after_help = "Examples:\n  lilt demo                 try it, without cluster or Docker\n  lilt up                   bring up the project of this folder\n  lilt ci                   bring it up once, for scripts\n  lilt down                 delete what it deployed"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// lilt's own version.
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bring everything up and keep it up to date until Ctrl-C
    Up(Up),
    /// Bring everything up once: exit 0 when all is ready, 1 when something is broken
    Ci(Ci),
    /// Delete the objects that the Tiltfile names
    Down(Down),
    Trigger(Trigger),
    Enable(Enable),
    Disable(Disable),
    /// Print what lilt knows, for people who look into it
    #[command(subcommand)]
    Dump(Dump),
    /// Try lilt on a small project that needs no cluster and no Docker
    Demo(Demo),
    /// Commands whose output may still change
    #[command(subcommand)]
    Alpha(Alpha),
    /// Print lilt's version and the version of Tilt it is compatible with
    Version(Version),
    /// The servers of the demo
    #[command(hide = true)]
    DemoServer(DemoServer),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Alpha {
    /// Evaluate the Tiltfile and print what came of it as JSON: exit 0, 5 if the Tiltfile is wrong, 1 for all else
    TiltfileResult(TiltfileResult),
}

#[derive(Args, Debug)]
pub(crate) struct TiltfileResult {
    #[command(flatten)]
    pub(crate) project: Project,
    /// Print to stderr what the Tiltfile prints, also if nothing is wrong
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Project {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    pub(crate) file: PathBuf,
    /// Kubernetes context to use instead of the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Namespace for objects that name none
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Arguments for the Tiltfile
    #[arg(last = true, value_name = "TILTFILE ARGS")]
    pub(crate) args: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Web {
    /// Host to listen on for the dashboard, and for port forwards that name none; else TILT_HOST, else localhost.
    /// Others can reach it there: only change it if you mean that
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Port of the dashboard: a number, auto for the next free one from 10350 on, 0 for any that is free; else
    /// TILT_PORT, else 10350
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<Port>,
}

/// Which port to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// 0 lets the system choose.
    Number(u16),
    /// The next free one.
    Auto,
}

impl std::str::FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Port, String> {
        match text {
            "auto" => Ok(Port::Auto),
            _ => text
                .parse()
                .map(Port::Number)
                .map_err(|_| "a port is a number up to 65535, or auto".to_owned()),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) project: Project,
    #[command(flatten)]
    pub(crate) web: Web,
    /// Print all logs to the terminal (what happens for now in any case)
    #[arg(long)]
    pub(crate) stream: bool,
    /// Do not open port forwards
    #[arg(long)]
    pub(crate) disable_port_forwards: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Ci {
    #[command(flatten)]
    pub(crate) project: Project,
    #[command(flatten)]
    pub(crate) web: Web,
    /// How long to wait for everything to be ready, for example 90s or 30m
    #[arg(long, default_value = "30m", value_parser = duration)]
    pub(crate) timeout: std::time::Duration,
}

#[derive(Args, Debug)]
pub(crate) struct Down {
    #[command(flatten)]
    pub(crate) project: Project,
    /// Delete namespaces too
    #[arg(long)]
    pub(crate) delete_namespaces: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    #[command(flatten)]
    pub(crate) web: Web,
    /// Do the whole tour by itself, then exit
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Version {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DemoServer {
    #[arg(long)]
    pub(crate) port: u16,
    /// Folder with the files to serve
    #[arg(long)]
    pub(crate) folder: PathBuf,
}

/// Go's durations, as far as people write them: `90s`, `1h30m`, `500ms`.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || format!("{text:?} is no duration; write for example 90s, 30m or 1h30m");
    let mut rest = text;
    let mut total = std::time::Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
        let milliseconds: u64 = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(wrong()),
        };
        total += std::time::Duration::from_millis(number.saturating_mul(milliseconds));
        rest = &rest[letters..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("30m0s"), Ok(Duration::from_secs(1800)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("").is_err());
        assert!(duration("10").is_err());
        assert!(duration("5 minutes").is_err());
    }

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }
}
