//! The `serve` command: changes files and runs commands on request of lilt, over stdin and stdout, until they close.

mod missed_saves;
mod request_reader;
mod update;
mod write_paths;
mod written_files;

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use lilt_agent::protocol::{Reply, Request};
use lilt_agent::{VERSION, frame};

use crate::error::{AgentError, WithPath as _, cause};
use crate::home;
use crate::run::STARTED;
use missed_saves::MissedSaves;
use request_reader::RequestReader;
use update::Transaction;
use write_paths::WritePaths;
use written_files::WrittenFiles;

/// The exit code of a shell for a missing command.
const NOT_FOUND: i32 = 127;
/// How many chunks of output are buffered: a command that prints faster than lilt reads is blocked.
const OUTPUT_BUFFER: usize = 16;
/// After a command has exited, its background processes may keep its streams open. Its own output is complete after
/// this long without output …
const QUIET: Duration = Duration::from_millis(500);
/// … or after this many bytes, which is more than pipes hold.
const MAX_TRAILING: usize = 1 << 20;

/// Serves requests. A `guest` is the agent's own file in a container without the agent's volume: it is removed at once,
/// because a running program does not need it. A guest did not start the container's process.
pub(crate) fn serve(guest: Option<&Path>) -> Result<(), AgentError> {
    let paths = match guest {
        Some(program) => {
            // Before the first reply, so that lilt knows that nothing is left behind.
            std::fs::remove_file(program).with_path(program)?;
            WritePaths::default()
        }
        None => WritePaths::read(),
    };
    send(&Reply::Hello { version: VERSION })?;
    let mut requests = RequestReader::new(io::stdin().lock());
    let mut written_files = WrittenFiles::default();
    let mut missed_saves = MissedSaves::new();
    let mut open: Option<Transaction> = None;
    while let Some(request) =
        requests.next(|| missed_saves.until_readable(io::stdin(), &mut written_files))?
    {
        match request {
            Request::Update(update) => {
                let (transaction, missing) = Transaction::begin(&update, &paths, &written_files);
                open = Some(transaction);
                send(&Reply::Missing(missing))?;
            }
            Request::Piece(piece) => match &mut open {
                Some(transaction) => transaction.take(&piece),
                None => {
                    return Err(AgentError::new(
                        "a piece of a file came",
                        "there is no update it belongs to",
                    ));
                }
            },
            Request::Commit => {
                let committed = open.take().map_or(Ok(Vec::new()), Transaction::commit);
                // Before the reply: afterwards others may change a file, and their version must not be recorded as
                // ours.
                let committed = committed.map(|files| {
                    let written = files.iter().map(|(path, _)| path.clone()).collect();
                    files.into_iter().for_each(|(path, digest)| written_files.record(path, digest));
                    written
                });
                let (written, committed) = match committed {
                    Ok(written) => (written, Ok(())),
                    Err(error) => (BTreeSet::new(), Err(error)),
                };
                send(&result_reply(committed))?;
                // After the reply, because it scans all processes.
                missed_saves.record_update(written);
            }
            Request::Run(argv) => run(&argv)?,
            Request::Restart if guest.is_some() => {
                let why = "it was not started by lilt's agent";
                send(&result_reply(Err(AgentError::new("the container's process", why))))?;
            }
            Request::Restart => restart()?,
        }
    }
    Ok(())
}

fn send(reply: &Reply) -> Result<(), AgentError> {
    let mut stdout = io::stdout().lock();
    let sent = stdout.write_all(&frame::encode(&reply.encode())).and_then(|()| stdout.flush());
    sent.map_err(|error| AgentError::new("stdout", cause(&error)))
}

fn result_reply(result: Result<(), AgentError>) -> Reply {
    match result {
        Ok(()) => Reply::Done,
        Err(AgentError { subject, cause }) => Reply::Failed { what: subject, cause },
    }
}

/// Requests a restart from the agent that started the container's process, and forwards its reply. Without a reply the
/// container is ending, and this process with it.
fn restart() -> Result<(), AgentError> {
    let failed = |error: io::Error| AgentError::new("the container's process", cause(&error));
    let mut control = UnixStream::connect(home::control()).map_err(failed)?;
    control.write_all(b"restart\n").map_err(failed)?;
    let mut reply = String::new();
    io::BufReader::new(&control).read_line(&mut reply).map_err(failed)?;
    let restarted = match reply.trim_end() {
        STARTED => Ok(()),
        "" => {
            return Err(AgentError::new("the container's process", "it ended while it was being restarted"));
        }
        why => Err(AgentError::new("the container's process", why)),
    };
    // If it has no process left, the other end exits when this connection is closed.
    send(&result_reply(restarted))
}

fn run(argv: &[String]) -> Result<(), AgentError> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(AgentError::new("a command to run came", "it is empty"));
    };
    let spawned = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    match spawned {
        Ok(child) => {
            let status = stream(child)?.map_err(|error| AgentError::new(program, cause(&error)))?;
            send(&Reply::Exited(exit_code(status)))
        }
        Err(error) => {
            send(&Reply::Stderr(format!("{program}: {}\n", cause(&error)).into_bytes()))?;
            send(&Reply::Exited(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { 126 }))
        }
    }
}

enum OutputEvent {
    /// Output, and its number of bytes.
    Output(Reply, usize),
    Exited(io::Result<ExitStatus>),
}

/// Forwards the output of a command until it has exited and its output is complete. Background processes do not delay
/// this.
fn stream(mut child: Child) -> Result<io::Result<ExitStatus>, AgentError> {
    let (sender, events) = sync_channel(OUTPUT_BUFFER);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stderr_sender, exit_sender) = (sender.clone(), sender.clone());
    // These threads may outlive the command, with its background processes.
    std::thread::spawn(move || forward(stdout, &sender, Reply::Stdout));
    std::thread::spawn(move || forward(stderr, &stderr_sender, Reply::Stderr));
    std::thread::spawn(move || exit_sender.send(OutputEvent::Exited(child.wait())));
    let (mut exited, mut trailing) = (None, [TrailingOutput::default(), TrailingOutput::default()]);
    // After an error the rest is read anyway, so that the command can exit.
    let mut sent = Ok(());
    loop {
        let next = match &exited {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) if trailing.iter().all(TrailingOutput::is_over) => break,
            Some(_) => events.recv_timeout(QUIET),
        };
        match next {
            Ok(OutputEvent::Output(piece, length)) => {
                let trailing_output = &mut trailing[usize::from(matches!(piece, Reply::Stderr(_)))];
                if exited.is_some() && !trailing_output.accept(length) {
                    continue;
                }
                sent = sent.and_then(|()| send(&piece));
            }
            Ok(OutputEvent::Exited(status)) => {
                exited = Some(status);
                trailing = [TrailingOutput::default(), TrailingOutput::default()];
            }
            Err(_) => break,
        }
    }
    sent?;
    Ok(exited.expect("invariant: who waits for the end tells it before it is gone"))
}

/// The output of one stream after the command has exited. Each stream is limited on its own.
struct TrailingOutput {
    bytes: usize,
    last_output: Instant,
}

impl Default for TrailingOutput {
    fn default() -> Self {
        Self { bytes: 0, last_output: Instant::now() }
    }
}

impl TrailingOutput {
    /// Counts bytes, and returns whether they may still be the command's own output.
    fn accept(&mut self, length: usize) -> bool {
        let is_accepted = self.bytes < MAX_TRAILING;
        self.bytes += length;
        self.last_output = Instant::now();
        is_accepted
    }

    fn is_over(&self) -> bool {
        self.bytes >= MAX_TRAILING || self.last_output.elapsed() >= QUIET
    }
}

/// Reads a stream to its end even if nobody receives it: its writers would get SIGPIPE otherwise.
fn forward(from: Option<impl io::Read>, to: &SyncSender<OutputEvent>, wrap: fn(Vec<u8>) -> Reply) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 32 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let _ = to.send(OutputEvent::Output(wrap(buffer[..length].to_vec()), length));
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// Returns whether something exists at a path, without following links.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
