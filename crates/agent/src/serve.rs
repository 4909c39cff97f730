//! Changes files and runs commands at lilt's word, over stdin and stdout, until they close.

mod memory;
mod place;
mod read;
mod repeat;
mod update;

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use lilt_agent::protocol::{Answer, Request};
use lilt_agent::{VERSION, frame};

use crate::home;
use crate::problem::{About as _, Problem, cause};
use crate::run::STARTED;
use memory::Memory;
use place::Places;
use read::Requests;
use repeat::Repeat;
use update::Transaction;

/// What a shell answers for a command that is not there.
const NOT_FOUND: i32 = 127;
/// Pieces of output on their way: a command that prints faster than lilt reads waits.
const OUTPUT_AHEAD: usize = 16;
/// A command has ended, and what it left running still has its streams: what it said itself is here after so much quiet,
const QUIET: Duration = Duration::from_millis(500);
/// or after so many bytes, if there is no quiet: more than pipes hold.
const LONGEST_REST: usize = 1 << 20;

/// A `guest` is in a container that was made without it: its own file, which is not needed once it runs, is all that it has
/// there, and it did not start the container's process.
pub(crate) fn serve(guest: Option<&Path>) -> Result<(), Problem> {
    let places = match guest {
        Some(program) => {
            // Before the first word: who hears it knows that nothing is left behind.
            std::fs::remove_file(program).about(program)?;
            Places::default()
        }
        None => Places::read(),
    };
    say(&Answer::Hello { version: VERSION })?;
    let mut requests = Requests::new(io::stdin().lock());
    let mut memory = Memory::default();
    let mut repeat = Repeat::new();
    let mut open: Option<Transaction> = None;
    while let Some(request) = requests.next(|| repeat.until_readable(io::stdin(), &mut memory))? {
        match request {
            Request::Update(update) => {
                let (transaction, wants) = Transaction::begin(&update, &places, &memory);
                open = Some(transaction);
                say(&Answer::Wants(wants))?;
            }
            Request::Piece(piece) => match &mut open {
                Some(transaction) => transaction.take(&piece),
                None => {
                    return Err(Problem::new("a piece of a file came", "there is no update it belongs to"));
                }
            },
            Request::Commit => {
                let committed = open.take().map_or(Ok(Vec::new()), Transaction::commit);
                // Before the answer: whoever hears it may change a file, and what they make of it must not be taken for ours.
                let committed = committed.map(|files| {
                    let written = files.iter().map(|(path, _)| path.clone()).collect();
                    files.into_iter().for_each(|(path, digest)| memory.keep(path, digest));
                    written
                });
                let (written, committed) = match committed {
                    Ok(written) => (written, Ok(())),
                    Err(problem) => (BTreeSet::new(), Err(problem)),
                };
                say(&outcome(committed))?;
                // After the answer, because it reads about all processes.
                repeat.updated(written);
            }
            Request::Run(argv) => run(&argv)?,
            Request::Restart if guest.is_some() => {
                let why = "it was not started by lilt's agent";
                say(&outcome(Err(Problem::new("the container's process", why))))?;
            }
            Request::Restart => restart()?,
        }
    }
    Ok(())
}

fn say(answer: &Answer) -> Result<(), Problem> {
    let mut stdout = io::stdout().lock();
    let said = stdout.write_all(&frame::wrap(&answer.encode())).and_then(|()| stdout.flush());
    said.map_err(|error| Problem::new("stdout", cause(&error)))
}

fn outcome(result: Result<(), Problem>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(Problem { what, cause }) => Answer::Failed { what, cause },
    }
}

/// Asks the agent that started the container's process, and says what it answers. If it does not, the container ends, and
/// this process with it.
fn restart() -> Result<(), Problem> {
    let failed = |error: io::Error| Problem::new("the container's process", cause(&error));
    let mut control = UnixStream::connect(home::control()).map_err(failed)?;
    control.write_all(b"restart\n").map_err(failed)?;
    let mut answer = String::new();
    io::BufReader::new(&control).read_line(&mut answer).map_err(failed)?;
    let restarted = match answer.trim_end() {
        STARTED => Ok(()),
        "" => return Err(Problem::new("the container's process", "it ended while it was being restarted")),
        why => Err(Problem::new("the container's process", why)),
    };
    // The other end waits for the close of the connection before it ends for lack of a process.
    say(&outcome(restarted))
}

fn run(argv: &[String]) -> Result<(), Problem> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Problem::new("a command to run came", "it is empty"));
    };
    let spawned = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    match spawned {
        Ok(child) => {
            let status = stream(child)?.map_err(|error| Problem::new(program, cause(&error)))?;
            say(&Answer::Exited(code(status)))
        }
        Err(error) => {
            say(&Answer::Stderr(format!("{program}: {}\n", cause(&error)).into_bytes()))?;
            say(&Answer::Exited(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { 126 }))
        }
    }
}

enum Heard {
    /// And of how many bytes.
    Piece(Answer, usize),
    Ended(io::Result<ExitStatus>),
}

/// Tells what it prints, until it has ended and said everything. What it left in the background does not hold it up.
fn stream(mut child: Child) -> Result<io::Result<ExitStatus>, Problem> {
    let (sender, heard) = sync_channel(OUTPUT_AHEAD);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (other, last) = (sender.clone(), sender.clone());
    // They may outlive the command, with what it left.
    std::thread::spawn(move || forward(stdout, &sender, Answer::Stdout));
    std::thread::spawn(move || forward(stderr, &other, Answer::Stderr));
    std::thread::spawn(move || last.send(Heard::Ended(child.wait())));
    let (mut ended, mut rests) = (None, [Rest::default(), Rest::default()]);
    // When nobody listens any more the rest is read all the same, so that the command can end.
    let mut told = Ok(());
    loop {
        let next = match &ended {
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) if rests.iter().all(Rest::is_over) => break,
            Some(_) => heard.recv_timeout(QUIET),
        };
        match next {
            Ok(Heard::Piece(piece, length)) => {
                let rest = &mut rests[usize::from(matches!(piece, Answer::Stderr(_)))];
                if ended.is_some() && !rest.take(length) {
                    continue;
                }
                told = told.and_then(|()| say(&piece));
            }
            Ok(Heard::Ended(status)) => {
                ended = Some(status);
                rests = [Rest::default(), Rest::default()];
            }
            Err(_) => break,
        }
    }
    told?;
    Ok(ended.expect("invariant: who waits for the end tells it before it is gone"))
}

/// What is heard of one stream after the command has ended. The other one may be loud.
struct Rest {
    bytes: usize,
    heard: Instant,
}

impl Default for Rest {
    fn default() -> Self {
        Self { bytes: 0, heard: Instant::now() }
    }
}

impl Rest {
    /// Whether so many more bytes may still be of the command itself.
    fn take(&mut self, length: usize) -> bool {
        let may_be = self.bytes < LONGEST_REST;
        self.bytes += length;
        self.heard = Instant::now();
        may_be
    }

    fn is_over(&self) -> bool {
        self.bytes >= LONGEST_REST || self.heard.elapsed() >= QUIET
    }
}

/// Also what nobody waits for any more is read: who writes it would be ended otherwise.
fn forward(from: Option<impl io::Read>, to: &SyncSender<Heard>, wrap: fn(Vec<u8>) -> Answer) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 32 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let _ = to.send(Heard::Piece(wrap(buffer[..length].to_vec()), length));
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// Whether what a path leads to is there, whatever it is.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
