//! A child process in a group of its own, read line by line, ended with all its children.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use lilt_model::command::Command;

use super::{Output, Running, Starter};

/// How often to look whether the run was cancelled while the child says nothing.
const LOOK: Duration = Duration::from_millis(20);
/// What a cancelled child gets to end by itself.
const GRACE: Duration = Duration::from_millis(300);

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Error,
}

pub(super) fn run(
    starter: &dyn Starter,
    command: &Command,
    environment: &[(String, String)],
    stdin: Option<&[u8]>,
    cancelled: &(dyn Fn() -> bool + Sync),
    each_line: &mut dyn FnMut(&str),
) -> io::Result<Output> {
    let (input, feed) = stdin.map(|_| io::pipe()).transpose()?.unzip();
    let ((out, to_out), (error, to_error)) = (io::pipe()?, io::pipe()?);
    let mut child = starter.start(command, environment, input, to_out, to_error)?;
    // Bounded, so that a child that floods us waits for the reader instead of filling the memory.
    let (sender, lines) = sync_channel(256);
    std::thread::scope(|scope| {
        if let (Some(mut feed), Some(content)) = (feed, stdin) {
            // A child may close its stdin early: not our failure.
            scope.spawn(move || drop(feed.write_all(content)));
        }
        let to_us = sender.clone();
        scope.spawn(move || forward(out, Stream::Out, &to_us));
        scope.spawn(move || forward(error, Stream::Error, &sender));
        let mut output = Output::default();
        let finished = collect(&lines, &mut output, cancelled, each_line);
        let exit_code = if finished { wait(&mut *child, cancelled)? } else { None };
        let Some(exit_code) = exit_code else {
            end(&mut *child)?;
            drop(lines);
            return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
        };
        output.exit_code = exit_code;
        Ok(output)
    })
}

/// Starts commands as children of this process.
#[derive(Debug)]
pub(super) struct Direct;

impl Starter for Direct {
    fn start(
        &self,
        command: &Command,
        environment: &[(String, String)],
        input: Option<io::PipeReader>,
        output: io::PipeWriter,
        errors: io::PipeWriter,
    ) -> io::Result<Box<dyn Running>> {
        let (program, arguments) = command
            .argv
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "empty command"))?;
        let mut process = std::process::Command::new(program);
        process.args(arguments).current_dir(&command.dir).env_clear();
        process.envs(environment.iter().cloned()).envs(command.env.iter().cloned());
        process.stdin(input.map_or_else(Stdio::null, Stdio::from));
        process.stdout(output).stderr(errors);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        Ok(Box::new(process.spawn()?))
    }
}

impl Running for Child {
    fn try_wait(&mut self) -> io::Result<Option<Option<i32>>> {
        Ok(Child::try_wait(self)?.map(|status| status.code()))
    }

    #[cfg(unix)]
    fn end(&mut self, hard: bool) {
        use nix::sys::signal::{Signal, killpg};
        let signal = if hard { Signal::SIGKILL } else { Signal::SIGTERM };
        if let Ok(group) = i32::try_from(self.id()) {
            // Fails when the whole group is gone, which is what we want.
            let _ = killpg(nix::unistd::Pid::from_raw(group), signal);
        }
    }

    #[cfg(not(unix))]
    fn end(&mut self, _hard: bool) {
        let _ = self.kill();
    }
}

fn forward(stream: impl Read, kind: Stream, lines: &SyncSender<(Stream, Vec<u8>)>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        // A read error on a pipe means that it is gone: the same as its end.
        if !matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            return;
        }
        if lines.send((kind, line)).is_err() {
            return;
        }
    }
}

/// False if it was cancelled.
fn collect(
    lines: &Receiver<(Stream, Vec<u8>)>,
    output: &mut Output,
    cancelled: &(dyn Fn() -> bool + Sync),
    each_line: &mut dyn FnMut(&str),
) -> bool {
    loop {
        match lines.recv_timeout(LOOK) {
            Ok((stream, line)) => {
                each_line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
                match stream {
                    Stream::Out => output.stdout.extend(line),
                    Stream::Error => output.stderr.extend(line),
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return true,
        }
        if cancelled() {
            return false;
        }
    }
}

/// A child may close its output and go on. The outer is none if it was cancelled.
fn wait(child: &mut dyn Running, cancelled: &(dyn Fn() -> bool + Sync)) -> io::Result<Option<Option<i32>>> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(exit_code) = child.try_wait()? {
            return Ok(Some(exit_code));
        }
        if cancelled() {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    }
}

fn end(child: &mut dyn Running) -> io::Result<()> {
    child.end(false);
    let deadline = Instant::now() + GRACE;
    let mut ended = false;
    while !ended && Instant::now() < deadline {
        ended = child.try_wait()?.is_some();
        if !ended {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    // Also when the child itself is gone: its group may live on.
    child.end(true);
    while !ended && child.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
