//! Detects whether git is changing files of a work tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A lock older than this is ignored: a git that was killed may have left it.
const STALE_AFTER: Duration = Duration::from_secs(30);

/// Returns the lock file that exists while git changes the work tree of this path.
pub(super) fn lock_of(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find_map(|folder| {
        let git = folder.join(".git");
        let metadata = fs::symlink_metadata(&git).ok()?;
        if metadata.is_dir() {
            return Some(git.join("index.lock"));
        }
        // A submodule or a linked work tree: the file names the git directory.
        let text = fs::read_to_string(&git).ok()?;
        let real = text.strip_prefix("gitdir:")?.trim();
        Some(folder.join(real).join("index.lock"))
    })
}

pub(super) fn is_held(lock: &Path) -> bool {
    let metadata = fs::symlink_metadata(lock).and_then(|metadata| metadata.modified());
    // An unknown or future age counts as new.
    metadata.is_ok_and(|modified| modified.elapsed().map_or(true, |age| age < STALE_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_found_for_files_and_submodules() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("repository/.git/modules/sub")).expect("a repository");
        fs::create_dir_all(path("repository/sub/deep")).expect("a submodule");
        fs::write(path("repository/sub/.git"), "gitdir: ../.git/modules/sub\n").expect("its place");
        let lock = lock_of(&path("repository/src/file")).expect("it is in a repository");
        assert_eq!(lock, path("repository/.git/index.lock"));
        assert!(!is_held(&lock));
        fs::write(&lock, "").expect("a lock");
        assert!(is_held(&lock));
        let lock = lock_of(&path("repository/sub/deep/file")).expect("it is in a submodule");
        fs::write(&lock, "").expect("a lock");
        assert!(is_held(&path("repository/.git/modules/sub/index.lock")));
        fs::File::open(&lock)
            .and_then(|file| file.set_modified(std::time::SystemTime::now() - STALE_AFTER))
            .expect("an old lock");
        assert!(!is_held(&lock), "what a killed git left");
        assert_eq!(lock_of(&path("file")), None);
    }
}
