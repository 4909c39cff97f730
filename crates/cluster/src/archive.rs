//! Builds a tar archive of files for a container, in memory.

use bytes::Bytes;
use lilt_model::{Failure, Timestamp};

/// Files by their absolute path in the container. Parent directories need no entries of their own.
pub(crate) struct Archive {
    builder: tar::Builder<Vec<u8>>,
}

impl Archive {
    pub(crate) fn new() -> Self {
        Self { builder: tar::Builder::new(Vec::new()) }
    }

    pub(crate) fn add_file(
        &mut self,
        path: &str,
        mode: u32,
        modified: Timestamp,
        content: &[u8],
    ) -> Result<(), Failure> {
        let mut header = header(tar::EntryType::Regular, mode, modified);
        header.set_size(content.len() as u64);
        self.builder.append_data(&mut header, relative(path)?, content).map_err(|error| refused(path, &error))
    }

    pub(crate) fn add_directory(
        &mut self,
        path: &str,
        mode: u32,
        modified: Timestamp,
    ) -> Result<(), Failure> {
        let mut header = header(tar::EntryType::Directory, mode, modified);
        header.set_size(0);
        self.builder
            .append_data(&mut header, relative(path)?, std::io::empty())
            .map_err(|error| refused(path, &error))
    }

    pub(crate) fn add_link(&mut self, path: &str, target: &str, modified: Timestamp) -> Result<(), Failure> {
        let mut header = header(tar::EntryType::Symlink, 0o777, modified);
        header.set_size(0);
        self.builder.append_link(&mut header, relative(path)?, target).map_err(|error| refused(path, &error))
    }

    pub(crate) fn finish(self) -> Result<Bytes, Failure> {
        let archive = self.builder.into_inner();
        archive
            .map(Bytes::from)
            .map_err(|error| Failure::internal(format!("cannot finish an archive: {error}")))
    }
}

fn header(kind: tar::EntryType, mode: u32, modified: Timestamp) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode & 0o7777);
    header.set_mtime(u64::try_from(modified.0.div_euclid(1_000_000)).unwrap_or(0));
    header
}

/// Returns the path relative to `/`, where the archive is unpacked. Rejects paths with `..`.
fn relative(path: &str) -> Result<&str, Failure> {
    let relative = path.strip_prefix('/').unwrap_or(path);
    if relative.is_empty() || relative.split('/').any(|part| part == "..") {
        return Err(Failure::internal(format!("not an absolute path in a container: {path}")));
    }
    Ok(relative)
}

fn refused(path: &str, error: &std::io::Error) -> Failure {
    Failure::internal(format!("cannot put {path} into an archive: {error}"))
}
