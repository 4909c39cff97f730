//! Supervises one process: forwards its output as it arrives, then returns its exit.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::Exit;

/// Enough for what a pipe usually holds, and small enough for a thousand processes.
const BUFFER: usize = 8 * 1024;
/// A background process may keep the pipe open forever. After the exit, reading ends when no output arrives for this
/// long …
const QUIET_PERIOD: Duration = Duration::from_millis(200);
/// … and after this time in any case.
const MAX_DRAIN: Duration = Duration::from_secs(1);

/// What a process writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Output,
    Errors,
}

/// The output pipes of a process. If both streams share one pipe, the order of writes is kept.
pub(super) struct Output {
    /// `None` if all writers have closed it, or if both streams share the other pipe.
    output: Option<Receiver>,
    errors: Option<Receiver>,
    buffer: Box<[u8]>,
}

/// The output and the write ends of its pipes: stdout, stderr.
pub(super) type OutputPipes = (Output, (OwnedFd, OwnedFd));

impl Output {
    /// Uses one pipe for both streams.
    pub(super) fn shared() -> io::Result<OutputPipes> {
        let (output, writer) = pipe()?;
        let errors = writer.try_clone()?;
        Ok((Output::new(output, None), (writer, errors)))
    }

    /// Uses one pipe for each stream.
    pub(super) fn separate() -> io::Result<OutputPipes> {
        let ((output, writer), (errors, error_writer)) = (pipe()?, pipe()?);
        Ok((Output::new(output, Some(errors)), (writer, error_writer)))
    }

    fn new(output: Receiver, errors: Option<Receiver>) -> Output {
        Output { output: Some(output), errors, buffer: vec![0; BUFFER].into_boxed_slice() }
    }

    fn is_open(&self) -> bool {
        self.output.is_some() || self.errors.is_some()
    }

    /// Reads a chunk and returns its stream and length; length 0 means closed. Cancel-safe.
    async fn read(&mut self) -> (Stream, usize) {
        loop {
            let stream = tokio::select! {
                biased;
                () = readable(self.errors.as_ref()) => Stream::Errors,
                () = readable(self.output.as_ref()) => Stream::Output,
            };
            let pipe = match stream {
                Stream::Output => &self.output,
                Stream::Errors => &self.errors,
            };
            match pipe.as_ref().map(|pipe| pipe.try_read(&mut self.buffer)) {
                Some(Ok(length)) => return (stream, length),
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A pipe that cannot be read counts as closed.
                Some(Err(_)) | None => return (stream, 0),
            }
        }
    }

    fn forward(&mut self, (stream, length): (Stream, usize), on_output: &mut impl FnMut(Stream, &[u8])) {
        match (length, stream) {
            (0, Stream::Output) => self.output = None,
            (0, Stream::Errors) => self.errors = None,
            _ => on_output(stream, &self.buffer[..length]),
        }
    }
}

fn pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = std::io::pipe()?;
    Ok((Receiver::from_owned_fd(reader.into())?, writer.into()))
}

/// Waits until the pipe is readable; forever if there is no pipe.
async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // The following read reports an error.
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

pub(super) async fn supervise(
    mut output: Output,
    mut ended: oneshot::Receiver<Exit>,
    mut on_output: impl FnMut(Stream, &[u8]) + Send,
) -> Exit {
    let exit = loop {
        tokio::select! {
            biased;
            read = output.read(), if output.is_open() => output.forward(read, &mut on_output),
            exit = &mut ended => break exit.unwrap_or(Exit::Lost),
        }
    };
    let deadline = Instant::now() + MAX_DRAIN;
    let mut quiet_until = Instant::now() + QUIET_PERIOD;
    while output.is_open() && Instant::now() < deadline {
        tokio::select! {
            biased;
            read = output.read() => output.forward(read, &mut on_output),
            () = sleep_until(quiet_until.min(deadline)) => break,
        }
        quiet_until = Instant::now() + QUIET_PERIOD;
    }
    exit
}
