//! Paths by their text alone.

use std::path::{Component, Path, PathBuf};

/// Removes `.`, `..` and doubled slashes, by the text alone.
pub(crate) fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_paths() {
        assert_eq!(clean(Path::new("/a/./b/../c//d/")), Path::new("/a/c/d"));
        assert_eq!(clean(Path::new("/../a")), Path::new("/a"));
    }
}
