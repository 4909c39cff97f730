//! One process from its start to its end: output passed on as it comes, then how it ended.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::Exit;

/// As much as a pipe holds at once in most cases, and little enough for each of a thousand.
const BUFFER: usize = 8 * 1024;
/// Something the process left running may hold its pipe open for ever. After its end we wait this long for more
/// output …
const SILENCE: Duration = Duration::from_millis(200);
/// … and no longer than this in all.
const DRAIN: Duration = Duration::from_secs(1);

/// What a process writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Output,
    Errors,
}

/// What a process writes. Where both its streams are one pipe, it comes in the order in which it was written.
pub(super) struct Output {
    /// None: it was closed by all who could write to it, or there is none.
    output: Option<Receiver>,
    errors: Option<Receiver>,
    buffer: Box<[u8]>,
}

/// And the ends to write to.
pub(super) type Piped = (Output, (OwnedFd, OwnedFd));

impl Output {
    /// Both streams in one pipe.
    pub(super) fn together() -> io::Result<Piped> {
        let (output, writer) = pipe()?;
        let errors = writer.try_clone()?;
        Ok((Output::new(output, None), (writer, errors)))
    }

    /// Each in its own.
    pub(super) fn apart() -> io::Result<Piped> {
        let ((output, writer), (errors, error_writer)) = (pipe()?, pipe()?);
        Ok((Output::new(output, Some(errors)), (writer, error_writer)))
    }

    fn new(output: Receiver, errors: Option<Receiver>) -> Output {
        Output { output: Some(output), errors, buffer: vec![0; BUFFER].into_boxed_slice() }
    }

    fn is_open(&self) -> bool {
        self.output.is_some() || self.errors.is_some()
    }

    /// How much came, on which stream; 0: it was closed. May be cancelled.
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
                // A pipe that cannot be read any more has ended.
                Some(Err(_)) | None => return (stream, 0),
            }
        }
    }

    fn pass_on(&mut self, (stream, length): (Stream, usize), on_output: &mut impl FnMut(Stream, &[u8])) {
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

/// Never, where there is no pipe.
async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // An error is seen by who reads then.
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
            read = output.read(), if output.is_open() => output.pass_on(read, &mut on_output),
            exit = &mut ended => break exit.unwrap_or(Exit::Lost),
        }
    };
    let last = Instant::now() + DRAIN;
    let mut silence = Instant::now() + SILENCE;
    while output.is_open() && Instant::now() < last {
        tokio::select! {
            biased;
            read = output.read() => output.pass_on(read, &mut on_output),
            () = sleep_until(silence.min(last)) => break,
        }
        silence = Instant::now() + SILENCE;
    }
    exit
}
