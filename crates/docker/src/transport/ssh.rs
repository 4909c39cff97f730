//! Connects to an engine on another host through the user's `ssh`, like the `docker` command does for `ssh://`
//! addresses.
#![expect(clippy::disallowed_methods, reason = "ssh is started here")]

use std::fmt;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::task::AbortOnDropHandle;

/// The parts of an `ssh://` address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    user: Option<String>,
    host: String,
    port: Option<u16>,
    /// The engine's socket on that host; none: the default of `docker` there.
    socket: Option<String>,
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        write!(f, "ssh://{user}{}{port}{}", self.host, self.socket.as_deref().unwrap_or_default())
    }
}

impl Remote {
    /// Parses what follows `ssh://`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (place, socket) = match text.split_once('/') {
            Some((place, path)) if !path.is_empty() => (place, Some(format!("/{path}"))),
            Some((place, _)) => (place, None),
            None => (text, None),
        };
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) if user.contains(':') => {
                return Err(format!("a password has no place in an address: {place}"));
            }
            Some((user, place)) => (Some(user.to_owned()), place),
            None => (None, place),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') => {
                (host, Some(port.parse().map_err(|_| format!("{port:?} is no port"))?))
            }
            _ => (place, None),
        };
        // No part of an address may be parsed as an option by ssh.
        let is_plain = |text: &str| !text.is_empty() && !text.starts_with('-');
        if !is_plain(host) || user.as_deref().is_some_and(|user| !is_plain(user)) {
            return Err("it names no host".to_owned());
        }
        Ok(Self { user, host: host.to_owned(), port, socket })
    }

    fn arguments(&self) -> Vec<String> {
        // Nobody could answer a prompt.
        let mut arguments: Vec<String> =
            ["-o", "ConnectTimeout=30", "-o", "BatchMode=yes", "-T"].map(str::to_owned).into();
        for (flag, value) in [("-l", self.user.clone()), ("-p", self.port.map(|port| port.to_string()))] {
            arguments.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        arguments.extend(["--".to_owned(), self.host.clone(), "docker".to_owned()]);
        if let Some(socket) = &self.socket {
            arguments.extend(["--host".to_owned(), format!("unix://{socket}")]);
        }
        arguments.extend(["system", "dial-stdio"].map(str::to_owned));
        arguments
    }
}

/// The stdin and stdout of a running `ssh`. Dropping it kills the process.
pub(crate) struct Pipe {
    input: ChildStdin,
    output: ChildStdout,
    _process: Child,
}

/// The stderr of ssh, available when it has exited.
pub(crate) type StderrText = AbortOnDropHandle<String>;

pub(crate) fn open(remote: &Remote) -> io::Result<(Pipe, StderrText)> {
    let mut process = Command::new("ssh")
        .args(remote.arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is meant for lilt, which then kills ssh.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("ssh: {error}")))?;
    let missing = || io::Error::other("ssh has no pipes");
    let (input, output) = (process.stdin.take(), process.stdout.take());
    let mut errors = process.stderr.take().ok_or_else(missing)?;
    let stderr_text = tokio::spawn(async move {
        let mut stderr = Vec::new();
        // What cannot be read is omitted.
        let _ = errors.read_to_end(&mut stderr).await;
        String::from_utf8_lossy(&stderr).trim().replace("\r\n", "; ").replace('\n', "; ")
    });
    let pipe =
        Pipe { input: input.ok_or_else(missing)?, output: output.ok_or_else(missing)?, _process: process };
    Ok((pipe, AbortOnDropHandle::new(stderr_text)))
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(context, buffer)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_arguments() {
        let arguments = |text: &str| Remote::parse(text).map(|remote| remote.arguments()[5..].join(" "));
        for (address, expected) in [
            ("there", "-- there docker system dial-stdio"),
            ("me@there:2222/", "-l me -p 2222 -- there docker system dial-stdio"),
            (
                "me@there/run/user/1/docker.sock",
                "-l me -- there docker --host unix:///run/user/1/docker.sock system dial-stdio",
            ),
        ] {
            assert_eq!(arguments(address), Ok(expected.to_owned()));
            let remote = Remote::parse(address).unwrap();
            assert_eq!(remote.to_string(), format!("ssh://{}", address.trim_end_matches('/')));
        }
        for wrong in ["", "me@", "-oProxyCommand=x", "me:secret@there", "-x@there", "there:port"] {
            assert!(Remote::parse(wrong).is_err(), "{wrong}");
        }
    }
}
