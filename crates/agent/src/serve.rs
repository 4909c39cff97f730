//! Changes files and runs commands at lilt's word, over stdin and stdout, until they close.

mod memory;
mod place;
mod read;
mod update;

use std::io::{self, BufRead as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};

use lilt_agent::protocol::{Answer, Request};
use lilt_agent::{VERSION, frame};

use crate::home;
use crate::problem::{Problem, cause};
use memory::Memory;
use place::Places;
use read::Requests;
use update::Transaction;

/// What a shell answers for a command that is not there.
const NOT_FOUND: i32 = 127;
/// Pieces of output on their way: a command that prints faster than lilt reads waits.
const OUTPUT_AHEAD: usize = 16;

pub(crate) fn serve() -> Result<(), Problem> {
    let places = Places::read();
    say(&Answer::Hello { version: VERSION })?;
    let mut requests = Requests::new(io::stdin().lock());
    let mut memory = Memory::default();
    let mut open: Option<Transaction> = None;
    while let Some(request) = requests.next()? {
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
                let committed = open.take().map_or(Ok(()), |transaction| transaction.commit(&mut memory));
                say(&outcome(committed))?;
            }
            Request::Run(argv) => run(&argv)?,
            Request::Restart => say(&outcome(restart()))?,
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

/// Asks the agent that started the container's process.
fn restart() -> Result<(), Problem> {
    let failed = |error: io::Error| Problem::new("the container's process", cause(&error));
    let mut control = UnixStream::connect(home::control()).map_err(failed)?;
    control.write_all(b"restart\n").map_err(failed)?;
    let mut answer = String::new();
    io::BufReader::new(control).read_line(&mut answer).map_err(failed)?;
    match answer.trim_end() {
        "started" => Ok(()),
        "" => Err(Problem::new("the container's process", "it ended while it was being restarted")),
        why => Err(Problem::new("the container's process", why)),
    }
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
        Ok(mut child) => {
            stream(&mut child)?;
            let status = child.wait().map_err(|error| Problem::new(program, cause(&error)))?;
            say(&Answer::Exited(code(status)))
        }
        Err(error) => {
            say(&Answer::Stderr(format!("{program}: {}\n", cause(&error)).into_bytes()))?;
            say(&Answer::Exited(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { 126 }))
        }
    }
}

/// What it prints, until both streams are closed.
fn stream(child: &mut Child) -> Result<(), Problem> {
    let (sender, pieces) = sync_channel(OUTPUT_AHEAD);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let other = sender.clone();
        scope.spawn(move || forward(stdout, &sender, Answer::Stdout));
        scope.spawn(move || forward(stderr, &other, Answer::Stderr));
        // When nobody listens any more the rest is read all the same, so that the command can end.
        let mut heard = Ok(());
        for piece in pieces {
            if heard.is_ok() {
                heard = say(&piece);
            }
        }
        heard
    })
}

fn forward(from: Option<impl io::Read>, to: &SyncSender<Answer>, wrap: fn(Vec<u8>) -> Answer) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 32 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.send(wrap(buffer[..length].to_vec())).is_err() {
            return;
        }
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// Whether what a path leads to is there, whatever it is.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
