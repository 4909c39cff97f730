//! The protocol between lilt and the agent, over one exec connection that stays open.
//!
//! The agent starts with [`Reply::Hello`]. A [`Request::Update`] lists the changes of one batch of saves;
//! [`Reply::Missing`] says which contents the container lacks. They follow as [`Request::Piece`]s, without a reply
//! each. [`Request::Commit`] applies everything at once; its reply is [`Reply::Done`], or [`Reply::Failed`], where
//! possible with nothing changed. [`Request::Run`] is answered by the command's output and its exit code.

use crate::Digest;
use crate::chunks::Chunk;
use crate::codec::{Reader, Writer};

pub use crate::codec::Malformed;

#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A part of the content of a file; `entry` is the file's index in the update. Pieces arrive in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// New content, compressed with LZ4.
    Data { entry: u32, packed: Vec<u8> },
    /// `length` bytes of the file's present content in the container, from `offset`.
    Copy { entry: u32, offset: u64, length: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Hello {
        version: u32,
    },
    Missing(Vec<MissingFile>),
    Done,
    /// What could not be changed, usually a path, and the cause.
    Failed {
        what: String,
        cause: String,
    },
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Exited(i32),
}

/// A file whose content is missing in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    pub entry: u32,
    pub present: PresentContent,
}

/// What the container has at the path of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let mut to = Writer::default();
        match self {
            Self::Update(update) => {
                to.byte(0);
                to.list(&update.removals, |to, path| to.text(path));
                to.list(&update.entries, write_entry);
            }
            Self::Piece(Piece::Data { entry, packed }) => {
                to.byte(1);
                to.u32(*entry);
                to.raw(packed);
            }
            Self::Piece(Piece::Copy { entry, offset, length }) => {
                to.byte(2);
                to.u32(*entry);
                to.u64(*offset);
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
            1 => Self::Piece(Piece::Data { entry: from.u32()?, packed: from.rest().to_vec() }),
            2 => Self::Piece(Piece::Copy { entry: from.u32()?, offset: from.u64()?, length: from.u64()? }),
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

fn write_present(to: &mut Writer, present: &PresentContent) {
    match present {
        PresentContent::Nothing => to.byte(0),
        PresentContent::Known(digest) => {
            to.byte(1);
            to.raw(digest);
        }
        PresentContent::Chunks(chunks) => {
            to.byte(2);
            to.list(chunks, |to, chunk| chunk.write(to));
        }
    }
}

fn read_present(from: &mut Reader<'_>) -> Result<PresentContent, Malformed> {
    Ok(match from.byte()? {
        0 => PresentContent::Nothing,
        1 => PresentContent::Known(from.array()?),
        2 => PresentContent::Chunks(from.list(Chunk::read)?),
        _ => return Err(Malformed),
    })
}

impl Reply {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        match self {
            Self::Hello { version } => {
                to.byte(0);
                to.u32(*version);
            }
            Self::Missing(missing) => {
                to.byte(1);
                to.list(missing, |to, want| {
                    to.u32(want.entry);
                    write_present(to, &want.present);
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
        let reply = match from.byte()? {
            0 => Self::Hello { version: from.u32()? },
            1 => Self::Missing(
                from.list(|from| Ok(MissingFile { entry: from.u32()?, present: read_present(from)? }))?,
            ),
            2 => Self::Done,
            3 => Self::Failed { what: from.text()?, cause: from.text()? },
            4 => Self::Stdout(from.rest().to_vec()),
            5 => Self::Stderr(from.rest().to_vec()),
            6 => Self::Exited(from.u32()?.cast_signed()),
            _ => return Err(Malformed),
        };
        from.end()?;
        Ok(reply)
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
    fn malformed_requests_are_rejected() {
        for bytes in [&b""[..], b"\x09", b"\x00\xff\xff\xff\xff", b"\x03more"] {
            assert_eq!(Request::decode(bytes), Err(Malformed));
        }
    }
}
