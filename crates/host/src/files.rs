//! Reading single files and what they are.

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

/// How the names of temporary files end.
const TEMPORARY: &str = ".tmp~";

/// What lies at a path now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    File {
        mode: u32,
        modified: Timestamp,
        content: Vec<u8>,
    },
    Directory {
        mode: u32,
        modified: Timestamp,
    },
    /// Not followed.
    Link {
        target: PathBuf,
        modified: Timestamp,
    },
    /// A socket, a device, something behind a link: nothing that can be copied.
    Other,
}

/// How often something may become something else while it is looked at.
const LOOKS: usize = 100;
/// How often a file is read again that was written meanwhile. After that it is taken as it is: another change tells of the rest.
const READS: usize = 10;

/// Reads what lies at a path. One that vanishes meanwhile is nothing.
pub fn look_at(path: &Path) -> io::Result<Found> {
    look_below(path, path)
}

/// The same for a path below a root: what is behind a link is none of its files, because it has another path. The root
/// itself may be a link.
pub fn look_below(root: &Path, path: &Path) -> io::Result<Found> {
    let above = path.ancestors().skip(1).take_while(|above| above.starts_with(root) && *above != root);
    let mut looks = 0;
    loop {
        if above.clone().any(Path::is_symlink) {
            return Ok(Found::Other);
        }
        looks += 1;
        match read_all(path) {
            Err(error) if is_nowhere(&error) => return Ok(Found::Nothing),
            // It was a file, and is a link or a directory by now.
            Err(error) if looks < LOOKS && became_another(&error) => {}
            found => return found,
        }
    }
}

fn is_nowhere(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn became_another(error: &io::Error) -> bool {
    let loops = error.raw_os_error() == Some(nix::libc::ELOOP);
    loops || matches!(error.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput)
}

/// When what lies at a path was last written, if it is there.
pub fn written(path: &Path) -> Option<Timestamp> {
    modified(&std::fs::symlink_metadata(path).ok()?).ok()
}

fn modified(about: &std::fs::Metadata) -> io::Result<Timestamp> {
    let since = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp::ZERO.plus(since))
}

fn read_all(path: &Path) -> io::Result<Found> {
    let about = std::fs::symlink_metadata(path)?;
    if about.is_file() {
        return read_file(path);
    }
    let modified = modified(&about)?;
    Ok(if about.is_dir() {
        Found::Directory { mode: mode(&about), modified }
    } else if about.is_symlink() {
        Found::Link { target: std::fs::read_link(path)?, modified }
    } else {
        Found::Other
    })
}

/// Not through a link that has taken its place, and without waiting for whoever writes to a pipe.
fn read_file(path: &Path) -> io::Result<Found> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut content = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
    for _ in 0..READS {
        content.clear();
        file.rewind()?;
        file.read_to_end(&mut content)?;
        let before = std::mem::replace(&mut about, file.metadata()?);
        if stamp(&before) == stamp(&about) {
            break;
        }
    }
    Ok(Found::File { mode: mode(&about), modified: modified(&about)?, content })
}

/// What becomes another when somebody writes a file.
fn stamp(about: &std::fs::Metadata) -> [i64; 4] {
    [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()]
}

fn mode(about: &std::fs::Metadata) -> u32 {
    about.permissions().mode() & 0o7777
}

/// Whether a path leads to a directory; none if it leads nowhere.
pub fn is_directory(path: &Path) -> Option<bool> {
    std::fs::metadata(path).ok().map(|about| about.is_dir())
}

/// Writes a file and the folders above it, at once: a reader sees the old text or the new one.
pub fn save(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let aside = aside(folder);
    let saved = std::fs::write(&aside, content).and_then(|()| std::fs::rename(&aside, path));
    remove_if_failed(saved, &aside)
}

/// A name that nobody else uses: several tasks may save beside each other.
fn aside(folder: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    folder.join(format!(".{}.{number}{TEMPORARY}", std::process::id()))
}

/// Removes temporary files in a folder that a process left which was killed while it saved. A save takes milliseconds: a
/// file that is older than `age` has no owner. Processes are not asked for: those of another container that shares the
/// folder cannot be seen.
pub fn remove_abandoned(folder: &Path, age: Duration) {
    // Where there is no folder there is nothing to remove.
    for path in list(folder).unwrap_or_default() {
        let is_old = || std::fs::symlink_metadata(&path).is_ok_and(|about| is_older(&about, age));
        if path.file_name().is_some_and(is_temporary)
            && is_old()
            && let Err(error) = remove(&path)
        {
            tracing::debug!(%error, path = %path.display(), "a temporary file stays");
        }
    }
}

/// Whether a save makes up such names.
fn is_temporary(name: &OsStr) -> bool {
    let numbers =
        name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(TEMPORARY)?.split_once('.'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn is_older(about: &std::fs::Metadata, age: Duration) -> bool {
    about.is_file() && modified(about).is_ok_and(|written| clock::now().since(written) >= age)
}

/// The same for what only the user may read.
pub fn save_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let aside = aside(folder);
    let mut file = create_new_private(&aside)?;
    let saved = file.write_all(content).and_then(|()| std::fs::rename(&aside, path));
    remove_if_failed(saved, &aside)
}

/// Creates a file that only the user may read, whatever was there: a process of the same number may have left a file of
/// this name, or another user may have created one, with a mode of its own.
fn create_new_private(path: &Path) -> io::Result<std::fs::File> {
    remove(path)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Removes the temporary file of a save that failed: on a full disk it would take what little room is left.
fn remove_if_failed(saved: io::Result<()>, aside: &Path) -> io::Result<()> {
    if saved.is_err() {
        // The failure of the save is what counts.
        let _ = std::fs::remove_file(aside);
    }
    saved
}

/// Opens a file to be written from its beginning.
pub fn create(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::create(path)
}

/// The same for what only the user may read, also if the file existed with another mode.
pub fn create_private(path: &Path) -> io::Result<io::BufWriter<std::fs::File>> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // Not of a device or a pipe, such as /dev/stdout.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(io::BufWriter::new(file))
}

/// What a file holds; none if it is not there or cannot be read.
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

/// Sees to it that there is no such file.
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

/// What lies in a folder, in no order.
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// What lies at and below a path, with the folders in it, but for what is in those that are not wanted. Links are not followed,
/// unless the path itself is one.
pub fn all_below(root: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    match is_directory(root) {
        Some(true) => open.push(root.to_owned()),
        Some(false) => found.push(root.to_owned()),
        None => {}
    }
    while let Some(folder) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if is_nowhere(&error) => continue,
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

/// Makes a symbolic link, and the folders above it.
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

/// Locks a file as Tilt does: by `flock`, so that a file left behind by a process that has ended delays nobody.
///
/// If another process holds the lock for longer than `patience`, the caller goes on without it: that process is stuck.
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

/// The files that this program's own output goes to, if the shell has sent it to some.
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
    fn lock_file_left_behind_does_not_delay() {
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
    fn temporary_files_of_killed_processes_are_removed_when_they_are_old() {
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
    fn private_files_lose_the_mode_they_had() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("snapshot.json");
        std::fs::write(&path, "old").expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("its mode");
        drop(create_private(&path).expect("it can be written"));
        assert_eq!(mode(&path.metadata().expect("the file")), 0o600);
    }

    #[test]
    fn private_temporary_file_replaces_an_open_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("aside");
        std::fs::write(&path, "old").expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("its mode");
        let reader = File::open(&path).expect("somebody has it open");
        create_new_private(&path).expect("another one").write_all(b"secret").expect("it is written");
        assert_eq!(mode(&path.metadata().expect("the file")), 0o600);
        assert_eq!(io::read_to_string(reader).expect("the old one"), "old");
    }

    #[test]
    fn what_is_behind_a_link_is_none_of_a_roots_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("real/deep")).expect("directories");
        std::fs::write(path("real/deep/file"), "text").expect("a file");
        symlink("real", path("link")).expect("a link");
        symlink("self", path("self")).expect("a link");
        let look = |root: &str, name: &str| look_below(&path(root), &path(name)).expect("it can be read");
        assert!(matches!(look("real", "real/deep/file"), Found::File { content, .. } if content == b"text"));
        assert!(matches!(look("link", "link/deep/file"), Found::File { .. }), "the root is a link");
        assert_eq!(look("", "link/deep/file"), Found::Other);
        assert_eq!(look("", "self/file"), Found::Other);
        assert!(matches!(look("", "self"), Found::Link { .. }));
        assert_eq!(look("", "real/deep/file/below"), Found::Nothing);
        assert_eq!(look("", "real/gone/file"), Found::Nothing);
    }
}
