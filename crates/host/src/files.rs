//! Reading single files and what they are.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use lilt_model::Timestamp;

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
    /// A socket, a device: nothing that can be copied.
    Other,
}

/// Reads what lies at a path. One that vanishes meanwhile is nothing.
pub fn look_at(path: &Path) -> io::Result<Found> {
    match read_all(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Found::Nothing)
        }
        found => found,
    }
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
    let modified = modified(&about)?;
    let mode = about.permissions().mode() & 0o7777;
    Ok(if about.is_file() {
        Found::File { mode, modified, content: std::fs::read(path)? }
    } else if about.is_dir() {
        Found::Directory { mode, modified }
    } else if about.is_symlink() {
        Found::Link { target: std::fs::read_link(path)?, modified }
    } else {
        Found::Other
    })
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
    std::fs::write(&aside, content)?;
    std::fs::rename(&aside, path)
}

/// A name that nobody else uses: several tasks may save beside each other.
fn aside(folder: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    folder.join(format!(".{}.{number}.tmp~", std::process::id()))
}

/// The same for what only the user may read.
pub fn save_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let aside = aside(folder);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(content)?;
    std::fs::rename(&aside, path)
}

/// Opens a file to be written from its beginning.
pub fn create(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::create(path)
}

/// The same for what only the user may read.
pub fn create_private(path: &Path) -> io::Result<io::BufWriter<std::fs::File>> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    Ok(io::BufWriter::new(file))
}

/// What a file holds; none if it is not there or cannot be read.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

/// Sees to it that there is no such file.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What lies in a folder, in no order.
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Makes a symbolic link, and the folders above it.
pub fn link(target: &Path, path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::os::unix::fs::symlink(target, path)
}

/// A file that says somebody is at work; it goes when this is dropped.
#[derive(Debug)]
pub struct Lock(PathBuf);

/// Takes a lock file, as Kubernetes' clients do. One that stays longer than anybody works is left over and is taken.
pub fn lock(path: &Path, patience: Duration, pause: Duration) -> io::Result<Lock> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut waited = Duration::ZERO;
    loop {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(_) => return Ok(Lock(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && waited < patience => {
                std::thread::sleep(pause);
                waited += pause;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Lock(path.to_owned())),
            Err(error) => return Err(error),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Somebody else may have taken it away as left over.
        let _ = std::fs::remove_file(&self.0);
    }
}
