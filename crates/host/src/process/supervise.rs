//! One process from its start to its end: output passed on as it comes, then how it ended.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
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

/// What a process writes, both its streams in the order in which it wrote.
pub(super) struct Output {
    /// None: it was closed by all who could write to it.
    pipe: Option<Receiver>,
    buffer: Box<[u8]>,
}

impl Output {
    /// And the end to write to.
    pub(super) fn new() -> io::Result<(Output, OwnedFd)> {
        let (reader, writer) = std::io::pipe()?;
        let pipe = Receiver::from_owned_fd(reader.into())?;
        Ok((Output { pipe: Some(pipe), buffer: vec![0; BUFFER].into_boxed_slice() }, writer.into()))
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    async fn read(&mut self) -> usize {
        match &mut self.pipe {
            // A pipe that cannot be read any more has ended.
            Some(pipe) => pipe.read(&mut self.buffer).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    fn pass_on(&mut self, length: usize, on_output: &mut impl FnMut(&[u8])) {
        if length == 0 {
            self.pipe = None;
        } else {
            on_output(&self.buffer[..length]);
        }
    }
}

pub(super) async fn supervise(
    mut output: Output,
    mut ended: oneshot::Receiver<Exit>,
    mut on_output: impl FnMut(&[u8]) + Send,
) -> Exit {
    let exit = loop {
        tokio::select! {
            biased;
            length = output.read(), if output.is_open() => output.pass_on(length, &mut on_output),
            exit = &mut ended => break exit.unwrap_or(Exit::Lost),
        }
    };
    let last = Instant::now() + DRAIN;
    let mut silence = Instant::now() + SILENCE;
    while output.is_open() && Instant::now() < last {
        tokio::select! {
            biased;
            length = output.read() => output.pass_on(length, &mut on_output),
            () = sleep_until(silence.min(last)) => break,
        }
        silence = Instant::now() + SILENCE;
    }
    exit
}
