//! A staged file: content that is written beside its path and renamed later.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lilt_agent::protocol::Piece;
use lilt_agent::{Digest, modified, transfer};
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;

use super::Wanted;
use crate::error::{AgentError, WithPath};

/// The buffer size for copying.
const BLOCK: usize = 512 << 10;

/// How far a modification time may be ahead of the clock, in microseconds: one second for each save in quick
/// succession, more than anybody makes by hand. Beyond it, Python may take old bytecode for current.
const MAX_AHEAD: i64 = 60_000_000;

/// Returns the name of the staged file for a path: always the same, so that one that a killed agent left is replaced.
pub(super) fn name(path: &Path) -> String {
    let digest = lilt_agent::digest(path.as_os_str().as_encoded_bytes());
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!(".lilt-{digits}~")
}

pub(super) struct StagedFile {
    /// The target path, for error messages.
    path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
    digest: Digest,
    mode: u32,
    modified: i64,
    /// The present file, if parts of it are reused.
    present: Option<File>,
}

impl StagedFile {
    pub(super) fn create(staged: &Path, path: &Path, wanted: &Wanted) -> Result<Self, AgentError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(wanted.mode & 0o777);
        let file = match options.open(staged) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                clear(staged).with_path(path)?;
                options.open(staged)
            }
            opened => opened,
        };
        let file = file.with_path(path)?;
        reserve(&file, wanted.size);
        Ok(Self {
            path: path.to_owned(),
            file,
            hasher: blake3::Hasher::new(),
            digest: wanted.digest,
            mode: wanted.mode,
            modified: wanted.modified,
            present: None,
        })
    }

    /// Copies the content of a file that cannot be changed itself.
    pub(super) fn copy_from(mut self, path: &Path) -> Result<(), AgentError> {
        let mut present = File::open(path).with_path(path)?;
        self.copy(&mut present, u64::MAX)?;
        self.finish()
    }

    /// Opens the present file, whose parts will be reused.
    pub(super) fn reusing(self, path: &Path) -> Result<Self, AgentError> {
        let present = Some(File::open(path).with_path(path)?);
        Ok(Self { present, ..self })
    }

    pub(super) fn write(&mut self, piece: &Piece) -> Result<(), AgentError> {
        let error = |words: &str| AgentError::new(self.path.display().to_string(), words);
        match piece {
            Piece::Data { packed, .. } => {
                let bytes = transfer::unpack(packed).map_err(|_| error("a piece of it is malformed"))?;
                self.append(&bytes)
            }
            Piece::Copy { offset, length, .. } => {
                let mut present = self.present.take().ok_or_else(|| error("it builds on nothing"))?;
                present.seek(SeekFrom::Start(*offset)).with_path(&self.path)?;
                self.copy(&mut present, *length)?;
                self.present = Some(present);
                Ok(())
            }
        }
    }

    /// Copies up to `length` bytes. The digest shows whether they were enough.
    fn copy(&mut self, from: &mut File, mut length: u64) -> Result<(), AgentError> {
        let mut block = vec![0; BLOCK.min(usize::try_from(length).unwrap_or(BLOCK))];
        while length > 0 {
            let max = block.len().min(usize::try_from(length).unwrap_or(BLOCK));
            let read = from.read(&mut block[..max]).with_path(&self.path)?;
            if read == 0 {
                break;
            }
            self.append(&block[..read])?;
            length -= read as u64;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), AgentError> {
        self.hasher.update(bytes);
        self.file.write_all(bytes).with_path(&self.path)
    }

    /// Verifies the digest, and sets time and mode.
    pub(super) fn finish(self) -> Result<(), AgentError> {
        if *self.hasher.finalize().as_bytes() != self.digest {
            let words = "its content did not arrive whole";
            return Err(AgentError::new(self.path.display().to_string(), words));
        }
        let times = FileTimes::new().set_modified(time(newer_than_replaced(&self.path, self.modified)));
        self.file.set_times(times).with_path(&self.path)?;
        let metadata = self.file.metadata().with_path(&self.path)?;
        if metadata.permissions().mode() & 0o7777 == self.mode & 0o7777 {
            return Ok(());
        }
        self.file.set_permissions(Permissions::from_mode(self.mode & 0o7777)).with_path(&self.path)
    }
}

/// Allocates the blocks of a file. Otherwise ext4 allocates and flushes a file when it is renamed over another, which
/// takes most of the time of thousands of small files. Errors are ignored: writing allocates, too.
fn reserve(file: &File, size: u64) {
    if let Ok(size) = size.try_into()
        && size > 0
    {
        let _ = fallocate(file, FallocateFlags::empty(), 0, size);
    }
}

/// Creates a staged link.
pub(super) fn link(staged: &Path, path: &Path, target: &str, modified: i64) -> Result<(), AgentError> {
    clear(staged).with_path(path)?;
    symlink(target, staged).with_path(path)?;
    set_time(staged, modified).with_path(path)
}

/// Sets the modification time of a path, without following links.
pub(in crate::serve) fn set_time(path: &Path, modified: i64) -> nix::Result<()> {
    let time = TimeSpec::new(modified.div_euclid(1_000_000), modified.rem_euclid(1_000_000) * 1000);
    utimensat(nix::fcntl::AT_FDCWD, path, &time, &time, UtimensatFlags::NoFollowSymlink)
}

/// Removes a staged file that a killed agent left.
fn clear(staged: &Path) -> io::Result<()> {
    match fs::remove_file(staged) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the modification time of a file that replaces the one at `path`, see [`modified::newer`].
fn newer_than_replaced(path: &Path, wanted: i64) -> i64 {
    let Some(replaced) = fs::symlink_metadata(path).ok().filter(Metadata::is_file) else { return wanted };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    let latest = wanted.max(i64::try_from(now).unwrap_or(i64::MAX)).saturating_add(MAX_AHEAD);
    modified::newer(wanted, replaced.mtime() * 1_000_000 + replaced.mtime_nsec() / 1000, latest)
}

pub(super) fn time(modified: i64) -> SystemTime {
    let distance = Duration::from_micros(modified.unsigned_abs());
    if modified < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}
