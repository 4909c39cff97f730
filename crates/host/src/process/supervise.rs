//! One process from its start to its end: output passed on as it comes, then how it ended.

use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::time::{Instant, sleep_until};

use super::{Exit, Stream};

/// Small, because there are two for each running process, and a pipe rarely holds more.
const BUFFER: usize = 8 * 1024;
/// Something the process left running may hold its pipes open for ever. After its end we wait this long for more
/// output …
const SILENCE: Duration = Duration::from_millis(200);
/// … and no longer than this in all.
const DRAIN: Duration = Duration::from_secs(1);

pub(super) async fn supervise(mut child: Child, mut on_output: impl FnMut(Stream, &[u8]) + Send) -> Exit {
    let mut stdout = Pipe::new(child.stdout.take());
    let mut stderr = Pipe::new(child.stderr.take());
    let status = {
        let mut ended = pin!(child.wait());
        loop {
            tokio::select! {
                biased;
                length = stdout.read(), if stdout.is_open() => stdout.pass_on(length, Stream::Stdout, &mut on_output),
                length = stderr.read(), if stderr.is_open() => stderr.pass_on(length, Stream::Stderr, &mut on_output),
                status = &mut ended => break status,
            }
        }
    };
    let last = Instant::now() + DRAIN;
    let mut silence = Instant::now() + SILENCE;
    while stdout.is_open() || stderr.is_open() {
        tokio::select! {
            biased;
            length = stdout.read(), if stdout.is_open() => stdout.pass_on(length, Stream::Stdout, &mut on_output),
            length = stderr.read(), if stderr.is_open() => stderr.pass_on(length, Stream::Stderr, &mut on_output),
            () = sleep_until(silence.min(last)) => break,
        }
        if Instant::now() >= last {
            break;
        }
        silence = Instant::now() + SILENCE;
    }
    match status {
        Ok(status) => exit(status),
        Err(error) => {
            // Someone else reaped it, which cannot happen by our own doing.
            tracing::error!(%error, "the end of a process was not seen");
            Exit::Code(-1)
        }
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

struct Pipe<R> {
    /// None: it was closed by all who could write to it.
    reader: Option<R>,
    buffer: Box<[u8]>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(reader: Option<R>) -> Self {
        Self { reader, buffer: vec![0; BUFFER].into_boxed_slice() }
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Zero at the end.
    async fn read(&mut self) -> usize {
        match &mut self.reader {
            // A pipe that cannot be read any more has ended.
            Some(reader) => reader.read(&mut self.buffer).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    fn pass_on(&mut self, length: usize, stream: Stream, on_output: &mut impl FnMut(Stream, &[u8])) {
        if length == 0 {
            self.reader = None;
        } else {
            on_output(stream, &self.buffer[..length]);
        }
    }
}
