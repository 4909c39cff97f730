//! What one burst of saves changes in a container.

use bytes::Bytes;
use lilt_model::{Failure, Timestamp};

use crate::archive::Archive;

/// Removals first, then the rest in its order. Paths are absolute, in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub removals: Vec<String>,
    pub puts: Vec<Put>,
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
    File { mode: u32, bytes: Bytes },
    Directory { mode: u32 },
    Link { target: String },
}

impl Changes {
    /// What is put, as one archive; none if nothing is.
    pub(super) fn archive(&self) -> Result<Option<Bytes>, Failure> {
        if self.puts.is_empty() {
            return Ok(None);
        }
        let mut archive = Archive::new();
        for Put { path, modified, what } in &self.puts {
            match what {
                Content::File { mode, bytes } => archive.add_file(path, *mode, *modified, bytes)?,
                Content::Directory { mode } => archive.add_directory(path, *mode, *modified)?,
                Content::Link { target } => archive.add_link(path, target, *modified)?,
            }
        }
        archive.finish().map(Some)
    }
}
