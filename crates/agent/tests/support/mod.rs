//! The agent as a process of this machine, and lilt's side of its language.
#![allow(clippy::disallowed_methods, reason = "a test uses this machine as it is")]
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod noise;

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lilt_agent::chunks::{self, Chunk};
use lilt_agent::protocol::{Answer, Entry, Has, Kind, Request, Update, Want};
use lilt_agent::{Digest, digest, frame, transfer};
use tempfile::TempDir;

/// A directory with the agent in it, as a container has one.
pub(crate) fn home() -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let program = home.path().join("agent");
    let status =
        Command::new(env!("CARGO_BIN_EXE_lilt-agent")).arg("install").arg(&program).status().unwrap();
    assert!(status.success());
    (home, program)
}

pub(crate) fn eventually<T>(what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(fact) = fact() {
            return fact;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) struct Serving {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    /// Bytes that were sent.
    pub(crate) sent: usize,
    /// Bytes that came.
    pub(crate) received: usize,
    /// What was sent before, as lilt remembers it.
    known: HashMap<Digest, Vec<Chunk>>,
}

impl Serving {
    pub(crate) fn start(program: &Path) -> Self {
        Self::start_with(Command::new(program).arg("serve"))
    }

    pub(crate) fn start_with(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut serving =
            Self { child, stdin, stdout, buffer: Vec::new(), sent: 0, received: 0, known: HashMap::new() };
        assert_eq!(serving.answer(), Some(Answer::Hello { version: lilt_agent::VERSION }));
        serving
    }

    pub(crate) fn say(&mut self, request: &Request) {
        let frame = frame::wrap(&request.encode());
        self.sent += frame.len();
        self.stdin.as_mut().unwrap().write_all(&frame).unwrap();
    }

    /// None when it is gone.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        loop {
            if let Some((message, length)) = frame::unwrap(&self.buffer).unwrap() {
                let answer = Answer::decode(message).unwrap();
                self.buffer.drain(..length);
                return Some(answer);
            }
            let mut piece = [0; 65536];
            match self.stdout.read(&mut piece).unwrap() {
                0 => return None,
                length => {
                    self.received += length;
                    self.buffer.extend(&piece[..length]);
                }
            }
        }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn begin(&mut self, update: &Update) -> Vec<Want> {
        self.say(&Request::Update(update.clone()));
        match self.answer() {
            Some(Answer::Wants(wants)) => wants,
            other => panic!("{other:?}"),
        }
    }

    /// Sends all of an update; `contents` are those of its entries.
    pub(crate) fn update(&mut self, update: &Update, contents: &[Vec<u8>]) -> Result<(), String> {
        for want in self.begin(update) {
            let content = &contents[want.entry as usize];
            let has = match want.has {
                Has::Nothing => Vec::new(),
                Has::Known(digest) => self.known[&digest].clone(),
                Has::Chunks(chunks) => chunks,
            };
            let chunks = chunks::of(content);
            for piece in transfer::pieces(want.entry, content, &chunks, &has) {
                self.say(&Request::Piece(piece));
            }
        }
        for content in contents {
            self.known.insert(digest(content), chunks::of(content));
        }
        self.say(&Request::Commit);
        self.outcome()
    }

    pub(crate) fn outcome(&mut self) -> Result<(), String> {
        match self.answer() {
            Some(Answer::Done) => Ok(()),
            Some(Answer::Failed { what, cause }) => Err(format!("{what}: {cause}")),
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It ends by itself when nobody speaks to it any more.
        self.stdin = None;
        let _ = self.child.wait();
    }
}

pub(crate) fn file(path: &Path, mode: u32, content: &[u8]) -> Entry {
    let kind = Kind::File {
        mode,
        modified: 1_700_000_000_000_000,
        size: content.len() as u64,
        digest: lilt_agent::digest(content),
    };
    Entry { path: path.to_str().unwrap().to_owned(), kind }
}

/// An update of one file.
pub(crate) fn one(path: &Path, content: &[u8]) -> (Update, Vec<Vec<u8>>) {
    (Update { removals: Vec::new(), entries: vec![file(path, 0o644, content)] }, vec![content.to_vec()])
}

/// What lies below a directory, but for the times of files and directories, in order.
pub(crate) fn tree(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    walk(root, root, &mut lines);
    lines.sort();
    lines
}

fn walk(root: &Path, folder: &Path, lines: &mut Vec<String>) {
    use std::os::unix::fs::MetadataExt as _;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if about.is_symlink() {
            lines.push(format!("{name} -> {} at {}", path.read_link().unwrap().display(), about.mtime()));
        } else if about.is_dir() {
            lines.push(format!("{name}/ {:o}", about.mode() & 0o7777));
            walk(root, &path, lines);
        } else {
            let digest = lilt_agent::digest(&std::fs::read(&path).unwrap());
            lines.push(format!("{name} {:o} {:x?}", about.mode() & 0o7777, &digest[..4]));
        }
    }
}
