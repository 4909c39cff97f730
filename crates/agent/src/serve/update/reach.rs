//! Directories of the user's own that not even the user may write to or enter, such as those of a module cache: they are
//! opened while files in them change, and closed again.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// What its owner needs to change what is in a directory.
const OPEN: u32 = 0o700;

#[derive(Debug, Default)]
pub(super) struct Reach {
    looked_at: HashSet<PathBuf>,
    /// Those that were opened, with the modes they had.
    opened: BTreeMap<PathBuf, u32>,
}

impl Reach {
    /// Opens what is above a path, as far as it needs to be and can be. If it cannot, what is to be done there says why.
    pub(super) fn above(&mut self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        if self.looked_at.contains(folder) {
            return;
        }
        self.above(folder);
        self.open(folder);
        self.looked_at.insert(folder.to_owned());
    }

    /// The same for a directory that is to become empty.
    pub(super) fn within(&mut self, folder: &Path) {
        self.above(&folder.join("all"));
    }

    fn open(&mut self, folder: &Path) {
        if access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok() {
            return;
        }
        let Ok(about) = fs::symlink_metadata(folder) else { return };
        let mode = about.permissions().mode() & 0o7777;
        if about.is_dir() && mode & OPEN != OPEN && set_mode(folder, mode | OPEN).is_ok() {
            self.opened.insert(folder.to_owned(), mode);
        }
    }

    /// The same for all that is in a directory, which will go.
    pub(super) fn below(folder: &Path) {
        // What cannot be opened cannot be removed, which says why.
        let _ = set_mode(folder, OPEN);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                Self::below(&entry.path());
            }
        }
    }

    /// What was opened, and the modes that it had.
    pub(super) fn opened(&self) -> impl Iterator<Item = (&Path, u32)> {
        self.opened.iter().map(|(path, mode)| (path.as_path(), *mode))
    }

    /// Everything is as it shall be.
    pub(super) fn forget(&mut self) {
        self.opened.clear();
    }

    /// Inner ones first: they cannot be reached when outer ones are closed. Those that are gone by now need nothing.
    pub(super) fn close(&mut self) {
        for (path, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            let _ = set_mode(&path, mode);
        }
    }
}

pub(super) fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
}
