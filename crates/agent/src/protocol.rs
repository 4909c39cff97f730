//! The protocol between lilt and the agent, over one exec connection that stays open.
//!
//! The agent starts with [`Reply::Hello`]. A [`Request::Update`] lists the changes of one batch of saves;
//! [`Reply::Missing`] says which contents the container lacks. They follow as [`Request::Piece`]s, without a reply
//! each. [`Request::Commit`] applies everything at once; its reply is [`Reply::Done`], or [`Reply::Failed`], where
//! possible with nothing changed. [`Request::Run`] is answered by the command's output and its exit code.
//!
//! Messages are encoded by postcard. It costs the agent 6 kB of 960 kB over an encoding written by hand, and takes the same
//! time: 1.2 ms to decode an update of 10,000 files, 0.13 ms for a piece of 256 kB.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Digest;
use crate::chunks::Chunk;

/// A message that violates the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message of the agent's protocol is malformed")
    }
}

impl std::error::Error for Malformed {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    Update(Update),
    Piece(Piece),
    Commit,
    /// Runs a command in the container's working directory, without input.
    Run(Vec<String>),
    /// Restarts the container's process.
    Restart,
}

/// Changes in the container: removals first, then entries in their order. Paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    pub removals: Vec<String>,
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub path: String,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    File { mode: u32, modified: Micros, size: u64, digest: Digest },
    Directory { mode: u32, modified: Micros },
    Link { target: String, modified: Micros },
}

/// Microseconds since 1970.
pub type Micros = i64;

/// A part of the content of a file; `entry` is the file's index in the update. Pieces arrive in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// New content, compressed with LZ4.
    Data {
        entry: u32,
        #[serde(with = "serde_bytes")]
        packed: Vec<u8>,
    },
    /// `length` bytes of the file's present content in the container, from `offset`.
    Copy { entry: u32, offset: u64, length: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Must stay the first variant, in the same encoding: the versions of lilt and of an agent may differ.
    Hello {
        #[serde(with = "postcard::fixint::le")]
        version: u32,
    },
    Missing(Vec<MissingFile>),
    Done,
    /// What could not be changed, usually a path, and the cause.
    Failed {
        what: String,
        cause: String,
    },
    Stdout(#[serde(with = "serde_bytes")] Vec<u8>),
    Stderr(#[serde(with = "serde_bytes")] Vec<u8>),
    Exited(i32),
}

/// A file whose content is missing in the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFile {
    pub entry: u32,
    pub present: PresentContent,
}

/// What the container has at the path of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PresentContent {
    /// Nothing useful: all of the new content must be sent.
    Nothing,
    /// The content that an earlier update of the same connection sent.
    Known(Digest),
    /// Content that consists of these chunks.
    Chunks(Vec<Chunk>),
}

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        decode(message)
    }
}

impl Reply {
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        decode(message)
    }
}

fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(message).expect("invariant: the types above always serialize")
}

fn decode<'m, T: Deserialize<'m>>(message: &'m [u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(message) {
        Ok((decoded, [])) => Ok(decoded),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_decode_to_what_was_encoded() {
        let entries = vec![
            Entry {
                path: "/ä".into(),
                kind: Kind::File { mode: 0o640, modified: -5, size: 3, digest: [7; 32] },
            },
            Entry { path: "/d".into(), kind: Kind::Directory { mode: 0o755, modified: 9 } },
            Entry { path: "/l".into(), kind: Kind::Link { target: "../x".into(), modified: 1 } },
        ];
        let requests = [
            Request::Update(Update { removals: vec!["/gone".into()], entries }),
            Request::Piece(Piece::Data { entry: 1, packed: vec![1, 2] }),
            Request::Piece(Piece::Copy { entry: 1, offset: 2, length: 3 }),
            Request::Commit,
            Request::Run(vec!["echo".into(), String::new()]),
            Request::Restart,
        ];
        for request in requests {
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
        let replies = [
            Reply::Hello { version: 1 },
            Reply::Missing(vec![
                MissingFile { entry: 2, present: PresentContent::Chunks(vec![Chunk::of(b"x")]) },
                MissingFile { entry: 3, present: PresentContent::Known([9; 32]) },
                MissingFile { entry: 4, present: PresentContent::Nothing },
            ]),
            Reply::Done,
            Reply::Failed { what: "/a".into(), cause: "no".into() },
            Reply::Stdout(b"out".to_vec()),
            Reply::Stderr(Vec::new()),
            Reply::Exited(-1),
        ];
        for reply in replies {
            assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        }
    }

    #[test]
    fn hello_has_the_same_encoding_in_all_versions() {
        assert_eq!(Reply::Hello { version: 0x0102 }.encode(), [0, 2, 1, 0, 0]);
    }

    #[test]
    fn malformed_requests_are_rejected() {
        for bytes in [&b""[..], b"\x09", b"\x00\xff\xff\xff\xff", b"\x02more"] {
            assert_eq!(Request::decode(bytes), Err(Malformed));
        }
    }
}
