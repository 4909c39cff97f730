//! The user's own directories that lack write permission even for the user, such as those of a module cache: their
//! modes are extended while files in them change, and restored afterwards.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// The permissions that the owner needs to change files in a directory.
const OWNER_ALL: u32 = 0o700;

#[derive(Debug, Default)]
pub(super) struct OpenedDirectories {
    checked: HashSet<PathBuf>,
    /// The extended directories, with their former modes.
    opened: BTreeMap<PathBuf, u32>,
}

impl OpenedDirectories {
    /// Extends the modes of all parents of a path, where needed and possible. If it fails, the change itself reports
    /// the error.
    pub(super) fn above(&mut self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        if self.checked.contains(folder) {
            return;
        }
        self.above(folder);
        self.open(folder);
        self.checked.insert(folder.to_owned());
    }

    /// Extends the modes of a directory and its parents, so that it can be emptied.
    pub(super) fn within(&mut self, folder: &Path) {
        self.above(&folder.join("all"));
    }

    fn open(&mut self, folder: &Path) {
        if access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok() {
            return;
        }
        let Ok(metadata) = fs::symlink_metadata(folder) else { return };
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_dir() && mode & OWNER_ALL != OWNER_ALL && set_mode(folder, mode | OWNER_ALL).is_ok() {
            self.opened.insert(folder.to_owned(), mode);
        }
    }

    /// Extends the modes of a directory and all below it, which will be removed.
    pub(super) fn below(folder: &Path) {
        // If it fails, the removal reports the error.
        let _ = set_mode(folder, OWNER_ALL);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                Self::below(&entry.path());
            }
        }
    }

    /// Returns the extended directories and their former modes.
    pub(super) fn opened(&self) -> impl Iterator<Item = (&Path, u32)> {
        self.opened.iter().map(|(path, mode)| (path.as_path(), *mode))
    }

    /// Forgets all directories: their modes are final.
    pub(super) fn forget(&mut self) {
        self.opened.clear();
    }

    /// Restores the modes, inner directories first: they are unreachable once the outer ones are restored.
    pub(super) fn close(&mut self) {
        for (path, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            let _ = set_mode(&path, mode);
        }
    }
}

pub(super) fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
}
