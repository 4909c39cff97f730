//! The modes of the folders of one subscriber, to tell a change of one from a touch.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(super) struct Modes {
    /// They count below these.
    below: Vec<PathBuf>,
    /// By a number for each path: there may be many folders, and two of one number would merely cost one another a change. Of
    /// folders that were moved away, those within stay; when one comes back it is told in any case.
    known: HashMap<u64, u32>,
    numbers: RandomState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    Same,
    /// Or the first that is known.
    Another,
}

impl Modes {
    pub(super) fn new(below: Vec<PathBuf>) -> Self {
        Self { below, ..Self::default() }
    }

    pub(super) fn count_for(&self, folder: &Path) -> bool {
        self.below.iter().any(|above| folder.starts_with(above))
    }

    /// A path is gone: if it was a folder, nothing is known of it any more.
    pub(super) fn forget(&mut self, path: &Path) {
        if !self.known.is_empty() {
            self.known.remove(&self.numbers.hash_one(path));
        }
    }

    /// Looks at the mode of a folder; none if it does not count or there is no such folder.
    pub(super) fn note(&mut self, folder: &Path) -> Option<Noted> {
        if !self.count_for(folder) {
            return None;
        }
        // A root may be a link.
        let about = std::fs::metadata(folder).ok().filter(|about| about.is_dir())?;
        let before = self.known.insert(self.numbers.hash_one(folder), about.mode());
        Some(if before == Some(about.mode()) { Noted::Same } else { Noted::Another })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_of_a_folder_that_is_gone_is_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut modes = Modes::new(vec![folder.path().to_owned()]);
        assert_eq!(modes.note(folder.path()), Some(Noted::Another));
        assert_eq!(modes.note(folder.path()), Some(Noted::Same));
        modes.forget(folder.path());
        assert!(modes.known.is_empty());
        assert_eq!(modes.note(folder.path()), Some(Noted::Another));
    }
}
