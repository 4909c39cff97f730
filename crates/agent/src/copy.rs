//! Copies a directory of the image to a writable volume, with modes, links and times.

use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, fchown, lchown, symlink};
use std::path::Path;

use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;

use crate::error::{AgentError, WithPath};

/// Copies a file or directory. If `from` does not exist, `to` becomes an empty directory. An existing copy is no error:
/// an init container may run again.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), AgentError> {
    match fs::metadata(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_directory(to)?;
            set_mode(to, 0o755)
        }
        Err(error) => Err(error).with_path(from),
        // `from` itself may be a link, which is followed.
        Ok(metadata) if metadata.is_dir() => {
            make_directory(to)?;
            copy_content(from, to)?;
            finish_directory(to, &metadata)
        }
        Ok(_) => copy_file(from, to),
    }
}

fn copy_content(from: &Path, to: &Path) -> Result<(), AgentError> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return skip(from),
        entries => entries.with_path(from)?,
    };
    for entry in entries {
        let name = entry.with_path(from)?.file_name();
        copy_entry(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// Skips a file that this user cannot read: the container's process cannot read it either.
fn skip(path: &Path) -> Result<(), AgentError> {
    eprintln!("lilt-agent: {} cannot be read by this user and is left out", path.display());
    Ok(())
}

fn copy_entry(from: &Path, to: &Path) -> Result<(), AgentError> {
    let metadata = fs::symlink_metadata(from).with_path(from)?;
    if metadata.is_dir() {
        make_directory(to)?;
        // The mode is set last: it may forbid writing.
        copy_content(from, to)?;
        finish_directory(to, &metadata)
    } else if metadata.is_symlink() {
        copy_link(from, to, &metadata)
    } else if metadata.is_file() {
        copy_file(from, to)
    } else {
        // A socket or a device: not needed in a copy.
        Ok(())
    }
}

/// Sets owner, mode and times of a directory after its content was copied.
fn finish_directory(to: &Path, metadata: &Metadata) -> Result<(), AgentError> {
    keep_owner(metadata, |user, group| chown(to, user, group));
    // The user owns the copy and must be able to change it.
    set_mode(to, metadata.mode() | 0o700)?;
    keep_times(to, metadata)
}

/// Sets the owner of a copy to that of its source, if this is root: the container's process may switch to that user
/// later, which could write the source. For other users, and for root without CAP_CHOWN, the copy stays their own.
fn keep_owner(metadata: &Metadata, chown: impl FnOnce(Option<u32>, Option<u32>) -> std::io::Result<()>) {
    if nix::unistd::geteuid().is_root() {
        let _ = chown(Some(metadata.uid()), Some(metadata.gid()));
    }
}

fn copy_link(from: &Path, to: &Path, metadata: &Metadata) -> Result<(), AgentError> {
    let target = fs::read_link(from).with_path(from)?;
    if fs::symlink_metadata(to).is_ok() {
        fs::remove_file(to).with_path(to)?;
    }
    symlink(target, to).with_path(to)?;
    keep_owner(metadata, |user, group| lchown(to, user, group));
    let modified = TimeSpec::new(metadata.mtime(), metadata.mtime_nsec());
    utimensat(nix::fcntl::AT_FDCWD, to, &modified, &modified, UtimensatFlags::NoFollowSymlink).with_path(to)
}

/// Copies content, owner, mode and time of one file.
pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<(), AgentError> {
    let mut source = match File::open(from) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return skip(from),
        source => source.with_path(from)?,
    };
    let metadata = source.metadata().with_path(from)?;
    if fs::symlink_metadata(to).is_ok() {
        fs::remove_file(to).with_path(to)?;
    }
    let mut target = File::create(to).with_path(to)?;
    std::io::copy(&mut source, &mut target).with_path(to)?;
    keep_owner(&metadata, |user, group| fchown(&target, user, group));
    target.set_permissions(Permissions::from_mode(metadata.mode() & 0o7777)).with_path(to)?;
    target.set_times(FileTimes::new().set_modified(metadata.modified().with_path(from)?)).with_path(to)
}

/// Creates a directory that all users may write to: the container may run as another user than the one that copies.
/// It is sticky, so that users cannot replace each other's files. [`crate::home::protect`] restricts it later.
pub(crate) fn make_open_directory(path: &Path) -> Result<(), AgentError> {
    if !path.is_dir() {
        fs::create_dir_all(path).with_path(path)?;
        set_mode(path, 0o1777)?;
    }
    Ok(())
}

fn make_directory(path: &Path) -> Result<(), AgentError> {
    if path.is_dir() { set_mode(path, 0o700) } else { fs::create_dir_all(path).with_path(path) }
}

pub(crate) fn set_mode(path: &Path, mode: u32) -> Result<(), AgentError> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777)).with_path(path)
}

fn keep_times(path: &Path, metadata: &Metadata) -> Result<(), AgentError> {
    let times = FileTimes::new().set_modified(metadata.modified().with_path(path)?);
    File::open(path).and_then(|directory| directory.set_times(times)).with_path(path)
}
