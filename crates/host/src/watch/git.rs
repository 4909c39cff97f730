//! Whether git is at work on the files that change.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a git that was killed leaves does not count for longer than this.
const FRESH: Duration = Duration::from_secs(30);

/// The file that is there while git changes the work tree that this path lies in.
pub(super) fn lock_of(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find_map(|folder| {
        let git = folder.join(".git");
        let about = fs::symlink_metadata(&git).ok()?;
        if about.is_dir() {
            return Some(git.join("index.lock"));
        }
        // Of a submodule or another work tree: it says where.
        let text = fs::read_to_string(&git).ok()?;
        let real = text.strip_prefix("gitdir:")?.trim();
        Some(folder.join(real).join("index.lock"))
    })
}

pub(super) fn is_held(lock: &Path) -> bool {
    let about = fs::symlink_metadata(lock).and_then(|about| about.modified());
    // Unknown, or in the future: it was made just now.
    about.is_ok_and(|made| made.elapsed().map_or(true, |age| age < FRESH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_found_from_below() {
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
            .and_then(|file| file.set_modified(std::time::SystemTime::now() - FRESH))
            .expect("an old lock");
        assert!(!is_held(&lock), "what a killed git left");
        assert_eq!(lock_of(&path("file")), None);
    }
}
