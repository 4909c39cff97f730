//! What is to go, and how: with its place, or out of a place that must stay.

use std::collections::HashSet;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use super::mounts::Mounts;
use super::reach::Reach;
use crate::problem::{About, Problem};

#[derive(Debug)]
pub(super) struct Going {
    mounts: Mounts,
    /// Directories that are to go and cannot: they lose what is in them.
    staying: HashSet<PathBuf>,
}

impl Going {
    pub(super) fn new() -> Self {
        Self { mounts: Mounts::read(), staying: HashSet::new() }
    }

    /// Says whether something can be removed, before anything is changed. Of a directory where something is mounted, or which
    /// lies in one that is closed to this user, it is enough that it becomes empty. So does one that another takes the place of:
    /// processes may have it as their working directory, or watch it.
    pub(super) fn add(&mut self, path: &Path, comes_back: bool, reach: &mut Reach) -> Result<(), Problem> {
        reach.above(path);
        let Ok(about) = fs::symlink_metadata(path) else { return Ok(()) };
        let removable = self.may_make_room(path, &about);
        if !about.is_dir() || path.parent().is_none() || (removable.is_ok() && !comes_back) {
            return removable;
        }
        reach.within(path);
        match access(path, AccessFlags::W_OK | AccessFlags::X_OK) {
            Ok(()) => drop(self.staying.insert(path.to_owned())),
            Err(_) if removable.is_ok() => {}
            Err(error) => return Err(error).about(path),
        }
        Ok(())
    }

    /// Whether a directory that is to go, or one in it, stays all the same.
    pub(super) fn stays(&self, folder: &Path) -> bool {
        self.staying.contains(folder) || (folder.is_dir() && self.mounts.is_within(folder))
    }

    /// Whether something is mounted at just this path.
    pub(super) fn is_mounted(&self, path: &Path) -> bool {
        self.mounts.contains(path)
    }

    /// Whether what is there can go with its place.
    pub(super) fn may_make_room(&self, path: &Path, about: &Metadata) -> Result<(), Problem> {
        let held = if about.is_dir() { self.mounts.is_within(path) } else { self.mounts.is_at(path) };
        match path.parent() {
            None => Err(Problem::new("/", "the root directory is not removed")),
            Some(_) if held => Err(mounted(path)),
            Some(folder) => access(folder, AccessFlags::W_OK).about(path),
        }
    }

    pub(super) fn may_be_renamed_to(&self, path: &Path) -> Result<(), Problem> {
        if self.mounts.is_at(path) { Err(mounted(path)) } else { Ok(()) }
    }

    /// Removes something whole, or takes out of it what is not `kept`.
    pub(super) fn remove(&self, path: &Path, kept: &HashSet<&Path>) -> io::Result<()> {
        if !self.staying.contains(path) {
            return remove(path);
        }
        self.empty(path, kept)
    }

    /// What is mounted in it stays as it is: it may be full of what was never synced.
    fn empty(&self, folder: &Path, kept: &HashSet<&Path>) -> io::Result<()> {
        let entries: Vec<DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
        for entry in entries {
            let path = entry.path();
            let is_directory = entry.file_type()?.is_dir();
            if kept.contains(&*path) || self.mounts.is_at(&path) {
                continue;
            }
            if is_directory && self.stays(&path) {
                self.empty(&path, kept)?;
            } else {
                remove(&path)?;
            }
        }
        Ok(())
    }
}

fn mounted(path: &Path) -> Problem {
    Problem::new(path.display().to_string(), "something is mounted there")
}

/// Whatever it is.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => remove_directory(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    let Err(error) = removed else { return Ok(()) };
    match error.raw_os_error().map(Errno::from_raw) {
        // A part of it that was removed with the rest, or its directory is by now a file, or a link to itself.
        Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(()),
        _ => Err(error),
    }
}

/// Some directories in it may be closed to their owner.
fn remove_directory(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Reach::below(path);
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_directory_is_never_removed() {
        let mut going = Going::new();
        let problem =
            going.add(Path::new("/"), true, &mut Reach::default()).map_err(|problem| problem.to_string());
        assert_eq!(problem, Err("/: the root directory is not removed".to_owned()));
        assert!(going.staying.is_empty());
    }
}
