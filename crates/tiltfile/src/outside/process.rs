//! A child process in a group of its own, read line by line, ended with all its children.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use lilt_model::command::Command;

use super::Output;

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
    command: &Command,
    environment: &[(String, String)],
    stdin: Option<&[u8]>,
    cancelled: &(dyn Fn() -> bool + Sync),
    each_line: &mut dyn FnMut(&str),
) -> io::Result<Output> {
    let mut child = spawn(command, environment, stdin.is_some())?;
    let (out, error, input) = (child.stdout.take(), child.stderr.take(), child.stdin.take());
    // Bounded, so that a child that floods us waits for the reader instead of filling the memory.
    let (sender, lines) = sync_channel(256);
    std::thread::scope(|scope| {
        if let (Some(mut input), Some(content)) = (input, stdin) {
            // A child may close its stdin early: not our failure.
            scope.spawn(move || drop(input.write_all(content)));
        }
        if let Some(out) = out {
            let sender = sender.clone();
            scope.spawn(move || forward(out, Stream::Out, &sender));
        }
        if let Some(error) = error {
            let sender = sender.clone();
            scope.spawn(move || forward(error, Stream::Error, &sender));
        }
        drop(sender);
        let mut output = Output::default();
        let finished = collect(&lines, &mut output, cancelled, each_line) && wait(&mut child, cancelled)?;
        if !finished {
            end(&mut child);
            drop(lines);
            return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
        }
        output.exit_code = child.wait()?.code();
        Ok(output)
    })
}

fn spawn(command: &Command, environment: &[(String, String)], with_stdin: bool) -> io::Result<Child> {
    let (program, arguments) = command
        .argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "empty command"))?;
    let mut process = std::process::Command::new(program);
    process.args(arguments).current_dir(&command.dir).env_clear();
    process.envs(environment.iter().cloned()).envs(command.env.iter().cloned());
    process.stdin(if with_stdin { Stdio::piped() } else { Stdio::null() });
    process.stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut process, 0);
    process.spawn()
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

/// A child may close its output and go on. False if it was cancelled.
fn wait(child: &mut Child, cancelled: &(dyn Fn() -> bool + Sync)) -> io::Result<bool> {
    let mut pause = Duration::from_micros(200);
    while child.try_wait()?.is_none() {
        if cancelled() {
            return Ok(false);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    }
    Ok(true)
}

fn end(child: &mut Child) {
    signal(child, false);
    let deadline = Instant::now() + GRACE;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Also when the child itself is gone: its group may live on.
    signal(child, true);
    let _ = child.wait();
}

#[cfg(unix)]
fn signal(child: &mut Child, hard: bool) {
    use nix::sys::signal::{Signal, killpg};
    let signal = if hard { Signal::SIGKILL } else { Signal::SIGTERM };
    if let Ok(group) = i32::try_from(child.id()) {
        // Fails when the whole group is gone, which is what we want.
        let _ = killpg(nix::unistd::Pid::from_raw(group), signal);
    }
}

#[cfg(not(unix))]
fn signal(child: &mut Child, _hard: bool) {
    let _ = child.kill();
}
