//! Content that is on its way, in a file beside its place.

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lilt_agent::chunks::Chunk;
use lilt_agent::protocol::Piece;
use lilt_agent::{Digest, transfer};
use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;

use super::Wanted;
use crate::problem::{About, Problem};

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
    old: Option<(File, Vec<Position>)>,
}

/// Where a chunk of the old content lies.
struct Position {
    from: u64,
    length: usize,
}

impl Aside {
    pub(super) fn create(aside: &Path, path: &Path, wanted: &Wanted) -> Result<Self, Problem> {
        clear(aside).about(path)?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(aside).about(path)?;
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
        let content = fs::read(path).about(path)?;
        self.append(&content)?;
        self.finish()
    }

    pub(super) fn builds_on(&mut self, path: &Path, has: &[Chunk]) -> Result<(), Problem> {
        let mut from = 0;
        let position = |chunk: &Chunk| {
            let position = Position { from, length: chunk.length as usize };
            from += u64::from(chunk.length);
            position
        };
        let positions = has.iter().map(position).collect();
        self.old = Some((File::open(path).about(path)?, positions));
        Ok(())
    }

    pub(super) fn write(&mut self, piece: &Piece) -> Result<(), Problem> {
        let malformed = || Problem::new(self.path.display().to_string(), "a piece of it is malformed");
        match piece {
            Piece::Fresh { packed, .. } => {
                let bytes = transfer::unpack(packed).map_err(|_| malformed())?;
                self.append(&bytes)
            }
            Piece::Old { first, count, .. } => {
                let range = *first as usize..(*first as usize).saturating_add(*count as usize);
                for at in range {
                    let (old, positions) = self.old.as_mut().ok_or_else(|| {
                        Problem::new(self.path.display().to_string(), "it builds on nothing")
                    })?;
                    let Some(position) = positions.get(at) else {
                        return Err(Problem::new(self.path.display().to_string(), "it has no such chunk"));
                    };
                    let bytes = old
                        .seek(SeekFrom::Start(position.from))
                        .and_then(|_| super::read_range(old, position.length))
                        .about(&self.path)?;
                    self.append(&bytes)?;
                }
                Ok(())
            }
        }
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
        let times = FileTimes::new().set_modified(time(self.modified));
        self.file.set_times(times).about(&self.path)?;
        self.file.set_permissions(Permissions::from_mode(self.mode & 0o7777)).about(&self.path)
    }
}

/// A link for a place, aside.
pub(super) fn link(aside: &Path, path: &Path, target: &str, modified: i64) -> Result<(), Problem> {
    clear(aside).about(path)?;
    symlink(target, aside).about(path)?;
    set_time(aside, modified).about(path)
}

/// Of a link itself, not of what it leads to.
pub(super) fn set_time(path: &Path, modified: i64) -> nix::Result<()> {
    let time = TimeSpec::new(modified.div_euclid(1_000_000), modified.rem_euclid(1_000_000) * 1000);
    utimensat(nix::fcntl::AT_FDCWD, path, &time, &time, UtimensatFlags::NoFollowSymlink)
}

/// What an agent left that was killed.
fn clear(aside: &Path) -> std::io::Result<()> {
    match fs::remove_file(aside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn time(modified: i64) -> SystemTime {
    let distance = Duration::from_micros(modified.unsigned_abs());
    if modified < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}
