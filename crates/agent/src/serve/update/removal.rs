//! Decides which paths can be removed, and which directories can only be emptied.

use std::collections::HashSet;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use super::mounts::Mounts;
use super::permissions::OpenedDirectories;
use crate::error::{AgentError, WithPath};

#[derive(Debug)]
pub(super) struct RemovalPlan {
    mounts: Mounts,
    /// Directories that cannot be removed: they are only emptied.
    emptied: HashSet<PathBuf>,
}

impl RemovalPlan {
    pub(super) fn new() -> Self {
        Self { mounts: Mounts::read(), emptied: HashSet::new() }
    }

    /// Checks that a path can be removed, before anything is changed. A directory that is a mount point, or whose
    /// parent is not writable, only needs to be emptied. So does one that is created again: processes may have it as
    /// their working directory, or watch it.
    pub(super) fn add(
        &mut self,
        path: &Path,
        is_recreated: bool,
        opened: &mut OpenedDirectories,
    ) -> Result<(), AgentError> {
        opened.above(path);
        let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
        let removable = self.check_removable(path, &metadata);
        if !metadata.is_dir() || path.parent().is_none() || (removable.is_ok() && !is_recreated) {
            return removable;
        }
        opened.within(path);
        match access(path, AccessFlags::W_OK | AccessFlags::X_OK) {
            Ok(()) => drop(self.emptied.insert(path.to_owned())),
            Err(_) if removable.is_ok() => {}
            Err(error) => return Err(error).with_path(path),
        }
        Ok(())
    }

    /// Returns whether a directory is kept, because it or one below it cannot be removed.
    pub(super) fn is_kept(&self, folder: &Path) -> bool {
        self.emptied.contains(folder) || (folder.is_dir() && self.mounts.is_within(folder))
    }

    /// Returns whether exactly this path is a mount point.
    pub(super) fn is_mounted(&self, path: &Path) -> bool {
        self.mounts.contains(path)
    }

    /// Checks that the entry itself can be removed.
    pub(super) fn check_removable(&self, path: &Path, metadata: &Metadata) -> Result<(), AgentError> {
        let has_mount = if metadata.is_dir() { self.mounts.is_within(path) } else { self.mounts.is_at(path) };
        match path.parent() {
            None => Err(AgentError::new("/", "the root directory is not removed")),
            Some(_) if has_mount => Err(mounted(path)),
            Some(folder) => access(folder, AccessFlags::W_OK).with_path(path),
        }
    }

    pub(super) fn check_not_mounted(&self, path: &Path) -> Result<(), AgentError> {
        if self.mounts.is_at(path) { Err(mounted(path)) } else { Ok(()) }
    }

    /// Removes a path, or only its content that is not in `kept`.
    pub(super) fn remove(&self, path: &Path, kept: &HashSet<&Path>) -> io::Result<()> {
        if !self.emptied.contains(path) {
            return remove(path);
        }
        self.empty(path, kept)
    }

    /// Empties a directory except for mount points: they may be full of files that were never synced.
    fn empty(&self, folder: &Path, kept: &HashSet<&Path>) -> io::Result<()> {
        let entries: Vec<DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
        for entry in entries {
            let path = entry.path();
            let is_directory = entry.file_type()?.is_dir();
            if kept.contains(&*path) || self.mounts.is_at(&path) {
                continue;
            }
            if is_directory && self.is_kept(&path) {
                self.empty(&path, kept)?;
            } else {
                remove(&path)?;
            }
        }
        Ok(())
    }
}

fn mounted(path: &Path) -> AgentError {
    AgentError::new(path.display().to_string(), "something is mounted there")
}

/// Removes a file, a link or a directory.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => remove_directory(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    let Err(error) = removed else { return Ok(()) };
    match error.raw_os_error().map(Errno::from_raw) {
        // It was removed with its directory, or the directory is a file or a link to itself by now.
        Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(()),
        _ => Err(error),
    }
}

/// Removes a directory; some below it may lack permissions even for their owner.
fn remove_directory(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            OpenedDirectories::below(path);
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_directory_is_never_removed() {
        let mut plan = RemovalPlan::new();
        let error = plan
            .add(Path::new("/"), true, &mut OpenedDirectories::default())
            .map_err(|error| error.to_string());
        assert_eq!(error, Err("/: the root directory is not removed".to_owned()));
        assert!(plan.emptied.is_empty());
    }
}
