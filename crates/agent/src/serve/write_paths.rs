//! Maps a path of the image to the path to write: the same, or a copy in the agent's directory if the image's cannot be
//! written to.

use std::path::PathBuf;

use crate::home;

#[derive(Debug, Default)]
pub(super) struct WritePaths {
    kept: Vec<PathBuf>,
}

impl WritePaths {
    /// Reads the list from the agent that started the process. Without one, all paths are unchanged.
    pub(super) fn read() -> Self {
        let list = std::fs::read_to_string(home::kept_list()).unwrap_or_default();
        Self { kept: list.lines().map(PathBuf::from).collect() }
    }

    pub(super) fn of(&self, path: &str) -> PathBuf {
        let path = PathBuf::from(path);
        if self.kept.contains(&path) { home::kept(&path) } else { path }
    }
}
