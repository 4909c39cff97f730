//! The changes of one batch of saves, for one or several containers. Derived data is computed once for all of them.

use std::sync::OnceLock;

use bytes::Bytes;
use lilt_agent::chunks::{self, Chunk};
use lilt_agent::{Digest, transfer};
use lilt_model::{Failure, Timestamp};

use super::SentTimes;
use crate::archive::Archive;

/// Removals first, then the rest in order. Paths are absolute, in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    removals: Vec<String>,
    puts: Vec<Put>,
    archive: OnceLock<Result<Option<Bytes>, Failure>>,
}

/// A file, directory or link to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    pub path: String,
    pub modified: Timestamp,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    File { mode: u32, bytes: FileBytes },
    Directory { mode: u32 },
    Link { target: String },
}

/// The content of a file with its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    bytes: Bytes,
    fingerprint: OnceLock<Fingerprint>,
    packed: OnceLock<Option<Bytes>>,
}

/// Identifies a content to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) digest: Digest,
    /// The chunks of a big file; empty for others.
    pub(super) chunks: std::sync::Arc<[Chunk]>,
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), fingerprint: OnceLock::new(), packed: OnceLock::new() }
    }
}

impl FileBytes {
    pub(super) fn get(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the compressed content of a small file, computed once for all containers.
    pub(super) fn packed(&self) -> Option<&Bytes> {
        self.packed.get_or_init(|| transfer::pack_whole(&self.bytes).map(Bytes::from)).as_ref()
    }

    /// Returns the fingerprint, whose computation takes a while for big files.
    pub(super) fn fingerprint(&self) -> &Fingerprint {
        self.fingerprint.get_or_init(|| {
            if self.bytes.len() < chunks::MIN_SPLIT_SIZE {
                return Fingerprint { digest: lilt_agent::digest(&self.bytes), chunks: Vec::new().into() };
            }
            std::thread::scope(|scope| {
                let whole = scope.spawn(|| lilt_agent::digest(&self.bytes));
                let chunks = chunks::chunks_of(&self.bytes).into();
                let digest = whole.join().unwrap_or_else(|_| lilt_agent::digest(&self.bytes));
                Fingerprint { digest, chunks }
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

    /// Computes the fingerprints of all files ahead of time, because that takes a while for big files.
    pub fn compute_fingerprints(&self) {
        for put in &self.puts {
            if let Content::File { bytes, .. } = &put.content {
                bytes.fingerprint();
            }
        }
    }

    /// Returns the archive for the container with these `sent` times; none if there is nothing to write.
    ///
    /// Containers that need no other times than those of the files share one archive.
    pub fn archive(&self, sent: &mut SentTimes) -> Result<Option<Bytes>, Failure> {
        let times = sent.next(&self.puts);
        if times.iter().zip(&self.puts).all(|(time, put)| *time == put.modified) {
            return self.archive.get_or_init(|| pack(&self.puts)).clone();
        }
        let puts: Vec<Put> =
            self.puts.iter().zip(times).map(|(put, modified)| Put { modified, ..put.clone() }).collect();
        pack(&puts)
    }
}

fn pack(puts: &[Put]) -> Result<Option<Bytes>, Failure> {
    if puts.is_empty() {
        return Ok(None);
    }
    let mut archive = Archive::new();
    for Put { path, modified, content } in puts {
        match content {
            Content::File { mode, bytes } => archive.add_file(path, *mode, *modified, bytes.get())?,
            Content::Link { target } => archive.add_link(path, target, *modified)?,
            Content::Directory { .. } => {}
        }
    }
    // Directories last, inner ones first: a read-only one is complete by then, and writing into a directory changes
    // its time. Parents of files are created with them.
    for Put { path, modified, content } in puts.iter().rev() {
        if let Content::Directory { mode } = content {
            archive.add_directory(path, *mode, *modified)?;
        }
    }
    archive.finish().map(Some)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn save(path: &str, content: &str, microseconds: i64) -> Changes {
        let content = Content::File { mode: 0o644, bytes: content.as_bytes().to_vec().into() };
        let put = Put { path: path.to_owned(), modified: Timestamp(microseconds), content };
        Changes::new(Vec::new(), vec![put])
    }

    /// Content and time of the files in the archive for a container.
    fn unpack(changes: &Changes, sent: &mut SentTimes) -> Vec<(String, u64)> {
        let archive = changes.archive(sent).unwrap().unwrap();
        let mut archive = tar::Archive::new(archive.as_ref());
        let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
            let (mut entry, mut content) = (entry.unwrap(), String::new());
            entry.read_to_string(&mut content).unwrap();
            (content, entry.header().mtime().unwrap())
        };
        archive.entries().unwrap().map(read).collect()
    }

    #[test]
    fn saves_in_one_second_are_archived_with_times_in_different_seconds() {
        let mut sent = SentTimes::default();
        let mut times = Vec::new();
        for (content, modified) in [("one", 70_100_000), ("two", 70_200_000), ("six", 70_900_000)] {
            times.extend(unpack(&save("/app/main.py", content, modified), &mut sent));
        }
        assert_eq!(times, [("one".into(), 70), ("two".into(), 71), ("six".into(), 72)]);
        // An older file replaces it, as with `mv`; another file keeps its own time.
        assert_eq!(unpack(&save("/app/main.py", "old", 5_000_000), &mut sent), [("old".into(), 73)]);
        assert_eq!(unpack(&save("/app/other.py", "old", 5_000_000), &mut sent), [("old".into(), 5)]);
        assert_eq!(unpack(&save("/app/main.py", "new", 80_500_000), &mut sent), [("new".into(), 80)]);
    }

    #[test]
    fn archive_of_the_same_content_keeps_its_time() {
        let mut sent = SentTimes::default();
        unpack(&save("/app/main.py", "one", 70_100_000), &mut sent);
        let second = save("/app/main.py", "two", 70_200_000);
        assert_eq!(unpack(&second, &mut sent), [("two".into(), 71)]);
        assert_eq!(unpack(&second, &mut sent), [("two".into(), 71)]);
    }

    #[test]
    fn sent_times_are_kept_per_container() {
        let (mut first, mut second) = (SentTimes::default(), SentTimes::default());
        unpack(&save("/app/main.py", "one", 70_100_000), &mut first);
        let changes = save("/app/main.py", "two", 70_200_000);
        assert_eq!(unpack(&changes, &mut first), [("two".into(), 71)]);
        assert_eq!(unpack(&changes, &mut second), [("two".into(), 70)]);
    }
}
