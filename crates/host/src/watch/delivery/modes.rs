//! The known modes of one subscriber's folders, to detect changes.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(super) struct Modes {
    /// The paths below which modes are watched.
    below: Vec<PathBuf>,
    /// Modes by the hash of the path, because there may be many folders; a collision merely hides a change. Entries
    /// below a folder that was moved away stay; if it is moved back, it is reported in any case.
    known: HashMap<u64, u32>,
    hasher: RandomState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedMode {
    Unchanged,
    /// Changed, or recorded for the first time.
    Changed,
}

impl Modes {
    pub(super) fn new(below: Vec<PathBuf>) -> Self {
        Self { below, ..Self::default() }
    }

    pub(super) fn covers(&self, folder: &Path) -> bool {
        self.below.iter().any(|above| folder.starts_with(above))
    }

    /// Forgets the mode of a path that was deleted.
    pub(super) fn forget(&mut self, path: &Path) {
        if !self.known.is_empty() {
            self.known.remove(&self.hasher.hash_one(path));
        }
    }

    /// Reads and records the mode of a folder; `None` if it is not watched or missing.
    pub(super) fn record(&mut self, folder: &Path) -> Option<RecordedMode> {
        if !self.covers(folder) {
            return None;
        }
        // A root may be a link.
        let metadata = std::fs::metadata(folder).ok().filter(|metadata| metadata.is_dir())?;
        let before = self.known.insert(self.hasher.hash_one(folder), metadata.mode());
        Some(if before == Some(metadata.mode()) { RecordedMode::Unchanged } else { RecordedMode::Changed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_of_deleted_folder_is_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut modes = Modes::new(vec![folder.path().to_owned()]);
        assert_eq!(modes.record(folder.path()), Some(RecordedMode::Changed));
        assert_eq!(modes.record(folder.path()), Some(RecordedMode::Unchanged));
        modes.forget(folder.path());
        assert!(modes.known.is_empty());
        assert_eq!(modes.record(folder.path()), Some(RecordedMode::Changed));
    }
}
