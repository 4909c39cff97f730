//! Runs the agent as a local process and implements lilt's side of the protocol.
#![allow(clippy::disallowed_methods, reason = "clippy.toml's rules are not for tests")]
#![allow(dead_code, reason = "each test uses only some of it")]

pub(crate) mod noise;

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lilt_agent::chunks::{self, Chunk};
use lilt_agent::protocol::{Entry, Kind, MissingFile, PresentContent, Reply, Request, Update};
use lilt_agent::{Digest, digest, frame, transfer};
use tempfile::TempDir;

/// Installs the agent into a directory, as in a container.
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

pub(crate) struct AgentClient {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    /// The number of bytes sent.
    pub(crate) sent: usize,
    /// The number of bytes received.
    pub(crate) received: usize,
    /// The chunks of earlier contents by digest, as lilt keeps them.
    known: HashMap<Digest, Vec<Chunk>>,
}

impl AgentClient {
    pub(crate) fn start(program: &Path) -> Self {
        Self::start_with(Command::new(program).arg("serve"))
    }

    pub(crate) fn start_with(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut client =
            Self { child, stdin, stdout, buffer: Vec::new(), sent: 0, received: 0, known: HashMap::new() };
        assert_eq!(client.reply(), Some(Reply::Hello { version: lilt_agent::VERSION }));
        client
    }

    pub(crate) fn send(&mut self, request: &Request) {
        let frame = frame::encode(&request.encode());
        self.sent += frame.len();
        self.stdin.as_mut().unwrap().write_all(&frame).unwrap();
    }

    /// Returns the next reply, or `None` if the agent has exited.
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        loop {
            if let Some((message, length)) = frame::decode(&self.buffer).unwrap() {
                let reply = Reply::decode(message).unwrap();
                self.buffer.drain(..length);
                return Some(reply);
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

    pub(crate) fn begin(&mut self, update: &Update) -> Vec<MissingFile> {
        self.send(&Request::Update(update.clone()));
        match self.reply() {
            Some(Reply::Missing(wants)) => wants,
            other => panic!("{other:?}"),
        }
    }

    /// Sends a whole update; `contents` are those of its entries.
    pub(crate) fn update(&mut self, update: &Update, contents: &[Vec<u8>]) -> Result<(), String> {
        for want in self.begin(update) {
            let content = &contents[want.entry as usize];
            let present = match want.present {
                PresentContent::Nothing => Vec::new(),
                PresentContent::Known(digest) => self.known[&digest].clone(),
                PresentContent::Chunks(chunks) => chunks,
            };
            let chunks = chunks::chunks_of(content);
            for piece in transfer::pieces(want.entry, content, &chunks, &present) {
                self.send(&Request::Piece(piece));
            }
        }
        for content in contents {
            self.known.insert(digest(content), chunks::chunks_of(content));
        }
        self.send(&Request::Commit);
        self.outcome()
    }

    pub(crate) fn outcome(&mut self) -> Result<(), String> {
        match self.reply() {
            Some(Reply::Done) => Ok(()),
            Some(Reply::Failed { what, cause }) => Err(format!("{what}: {cause}")),
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for AgentClient {
    fn drop(&mut self) {
        // The agent exits when its stdin is closed.
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

/// Returns an update of one file.
pub(crate) fn one(path: &Path, content: &[u8]) -> (Update, Vec<Vec<u8>>) {
    (Update { removals: Vec::new(), entries: vec![file(path, 0o644, content)] }, vec![content.to_vec()])
}

/// Lists all entries below a directory, sorted, without the times of files and directories.
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
        let metadata = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if metadata.is_symlink() {
            lines.push(format!("{name} -> {} at {}", path.read_link().unwrap().display(), metadata.mtime()));
        } else if metadata.is_dir() {
            lines.push(format!("{name}/ {:o}", metadata.mode() & 0o7777));
            walk(root, &path, lines);
        } else {
            let digest = lilt_agent::digest(&std::fs::read(&path).unwrap());
            lines.push(format!("{name} {:o} {:x?}", metadata.mode() & 0o7777, &digest[..4]));
        }
    }
}
