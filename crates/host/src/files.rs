//! Reading, saving, listing and locking files.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use lilt_model::Timestamp;
use tempfile::TempPath;

use crate::clock;

/// The suffix of temporary files.
const TEMPORARY: &str = ".tmp~";

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEntry {
    Missing,
    File {
        mode: u32,
        modified: Timestamp,
        content: Vec<u8>,
    },
    Directory {
        mode: u32,
        modified: Timestamp,
    },
    /// A symbolic link; not followed.
    Link {
        target: PathBuf,
        modified: Timestamp,
    },
    /// A socket, a device, or a file behind a link: nothing that can be copied.
    Other,
}

/// How often an entry may change its type while it is read.
const READ_ATTEMPTS: usize = 100;
/// How often a file is reread that was written meanwhile. After that its content is used as it is: another change event
/// follows.
const REREADS: usize = 10;

/// Reads the file, directory or link at a path.
pub fn read_entry(path: &Path) -> io::Result<FileEntry> {
    read_entry_below(path, path)
}

/// Reads the entry at a path below a root. An entry behind a link is [`FileEntry::Other`], because it has another path.
/// The root itself may be a link.
pub fn read_entry_below(root: &Path, path: &Path) -> io::Result<FileEntry> {
    let above = path.ancestors().skip(1).take_while(|above| above.starts_with(root) && *above != root);
    let mut attempts = 0;
    loop {
        if above.clone().any(Path::is_symlink) {
            return Ok(FileEntry::Other);
        }
        attempts += 1;
        match read_all(path) {
            Err(error) if is_missing(&error) => return Ok(FileEntry::Missing),
            // The file has become a link or a directory.
            Err(error) if attempts < READ_ATTEMPTS && changed_type(&error) => {}
            found => return found,
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn changed_type(error: &io::Error) -> bool {
    let loops = error.raw_os_error() == Some(nix::libc::ELOOP);
    loops || matches!(error.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput)
}

/// Returns when the entry at a path was last modified.
pub fn modified_time(path: &Path) -> Option<Timestamp> {
    modified(&std::fs::symlink_metadata(path).ok()?).ok()
}

fn modified(metadata: &std::fs::Metadata) -> io::Result<Timestamp> {
    let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp::ZERO.plus(since))
}

fn read_all(path: &Path) -> io::Result<FileEntry> {
    let metadata = std::fs::symlink_metadata(path)?;
    if metadata.is_file() {
        return read_file(path);
    }
    let modified = modified(&metadata)?;
    Ok(if metadata.is_dir() {
        FileEntry::Directory { mode: mode(&metadata), modified }
    } else if metadata.is_symlink() {
        FileEntry::Link { target: std::fs::read_link(path)?, modified }
    } else {
        FileEntry::Other
    })
}

/// Reads a file without following a link that has replaced it, and without blocking on a pipe.
fn read_file(path: &Path) -> io::Result<FileEntry> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    for _ in 0..REREADS {
        content.clear();
        file.rewind()?;
        file.read_to_end(&mut content)?;
        let before = std::mem::replace(&mut metadata, file.metadata()?);
        if change_times(&before) == change_times(&metadata) {
            break;
        }
    }
    Ok(FileEntry::File { mode: mode(&metadata), modified: modified(&metadata)?, content })
}

/// Returns times that change when a file is written.
fn change_times(metadata: &std::fs::Metadata) -> [i64; 4] {
    [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()]
}

fn mode(metadata: &std::fs::Metadata) -> u32 {
    metadata.permissions().mode() & 0o7777
}

/// Returns whether a path leads to a directory, or `None` if it does not exist.
pub fn is_directory(path: &Path) -> Option<bool> {
    std::fs::metadata(path).ok().map(|metadata| metadata.is_dir())
}

/// Writes a file atomically and creates its parent folders: a reader sees the old content or the new one.
pub fn save(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let temporary_path = temporary_path(folder);
    let saved =
        std::fs::write(&temporary_path, content).and_then(|()| std::fs::rename(&temporary_path, path));
    remove_if_failed(saved, &temporary_path)
}

/// Returns a unique path for a temporary file: several tasks may save at the same time.
fn temporary_path(folder: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    folder.join(format!(".{}.{number}{TEMPORARY}", std::process::id()))
}

/// Removes temporary files of processes that were killed during a save. A save takes milliseconds, so a file older than
/// `age` is abandoned. Process ids are not checked: processes of another container that shares the folder are not
/// visible.
pub fn remove_abandoned(folder: &Path, age: Duration) {
    // A missing folder has nothing to remove.
    for path in list(folder).unwrap_or_default() {
        let is_old = || std::fs::symlink_metadata(&path).is_ok_and(|metadata| is_older(&metadata, age));
        if path.file_name().is_some_and(is_temporary)
            && is_old()
            && let Err(error) = remove(&path)
        {
            tracing::debug!(%error, path = %path.display(), "a temporary file stays");
        }
    }
}

/// Returns whether a name has the form that [`temporary_path`] produces.
fn is_temporary(name: &OsStr) -> bool {
    let numbers =
        name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(TEMPORARY)?.split_once('.'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn is_older(metadata: &std::fs::Metadata, age: Duration) -> bool {
    metadata.is_file() && modified(metadata).is_ok_and(|written| clock::now().since(written) >= age)
}

/// Writes a file atomically that only the user may read.
pub fn save_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let temporary_path = temporary_path(folder);
    let mut file = create_new_private(&temporary_path)?;
    let saved = file.write_all(content).and_then(|()| std::fs::rename(&temporary_path, path));
    remove_if_failed(saved, &temporary_path)
}

/// Creates a file that only the user may read, replacing an existing one: an earlier process with the same id may have
/// left it, or another user may have created it with another mode.
fn create_new_private(path: &Path) -> io::Result<std::fs::File> {
    remove(path)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Removes the temporary file of a save that failed: on a full disk it would take the last space.
fn remove_if_failed(saved: io::Result<()>, temporary_path: &Path) -> io::Result<()> {
    if saved.is_err() {
        // The error of the save is the one to report.
        let _ = std::fs::remove_file(temporary_path);
    }
    saved
}

/// Creates or truncates a file.
pub fn create(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::create(path)
}

/// Creates or truncates a file that only the user may read, also if it existed with another mode.
pub fn create_private(path: &Path) -> io::Result<io::BufWriter<std::fs::File>> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // The mode of a device or a pipe, such as /dev/stdout, stays.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(io::BufWriter::new(file))
}

/// Returns the content of a file, or `None` if it cannot be read.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

/// Reads a file.
pub fn try_read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// Returns how long ago a file was written; none if it does not exist or was written in the future.
pub fn age(path: &Path) -> Option<Duration> {
    std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

/// Writes a temporary file, which is removed when the returned path is dropped.
pub fn temporary(suffix: &str, content: &[u8]) -> io::Result<TempPath> {
    let mut file = tempfile::Builder::new().prefix("lilt-").suffix(suffix).tempfile()?;
    file.write_all(content)?;
    Ok(file.into_temp_path())
}

/// Removes a file if it exists.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the entries of a folder, sorted by path, and whether each is a folder itself. Links are not followed.
pub fn list_with_types(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?.is_dir()))
    };
    let mut entries = std::fs::read_dir(folder)?.map(entry).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

/// Returns the entries of a folder, unordered.
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Returns all files and folders at and below a path. Folders that `wanted` rejects are not entered. Links are not
/// followed, unless the path itself is one.
pub fn walk(root: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    match is_directory(root) {
        Some(true) => open.push(root.to_owned()),
        Some(false) => found.push(root.to_owned()),
        None => {}
    }
    while let Some(folder) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if is_missing(&error) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.extend(wanted(&path).then_some(path)),
                _ => found.push(path),
            }
        }
        if folder != root {
            found.push(folder);
        }
    }
    Ok(found)
}

/// Creates a symbolic link and its parent folders.
pub fn link(target: &Path, path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::os::unix::fs::symlink(target, path)
}

/// A lock on a file, released when this is dropped. The file itself stays.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Locks a file with `flock`, as Tilt does. The lock file of a process that has ended is not locked any more.
///
/// If another process holds the lock for longer than `patience`, that process is stuck, and the caller continues
/// without the lock.
pub fn lock(path: &Path, patience: Duration, pause: Duration) -> io::Result<Lock> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) if waited < patience => {
                std::thread::sleep(pause);
                waited += pause;
            }
            Err(TryLockError::WouldBlock) => {
                tracing::warn!(path = %path.display(), "another process holds the lock; going on without it");
                return Ok(Lock { _file: file });
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Returns the files that stdout and stderr of this process are redirected to.
pub fn own_output() -> Vec<PathBuf> {
    let behind = |stream: &str| std::fs::read_link(format!("/proc/self/fd/{stream}")).ok();
    let mut files: Vec<PathBuf> = ["1", "2"].into_iter().filter_map(behind).collect();
    files.retain(|file| file.is_file());
    files.dedup();
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn lock_file_of_ended_process_does_not_block() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.lock");
        std::fs::write(&path, "").expect("a file");
        let hour = Duration::from_secs(3600);
        // The only pause would be an hour.
        drop(lock(&path, hour, hour).expect("a lock"));
        drop(lock(&path, hour, hour).expect("a second lock after the first was released"));
        assert!(path.exists());
    }

    #[test]
    fn lock_is_exclusive_while_held() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.lock");
        let held = lock(&path, Duration::ZERO, Duration::ZERO).expect("a lock");
        let other = File::open(&path).expect("the file");
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        other.try_lock().expect("free again");
    }

    #[test]
    fn failed_saves_leave_no_temporary_files() {
        let folder = tempfile::tempdir().expect("a folder");
        // A directory cannot be replaced by a file: the last step of the save fails.
        let taken = folder.path().join("taken");
        std::fs::create_dir(&taken).expect("a directory");
        for save in [save, save_private] {
            save(&taken, b"text").expect_err("it is a directory");
            assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1);
        }
    }

    #[test]
    fn old_temporary_files_of_killed_processes_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in [".12.3.tmp~", ".12.tmp~", ".a.3.tmp~", "12.3.tmp~", "kept"] {
            std::fs::write(path(name), "half").expect("a file");
        }
        remove_abandoned(folder.path(), Duration::from_secs(3600));
        assert!(path(".12.3.tmp~").exists(), "somebody may be writing it");
        remove_abandoned(folder.path(), Duration::ZERO);
        assert!(!path(".12.3.tmp~").exists());
        assert_eq!(list(folder.path()).expect("the folder").len(), 4, "the others are not ours");
        remove_abandoned(&path("missing"), Duration::ZERO);
    }

    #[test]
    fn create_private_resets_mode_of_existing_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("snapshot.json");
        std::fs::write(&path, "old").expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("its mode");
        drop(create_private(&path).expect("it can be written"));
        assert_eq!(mode(&path.metadata().expect("the file")), 0o600);
    }

    #[test]
    fn create_new_private_replaces_open_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("private");
        std::fs::write(&path, "old").expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("its mode");
        let reader = File::open(&path).expect("somebody has it open");
        create_new_private(&path).expect("another one").write_all(b"secret").expect("it is written");
        assert_eq!(mode(&path.metadata().expect("the file")), 0o600);
        assert_eq!(io::read_to_string(reader).expect("the old one"), "old");
    }

    #[test]
    fn entry_behind_link_below_root_is_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("real/deep")).expect("directories");
        std::fs::write(path("real/deep/file"), "text").expect("a file");
        symlink("real", path("link")).expect("a link");
        symlink("self", path("self")).expect("a link");
        let read =
            |root: &str, name: &str| read_entry_below(&path(root), &path(name)).expect("it can be read");
        assert!(
            matches!(read("real", "real/deep/file"), FileEntry::File { content, .. } if content == b"text")
        );
        assert!(matches!(read("link", "link/deep/file"), FileEntry::File { .. }), "the root is a link");
        assert_eq!(read("", "link/deep/file"), FileEntry::Other);
        assert_eq!(read("", "self/file"), FileEntry::Other);
        assert!(matches!(read("", "self"), FileEntry::Link { .. }));
        assert_eq!(read("", "real/deep/file/below"), FileEntry::Missing);
        assert_eq!(read("", "real/gone/file"), FileEntry::Missing);
    }
}
