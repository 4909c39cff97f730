//! Finds the directories in an archive that arrives in chunks. File contents are skipped.

use std::io::{self, Read};

use bytes::Bytes;
use tokio::sync::mpsc::Receiver;

use super::{PathInfo, path_info};

/// The distinct modes and owners of directories in an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories {
    pub found: Vec<PathInfo>,
    /// The archive was read completely.
    pub complete: bool,
}

/// Reads to the end, or as far as the archive is valid.
pub(super) fn directories(archive: impl Read) -> Directories {
    let mut directories = Directories { found: Vec::new(), complete: true };
    let mut archive = tar::Archive::new(archive);
    let Ok(entries) = archive.entries() else { return Directories::default() };
    for entry in entries {
        let Ok(entry) = entry else {
            directories.complete = false;
            break;
        };
        match path_info(entry.header()) {
            Some(found) if found.directory && !directories.found.contains(&found) => {
                directories.found.push(found);
            }
            _ => {}
        }
    }
    directories
}

/// Reads chunks from a channel. Blocks, so it must run outside of the async runtime's threads.
pub(super) struct ChannelReader {
    chunks: Receiver<Bytes>,
    chunk: Bytes,
}

impl ChannelReader {
    pub(super) fn new(chunks: Receiver<Bytes>) -> Self {
        Self { chunks, chunk: Bytes::new() }
    }
}

impl Read for ChannelReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.chunk = chunk,
                None => return Ok(0),
            }
        }
        let length = self.chunk.len().min(into.len());
        into[..length].copy_from_slice(&self.chunk.split_to(length));
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        let mut add = |path: &str, user: u64, size: usize, kind: tar::EntryType| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(0o755);
            header.set_uid(user);
            header.set_gid(user);
            header.set_size(size as u64);
            archive.append_data(&mut header, path, io::repeat(7).take(size as u64)).expect("memory takes it");
        };
        add("www/", 7, 0, tar::EntryType::Directory);
        add("www/same/", 7, 0, tar::EntryType::Directory);
        add("www/big", 7, 3 << 20, tar::EntryType::Regular);
        add("www/late/", 0, 0, tar::EntryType::Directory);
        archive.into_inner().expect("memory takes it")
    }

    fn users(directories: &Directories) -> Vec<u64> {
        directories.found.iter().map(|found| found.user).collect()
    }

    #[test]
    fn directories_behind_big_files_are_found() {
        let (sender, chunks) = tokio::sync::mpsc::channel(4);
        let reading = std::thread::spawn(move || directories(ChannelReader::new(chunks)));
        for chunk in archive().chunks(1000) {
            sender.blocking_send(Bytes::copy_from_slice(chunk)).expect("somebody reads");
        }
        drop(sender);
        let found = reading.join().expect("it reads");
        assert_eq!((users(&found), found.complete), (vec![7, 0], true));
    }

    #[test]
    fn truncated_archive_is_incomplete() {
        for end in [700, 1 << 20] {
            let found = directories(&archive()[..end]);
            assert_eq!((users(&found), found.complete), (vec![7], false), "{end}");
        }
    }
}
