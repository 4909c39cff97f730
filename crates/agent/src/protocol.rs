//! What lilt says to an agent and what it answers, over one exec that stays open.
//!
//! The agent begins with [`Answer::Hello`]. An [`Request::Update`] names what one burst of saves changed; the answer,
//! [`Answer::Wants`], says which contents the container lacks. They follow as [`Request::Piece`]s, without an answer
//! each, and [`Request::Commit`] puts everything in its place at once; its answer is [`Answer::Done`] or
//! [`Answer::Failed`], and then nothing was changed if that could be helped. [`Request::Run`] is answered by what the
//! command prints and how it ended.

use crate::Digest;
use crate::chunks::Chunk;
use crate::wire::{Reader, Writer};

pub use crate::wire::Malformed;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Update(Update),
    Piece(Piece),
    Commit,
    /// Run a command in the container's working directory, without input.
    Run(Vec<String>),
    /// Start the container's process anew.
    Restart,
}

/// What must happen in the container: removals first, then entries in their order. Paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    pub removals: Vec<String>,
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: String,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    File { mode: u32, modified: Micros, size: u64, digest: Digest },
    Directory { mode: u32, modified: Micros },
    Link { target: String, modified: Micros },
}

/// Microseconds since 1970.
pub type Micros = i64;

/// A part of the content of a file of the update, by the place of the file among its entries. Parts come in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Compressed bytes.
    Fresh { entry: u32, packed: Vec<u8> },
    /// So many bytes of what the container has there.
    Old { entry: u32, from: u64, length: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Hello {
        version: u32,
    },
    Wants(Vec<Want>),
    Done,
    /// What it was about, usually a path, and why it did not work.
    Failed {
        what: String,
        cause: String,
    },
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Exited(i32),
}

/// A file whose content the container lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    pub entry: u32,
    pub has: Has,
}

/// What the container has in the place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Has {
    /// Nothing that helps: all of the new content is to be sent.
    Nothing,
    /// What an earlier update of the same connection brought.
    Known(Digest),
    /// Something that consists of these.
    Chunks(Vec<Chunk>),
}

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        match self {
            Self::Update(update) => {
                to.byte(0);
                to.list(&update.removals, |to, path| to.text(path));
                to.list(&update.entries, write_entry);
            }
            Self::Piece(Piece::Fresh { entry, packed }) => {
                to.byte(1);
                to.u32(*entry);
                to.raw(packed);
            }
            Self::Piece(Piece::Old { entry, from, length }) => {
                to.byte(2);
                to.u32(*entry);
                to.u64(*from);
                to.u64(*length);
            }
            Self::Commit => to.byte(3),
            Self::Run(argv) => {
                to.byte(4);
                to.list(argv, |to, word| to.text(word));
            }
            Self::Restart => to.byte(5),
        }
        to.0
    }

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(message);
        let request = match from.byte()? {
            0 => Self::Update(Update { removals: from.list(Reader::text)?, entries: from.list(read_entry)? }),
            1 => Self::Piece(Piece::Fresh { entry: from.u32()?, packed: from.rest().to_vec() }),
            2 => Self::Piece(Piece::Old { entry: from.u32()?, from: from.u64()?, length: from.u64()? }),
            3 => Self::Commit,
            4 => Self::Run(from.list(Reader::text)?),
            5 => Self::Restart,
            _ => return Err(Malformed),
        };
        from.end()?;
        Ok(request)
    }
}

fn write_entry(to: &mut Writer, entry: &Entry) {
    to.text(&entry.path);
    match &entry.kind {
        Kind::File { mode, modified, size, digest } => {
            to.byte(0);
            to.u32(*mode);
            to.u64(modified.cast_unsigned());
            to.u64(*size);
            to.raw(digest);
        }
        Kind::Directory { mode, modified } => {
            to.byte(1);
            to.u32(*mode);
            to.u64(modified.cast_unsigned());
        }
        Kind::Link { target, modified } => {
            to.byte(2);
            to.text(target);
            to.u64(modified.cast_unsigned());
        }
    }
}

fn read_entry(from: &mut Reader<'_>) -> Result<Entry, Malformed> {
    let path = from.text()?;
    let kind = match from.byte()? {
        0 => Kind::File {
            mode: from.u32()?,
            modified: from.u64()?.cast_signed(),
            size: from.u64()?,
            digest: from.array()?,
        },
        1 => Kind::Directory { mode: from.u32()?, modified: from.u64()?.cast_signed() },
        2 => Kind::Link { target: from.text()?, modified: from.u64()?.cast_signed() },
        _ => return Err(Malformed),
    };
    Ok(Entry { path, kind })
}

fn write_has(to: &mut Writer, has: &Has) {
    match has {
        Has::Nothing => to.byte(0),
        Has::Known(digest) => {
            to.byte(1);
            to.raw(digest);
        }
        Has::Chunks(chunks) => {
            to.byte(2);
            to.list(chunks, |to, chunk| chunk.write(to));
        }
    }
}

fn read_has(from: &mut Reader<'_>) -> Result<Has, Malformed> {
    Ok(match from.byte()? {
        0 => Has::Nothing,
        1 => Has::Known(from.array()?),
        2 => Has::Chunks(from.list(Chunk::read)?),
        _ => return Err(Malformed),
    })
}

impl Answer {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        match self {
            Self::Hello { version } => {
                to.byte(0);
                to.u32(*version);
            }
            Self::Wants(wants) => {
                to.byte(1);
                to.list(wants, |to, want| {
                    to.u32(want.entry);
                    write_has(to, &want.has);
                });
            }
            Self::Done => to.byte(2),
            Self::Failed { what, cause } => {
                to.byte(3);
                to.text(what);
                to.text(cause);
            }
            Self::Stdout(bytes) => {
                to.byte(4);
                to.raw(bytes);
            }
            Self::Stderr(bytes) => {
                to.byte(5);
                to.raw(bytes);
            }
            Self::Exited(code) => {
                to.byte(6);
                to.u32(code.cast_unsigned());
            }
        }
        to.0
    }

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(message);
        let answer = match from.byte()? {
            0 => Self::Hello { version: from.u32()? },
            1 => Self::Wants(from.list(|from| Ok(Want { entry: from.u32()?, has: read_has(from)? }))?),
            2 => Self::Done,
            3 => Self::Failed { what: from.text()?, cause: from.text()? },
            4 => Self::Stdout(from.rest().to_vec()),
            5 => Self::Stderr(from.rest().to_vec()),
            6 => Self::Exited(from.u32()?.cast_signed()),
            _ => return Err(Malformed),
        };
        from.end()?;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
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
            Request::Piece(Piece::Fresh { entry: 1, packed: vec![1, 2] }),
            Request::Piece(Piece::Old { entry: 1, from: 2, length: 3 }),
            Request::Commit,
            Request::Run(vec!["echo".into(), String::new()]),
            Request::Restart,
        ];
        for request in requests {
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
        let answers = [
            Answer::Hello { version: 1 },
            Answer::Wants(vec![
                Want { entry: 2, has: Has::Chunks(vec![Chunk::of(b"x")]) },
                Want { entry: 3, has: Has::Known([9; 32]) },
                Want { entry: 4, has: Has::Nothing },
            ]),
            Answer::Done,
            Answer::Failed { what: "/a".into(), cause: "no".into() },
            Answer::Stdout(b"out".to_vec()),
            Answer::Stderr(Vec::new()),
            Answer::Exited(-1),
        ];
        for answer in answers {
            assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for bytes in [&b""[..], b"\x09", b"\x00\xff\xff\xff\xff", b"\x03more"] {
            assert_eq!(Request::decode(bytes), Err(Malformed));
        }
    }
}
