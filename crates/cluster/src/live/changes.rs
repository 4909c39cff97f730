//! What one burst of saves changes in a container, or in several: what is worked out of it is worked out once.

use std::sync::OnceLock;

use bytes::Bytes;
use lilt_agent::chunks::{self, Chunk};
use lilt_agent::{Digest, transfer};
use lilt_model::{Failure, Timestamp};

use crate::archive::Archive;

/// Removals first, then the rest in its order. Paths are absolute, in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    removals: Vec<String>,
    puts: Vec<Put>,
    archive: OnceLock<Result<Option<Bytes>, Failure>>,
}

/// Something that shall be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    pub path: String,
    pub modified: Timestamp,
    pub what: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    File { mode: u32, bytes: FileBytes },
    Directory { mode: u32 },
    Link { target: String },
}

/// The content of a file, and by what it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    bytes: Bytes,
    marks: OnceLock<Marks>,
    packed: OnceLock<Option<Bytes>>,
}

/// By what an agent knows a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) digest: Digest,
    /// Its parts, if it is big.
    pub(super) chunks: std::sync::Arc<[Chunk]>,
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), marks: OnceLock::new(), packed: OnceLock::new() }
    }
}

impl FileBytes {
    pub(super) fn get(&self) -> &Bytes {
        &self.bytes
    }

    /// All of it, compressed, if it is small: once for all containers.
    pub(super) fn packed(&self) -> Option<&Bytes> {
        self.packed.get_or_init(|| transfer::pack_whole(&self.bytes).map(Bytes::from)).as_ref()
    }

    /// Worked out at the first time, which for big files takes a while.
    pub(super) fn marks(&self) -> &Marks {
        self.marks.get_or_init(|| {
            if self.bytes.len() < chunks::WORTH_CUTTING {
                return Marks { digest: lilt_agent::digest(&self.bytes), chunks: Vec::new().into() };
            }
            std::thread::scope(|scope| {
                let whole = scope.spawn(|| lilt_agent::digest(&self.bytes));
                let chunks = chunks::of(&self.bytes).into();
                let digest = whole.join().unwrap_or_else(|_| lilt_agent::digest(&self.bytes));
                Marks { digest, chunks }
            })
        })
    }
}

impl Changes {
    pub fn new(removals: Vec<String>, puts: Vec<Put>) -> Self {
        Self { removals, puts, archive: OnceLock::new() }
    }

    pub fn removals(&self) -> &[String] {
        &self.removals
    }

    pub fn puts(&self) -> &[Put] {
        &self.puts
    }

    /// Works out what an agent is told of them: takes a while for big files, and is no work for those who wait for others.
    pub fn mark(&self) {
        for put in &self.puts {
            if let Content::File { bytes, .. } = &put.what {
                bytes.marks();
            }
        }
    }

    /// What is put, as one archive; none if nothing is.
    pub fn archive(&self) -> Result<Option<Bytes>, Failure> {
        self.archive.get_or_init(|| pack(&self.puts)).clone()
    }
}

fn pack(puts: &[Put]) -> Result<Option<Bytes>, Failure> {
    if puts.is_empty() {
        return Ok(None);
    }
    let mut archive = Archive::new();
    for Put { path, modified, what } in puts {
        match what {
            Content::File { mode, bytes } => archive.add_file(path, *mode, *modified, bytes.get())?,
            Content::Link { target } => archive.add_link(path, target, *modified)?,
            Content::Directory { .. } => {}
        }
    }
    // Last, and inner ones first: one that nobody may write to is filled by then, and what is put into a directory changes its
    // time. Those above a file are made with it.
    for Put { path, modified, what } in puts.iter().rev() {
        if let Content::Directory { mode } = what {
            archive.add_directory(path, *mode, *modified)?;
        }
    }
    archive.finish().map(Some)
}
