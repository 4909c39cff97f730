//! Where a path of the image is written: there, or where it is kept because it cannot be written there.

use std::path::PathBuf;

use crate::home;

#[derive(Debug, Default)]
pub(super) struct Places {
    kept: Vec<PathBuf>,
}

impl Places {
    /// As the agent that started the process was told. Without one, everything is in its own place.
    pub(super) fn read() -> Self {
        let list = std::fs::read_to_string(home::kept_list()).unwrap_or_default();
        Self { kept: list.lines().map(PathBuf::from).collect() }
    }

    pub(super) fn of(&self, path: &str) -> PathBuf {
        let path = PathBuf::from(path);
        if self.kept.contains(&path) { home::kept(&path) } else { path }
    }
}
