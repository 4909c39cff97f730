//! The modes of the folders of one subscriber, to tell a change of one from a touch.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(super) struct Modes {
    /// They count below these.
    below: Vec<PathBuf>,
    known: HashMap<PathBuf, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    Same,
    /// Or the first that is known.
    Another,
}

impl Modes {
    pub(super) fn new(below: Vec<PathBuf>) -> Self {
        Self { below, known: HashMap::new() }
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
        let before = self.known.insert(folder.to_path_buf(), about.mode());
        Some(if before == Some(about.mode()) { Noted::Same } else { Noted::Another })
    }

    /// What is at and below a path is not what it was.
    pub(super) fn forget(&mut self, path: &Path) {
        if self.known.contains_key(path) {
            self.known.retain(|folder, _| !folder.starts_with(path));
        }
    }
}
