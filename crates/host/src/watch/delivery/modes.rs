//! The modes of the folders of one subscriber, to tell a change of one from a touch.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(super) struct Modes {
    /// They count below these.
    below: Vec<PathBuf>,
    /// By a number for each path: there may be many folders, and two of one number would merely cost one another a change. Those
    /// that are gone stay; when such a folder comes back it is told in any case.
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
