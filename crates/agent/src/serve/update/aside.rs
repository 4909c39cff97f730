//! Content that is on its way, in a file beside its place.

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
use crate::problem::{About, Problem};

/// As much as is copied at once.
const BLOCK: usize = 512 << 10;

/// How far a modification time may be ahead of the clock, in microseconds: as many saves of one file without a pause as
/// nobody makes by hand. After that, Python may take old bytecode for current.
const FURTHEST_AHEAD: i64 = 60_000_000;

/// What is written aside for a path: the same name each time, so that what a killed agent left is used again.
pub(super) fn name(path: &Path) -> String {
    let digest = lilt_agent::digest(path.as_os_str().as_encoded_bytes());
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!(".lilt-{digits}~")
}

pub(super) struct Aside {
    /// The place that it is for: what people know.
    path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
    digest: Digest,
    mode: u32,
    modified: i64,
    /// What lies in that place now, if parts of it are parts of the new.
    old: Option<File>,
}

impl Aside {
    pub(super) fn create(aside: &Path, path: &Path, wanted: &Wanted) -> Result<Self, Problem> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(wanted.mode & 0o777);
        let file = match options.open(aside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                clear(aside).about(path)?;
                options.open(aside)
            }
            opened => opened,
        };
        let file = file.about(path)?;
        reserve(&file, wanted.size);
        Ok(Self {
            path: path.to_owned(),
            file,
            hasher: blake3::Hasher::new(),
            digest: wanted.digest,
            mode: wanted.mode,
            modified: wanted.modified,
            old: None,
        })
    }

    /// The content is that of a file which cannot be changed itself.
    pub(super) fn copy_from(mut self, path: &Path) -> Result<(), Problem> {
        let mut old = File::open(path).about(path)?;
        self.copy(&mut old, u64::MAX)?;
        self.finish()
    }

    /// Parts of it will be parts of what lies there.
    pub(super) fn building_on(self, path: &Path) -> Result<Self, Problem> {
        let old = Some(File::open(path).about(path)?);
        Ok(Self { old, ..self })
    }

    pub(super) fn write(&mut self, piece: &Piece) -> Result<(), Problem> {
        let problem = |words: &str| Problem::new(self.path.display().to_string(), words);
        match piece {
            Piece::Fresh { packed, .. } => {
                let bytes = transfer::unpack(packed).map_err(|_| problem("a piece of it is malformed"))?;
                self.append(&bytes)
            }
            Piece::Old { from, length, .. } => {
                let mut old = self.old.take().ok_or_else(|| problem("it builds on nothing"))?;
                old.seek(SeekFrom::Start(*from)).about(&self.path)?;
                self.copy(&mut old, *length)?;
                self.old = Some(old);
                Ok(())
            }
        }
    }

    /// As many bytes, or as many as there are: whether it was enough, the digest says.
    fn copy(&mut self, from: &mut File, mut length: u64) -> Result<(), Problem> {
        let mut block = vec![0; BLOCK.min(usize::try_from(length).unwrap_or(BLOCK))];
        while length > 0 {
            let most = block.len().min(usize::try_from(length).unwrap_or(BLOCK));
            let read = from.read(&mut block[..most]).about(&self.path)?;
            if read == 0 {
                break;
            }
            self.append(&block[..read])?;
            length -= read as u64;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.hasher.update(bytes);
        self.file.write_all(bytes).about(&self.path)
    }

    /// All has come: is it what was told?
    pub(super) fn finish(self) -> Result<(), Problem> {
        if *self.hasher.finalize().as_bytes() != self.digest {
            let words = "its content did not arrive whole";
            return Err(Problem::new(self.path.display().to_string(), words));
        }
        let times = FileTimes::new().set_modified(time(newer_than_replaced(&self.path, self.modified)));
        self.file.set_times(times).about(&self.path)?;
        let about = self.file.metadata().about(&self.path)?;
        if about.permissions().mode() & 0o7777 == self.mode & 0o7777 {
            return Ok(());
        }
        self.file.set_permissions(Permissions::from_mode(self.mode & 0o7777)).about(&self.path)
    }
}

/// Settles where the content will lie. ext4 else writes a file out, and waits for room for it, when it is renamed to the place of
/// another: that is most of the time that thousands of small files take. Where it cannot be done, writing does it.
fn reserve(file: &File, size: u64) {
    if let Ok(size) = size.try_into()
        && size > 0
    {
        let _ = fallocate(file, FallocateFlags::empty(), 0, size);
    }
}

/// A link for a place, aside.
pub(super) fn link(aside: &Path, path: &Path, target: &str, modified: i64) -> Result<(), Problem> {
    clear(aside).about(path)?;
    symlink(target, aside).about(path)?;
    set_time(aside, modified).about(path)
}

/// Of a link itself, not of what it leads to.
pub(in crate::serve) fn set_time(path: &Path, modified: i64) -> nix::Result<()> {
    let time = TimeSpec::new(modified.div_euclid(1_000_000), modified.rem_euclid(1_000_000) * 1000);
    utimensat(nix::fcntl::AT_FDCWD, path, &time, &time, UtimensatFlags::NoFollowSymlink)
}

/// What an agent left that was killed.
fn clear(aside: &Path) -> io::Result<()> {
    match fs::remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the modification time of a file that replaces the one at `path`, see [`modified::newer`].
fn newer_than_replaced(path: &Path, wanted: i64) -> i64 {
    let Some(replaced) = fs::symlink_metadata(path).ok().filter(Metadata::is_file) else { return wanted };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    let latest = wanted.max(i64::try_from(now).unwrap_or(i64::MAX)).saturating_add(FURTHEST_AHEAD);
    modified::newer(wanted, replaced.mtime() * 1_000_000 + replaced.mtime_nsec() / 1000, latest)
}

pub(super) fn time(modified: i64) -> SystemTime {
    let distance = Duration::from_micros(modified.unsigned_abs());
    if modified < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}
