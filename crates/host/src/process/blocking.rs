//! Runs a command to its end on the calling thread: for the evaluation of a Tiltfile, which is not asynchronous.
//!
//! The command is the leader of a process group. Its output is read line by line, and a cancelled command is ended with
//! its whole group.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use lilt_model::command::Command;

use nix::unistd::Pid;

use super::{Exit, Guardian, Held, Launch, stop};
use crate::environment;

/// How often cancellation is checked while the command prints nothing.
const CANCELLATION_INTERVAL: Duration = Duration::from_millis(20);
/// How long a cancelled command has to end by itself.
const GRACE: Duration = Duration::from_millis(300);

/// The result of a command that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// None if a signal ended it.
    pub exit_code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Starts commands that [`run_blocking`] waits for.
pub trait CommandStarter {
    /// Starts a command as the leader of a new process group.
    ///
    /// It gets this environment and no other, with the command's own variables on top of it.
    fn start(
        &self,
        command: &Command,
        environment: &[(String, String)],
        input: Option<io::PipeReader>,
        output: io::PipeWriter,
        errors: io::PipeWriter,
    ) -> io::Result<Box<dyn RunningCommand>>;
}

/// A command that was started.
pub trait RunningCommand {
    /// Returns none while it runs; then its exit code, or none if a signal ended it.
    fn try_wait(&mut self) -> io::Result<Option<Option<i32>>>;

    /// Asks its process group to end (SIGTERM), or kills it (SIGKILL) if `is_forced`.
    fn end(&mut self, is_forced: bool);
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

/// Runs a command to its end. `each_line` gets its output as it comes.
///
/// Returns an error of the kind `Interrupted` if it was `cancelled`.
pub fn run_blocking(
    starter: &dyn CommandStarter,
    command: &Command,
    environment: &[(String, String)],
    stdin: Option<&[u8]>,
    cancelled: &(dyn Fn() -> bool + Sync),
    each_line: &mut dyn FnMut(&str),
) -> io::Result<CapturedOutput> {
    let (input, input_writer) = stdin.map(|_| io::pipe()).transpose()?.unzip();
    let ((stdout, stdout_writer), (stderr, stderr_writer)) = (io::pipe()?, io::pipe()?);
    let mut child = starter.start(command, environment, input, stdout_writer, stderr_writer)?;
    // Bounded, so that a child that prints without end waits for the reader instead of filling the memory.
    let (sender, lines) = sync_channel(256);
    std::thread::scope(|scope| {
        if let (Some(mut writer), Some(content)) = (input_writer, stdin) {
            // A child may close its stdin early: that is no error.
            scope.spawn(move || drop(writer.write_all(content)));
        }
        let stdout_sender = sender.clone();
        scope.spawn(move || send_lines(stdout, Stream::Stdout, &stdout_sender));
        scope.spawn(move || send_lines(stderr, Stream::Stderr, &sender));
        let mut output = CapturedOutput::default();
        let has_finished = collect_lines(&lines, &mut output, cancelled, each_line);
        let exit_code = if has_finished { wait(&mut *child, cancelled)? } else { None };
        let Some(exit_code) = exit_code else {
            end_group(&mut *child)?;
            drop(lines);
            return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
        };
        output.exit_code = exit_code;
        Ok(output)
    })
}

/// Starts commands by the guardian, so that they end with lilt, however that ends.
impl CommandStarter for Guardian {
    fn start(
        &self,
        command: &Command,
        environment: &[(String, String)],
        input: Option<io::PipeReader>,
        output: io::PipeWriter,
        errors: io::PipeWriter,
    ) -> io::Result<Box<dyn RunningCommand>> {
        let env: Vec<(String, String)> = environment.iter().chain(&command.env).cloned().collect();
        let set: BTreeSet<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
        // The guardian passes its own environment on: all other variables are removed.
        let unset = environment::names().into_iter().filter(|name| !set.contains(name.as_str())).collect();
        let launch = Launch { argv: command.argv.clone(), dir: command.dir.clone(), env, unset };
        let held = self.hold(&launch, input.map(Into::into), output.into(), errors.into())?;
        Ok(Box::new(held))
    }
}

impl RunningCommand for Held {
    fn try_wait(&mut self) -> io::Result<Option<Option<i32>>> {
        Ok(Held::try_wait(self).map(|exit| match exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::Lost => None,
        }))
    }

    fn end(&mut self, is_forced: bool) {
        Held::end(self, is_forced);
    }
}

/// Starts commands as children of this process: for programs that have no guardian, such as tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectStarter;

impl CommandStarter for DirectStarter {
    fn start(
        &self,
        command: &Command,
        environment: &[(String, String)],
        input: Option<io::PipeReader>,
        output: io::PipeWriter,
        errors: io::PipeWriter,
    ) -> io::Result<Box<dyn RunningCommand>> {
        let mut process = Launch::from(command).command()?;
        process.env_clear().envs(environment.iter().cloned()).envs(command.env.iter().cloned());
        process.stdin(input.map_or_else(Stdio::null, Stdio::from));
        process.stdout(output).stderr(errors);
        Ok(Box::new(process.spawn()?))
    }
}

impl RunningCommand for Child {
    fn try_wait(&mut self) -> io::Result<Option<Option<i32>>> {
        Ok(Child::try_wait(self)?.map(|status| status.code()))
    }

    fn end(&mut self, is_forced: bool) {
        if let Ok(pid) = i32::try_from(self.id()) {
            stop::signal_group(Pid::from_raw(pid), is_forced);
        }
    }
}

fn send_lines(source: impl Read, stream: Stream, lines: &SyncSender<(Stream, Vec<u8>)>) {
    let mut reader = BufReader::new(source);
    loop {
        let mut line = Vec::new();
        // A read error on a pipe means the same as its end.
        if !matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            return;
        }
        if lines.send((stream, line)).is_err() {
            return;
        }
    }
}

/// Collects the output. Returns false if the command was cancelled.
fn collect_lines(
    lines: &Receiver<(Stream, Vec<u8>)>,
    output: &mut CapturedOutput,
    cancelled: &(dyn Fn() -> bool + Sync),
    each_line: &mut dyn FnMut(&str),
) -> bool {
    loop {
        match lines.recv_timeout(CANCELLATION_INTERVAL) {
            Ok((stream, line)) => {
                each_line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
                match stream {
                    Stream::Stdout => output.stdout.extend(line),
                    Stream::Stderr => output.stderr.extend(line),
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

/// Waits for a command that has closed its output. Returns none if it was cancelled, otherwise its exit code.
fn wait(
    child: &mut dyn RunningCommand,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> io::Result<Option<Option<i32>>> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(exit_code) = child.try_wait()? {
            return Ok(Some(exit_code));
        }
        if cancelled() {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(CANCELLATION_INTERVAL);
    }
}

/// Asks the process group to end, and kills what is left of it after a grace period.
fn end_group(child: &mut dyn RunningCommand) -> io::Result<()> {
    child.end(false);
    let deadline = Instant::now() + GRACE;
    let mut ended = false;
    while !ended && Instant::now() < deadline {
        ended = child.try_wait()?.is_some();
        if !ended {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    // Also when the child itself has ended: others of its group may still run.
    child.end(true);
    while !ended && child.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        line: &str,
        stdin: Option<&[u8]>,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> io::Result<CapturedOutput> {
        let environment = [("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("A".to_owned(), "1".to_owned())];
        let command = Command::shell(line, "/");
        run_blocking(&DirectStarter, &command, &environment, stdin, cancelled, &mut |_| {})
    }

    #[test]
    fn output_exit_code_and_environment_are_those_of_the_command() {
        let output = run("cat; echo $A $HOME >&2; exit 3", Some(b"in"), &|| false).expect("it runs");
        assert_eq!(output.exit_code, Some(3));
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.as_slice()),
            (b"in".as_slice(), b"1\n".as_slice())
        );
        assert_eq!(run("kill -9 $$", None, &|| false).expect("it runs").exit_code, None);
    }

    #[test]
    fn cancelled_command_is_interrupted() {
        let error = run("sleep 1000", None, &|| true).expect_err("it is cancelled");
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
