//! A private folder for one session of lilt, removed at its end.
//! Beside each folder is a lock file with the same name, which the session keeps locked while it runs. The kernel
//! releases the lock when the process ends for any reason, so a file that can be locked belongs to a dead session. (A
//! process id is not enough: ids are reused, and differ between containers that share the home folder.)

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lilt_model::Failure;

use crate::error::Error;
use crate::{clock, environment, files};

/// How many names to try before giving up.
const ATTEMPTS: u32 = 100;

/// Cache folders in which sessions save files about what they built and applied.
const CACHES: [&str; 2] = ["built", "applied"];
/// No save takes this long.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct SessionDir {
    path: PathBuf,
    lock_path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

impl SessionDir {
    /// Creates a folder (mode 0700) under the user's cache folder and removes the folders of dead sessions.
    pub fn create() -> Result<SessionDir, Failure> {
        let created = Self::create_in(&sessions_folder());
        remove_abandoned_saves();
        created
    }

    /// Creates a session folder in `folder`.
    pub fn create_in(folder: &Path) -> Result<SessionDir, Failure> {
        create_private(folder, true).map_err(|error| Error::session_folder("create", folder, error))?;
        check_owner(folder)?;
        sweep(folder);
        for attempt in 0..ATTEMPTS {
            let name = format!("{}-{}-{attempt}", std::process::id(), clock::now().0);
            if let Some(created) = Self::try_name(folder, &name)? {
                return Ok(created);
            }
        }
        Err(Error::NoSessionName(folder.to_owned()).into())
    }

    /// Returns `None` if another process took the name, or removed the lock file before it was locked.
    fn try_name(folder: &Path, name: &str) -> Result<Option<SessionDir>, Failure> {
        let lock_path = folder.join(format!("{name}.pid"));
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&lock_path);
        let mut lock = match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            opened => opened.map_err(|error| Error::session_folder("create", &lock_path, error))?,
        };
        if lock.try_lock().is_err() || !is_still_at(&lock, &lock_path) {
            return Ok(None);
        }
        writeln!(lock, "{}", std::process::id())
            .map_err(|error| Error::session_folder("write", &lock_path, error))?;
        let session = SessionDir { path: folder.join(name), lock_path, _lock: lock };
        create_private(&session.path, false)
            .map_err(|error| Error::session_folder("create", &session.path, error))?;
        Ok(Some(session))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the folders of this user's running sessions and removes those of dead ones.
pub fn running() -> Vec<PathBuf> {
    sweep(&sessions_folder())
}

/// Returns whether this process of the user runs a session.
pub fn is_running(pid: u32) -> bool {
    let prefix = format!("{pid}-");
    running()
        .iter()
        .any(|folder| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
}

impl Drop for SessionDir {
    fn drop(&mut self) {
        remove(&self.path, &self.lock_path);
    }
}

/// Removes temporary files of processes that were killed during a save.
fn remove_abandoned_saves() {
    let cache = environment::cache_folder().into_iter();
    let caches = cache.flat_map(|cache| CACHES.map(|name| cache.join(name)));
    let tilt = environment::tilt_folder().into_iter().flat_map(|folder| [folder.join("tokens"), folder]);
    for folder in caches.chain(tilt) {
        files::remove_abandoned(&folder, ABANDONED_AFTER);
    }
}

fn sessions_folder() -> PathBuf {
    match environment::cache_folder() {
        Some(cache) => cache.join("sessions"),
        None => std::env::temp_dir().join(format!("lilt-{}", own_user().unwrap_or_default())),
    }
}

fn own_user() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|metadata| metadata.uid())
}

/// Fails if another user owns the folder: they could replace the session's files.
fn check_owner(folder: &Path) -> Result<(), Failure> {
    let owner = fs::metadata(folder).map_err(|error| Error::session_folder("read", folder, error))?.uid();
    match own_user() {
        Some(user) if user != owner => {
            let cause = io::Error::other("it belongs to another user");
            Err(Error::session_folder("use", folder, cause).into())
        }
        _ => Ok(()),
    }
}

fn create_private(path: &Path, recursive: bool) -> io::Result<()> {
    DirBuilder::new().recursive(recursive).mode(0o700).create(path)
}

fn is_still_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.metadata()) {
        (Ok(opened), Ok(found)) => (opened.dev(), opened.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}

/// Removes the folders of dead sessions and returns those of running ones.
fn sweep(folder: &Path) -> Vec<PathBuf> {
    let mut running = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return running };
    for lock_path in entries.flatten().map(|entry| entry.path()) {
        if lock_path.extension().is_none_or(|extension| extension != "pid") {
            continue;
        }
        let Ok(lock) = OpenOptions::new().write(true).open(&lock_path) else { continue };
        match lock.try_lock() {
            Ok(()) => remove(&lock_path.with_extension(""), &lock_path),
            Err(_) => running.push(lock_path.with_extension("")),
        }
    }
    running
}

/// Removes the folder first: a folder without its lock file would never be found again.
fn remove(path: &Path, lock_path: &Path) {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "cannot remove a session's folder");
            return;
        }
        _ => {}
    }
    if let Err(error) = fs::remove_file(lock_path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %lock_path.display(), %error, "cannot remove a session's lock file");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).expect("a folder").count()
    }

    #[test]
    fn session_dir_is_private_and_removed_on_drop() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let session = SessionDir::create_in(&folder.path().join("sessions")).expect("a session");
        let mode = session.path().metadata().expect("it exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(session.path().join("log"), "line").expect("it can be written to");
        drop(session);
        assert_eq!(entries(&folder.path().join("sessions")), 0);
    }

    #[test]
    fn create_removes_only_folders_of_dead_sessions() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("1-2-3")).expect("a leftover");
        fs::write(folder.path().join("1-2-3/log"), "old").expect("a file in it");
        fs::write(folder.path().join("1-2-3.pid"), "1").expect("its lock file, which nobody locks");
        fs::create_dir(folder.path().join("other")).expect("a folder that is not a session's");
        let running = SessionDir::create_in(folder.path()).expect("a session");
        let second = SessionDir::create_in(folder.path()).expect("another session");
        assert!(!folder.path().join("1-2-3").exists());
        assert!(!folder.path().join("1-2-3.pid").exists());
        assert!(running.path().exists() && second.path().exists() && running.path() != second.path());
        assert!(folder.path().join("other").exists());
        let mut both = vec![running.path().to_owned(), second.path().to_owned()];
        both.sort();
        let mut found = sweep(folder.path());
        found.sort();
        assert_eq!(found, both);
    }
}
