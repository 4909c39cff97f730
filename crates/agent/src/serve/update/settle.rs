//! Puts what lies aside in its place.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use nix::errno::Errno;

use super::{Step, aside};
use crate::problem::{About, Problem};

pub(super) fn settle(removals: &[std::path::PathBuf], steps: &[Step]) -> Result<(), Problem> {
    for path in removals {
        remove(path).about(path)?;
    }
    for step in steps {
        match step {
            Step::Directory { path, mode, .. } => make_directory(path, *mode)?,
            Step::Rename { aside, path } => rename(aside, path)?,
            Step::Adjust { path, mode, modified } => adjust(path, *mode, *modified)?,
        }
    }
    // Last, and inner ones first: what is put into a directory changes its time.
    for step in steps.iter().rev() {
        if let Step::Directory { path, modified, .. } = step {
            set_time(path, *modified)?;
        }
    }
    Ok(())
}

/// Whatever it is. What others mount there stays, without content.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    let Err(error) = removed else { return Ok(()) };
    match error.raw_os_error().map(Errno::from_raw) {
        // A part of it that was removed with the rest, or its directory is by now a file, or a link to itself.
        Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(()),
        Some(Errno::EBUSY) if path.is_dir() => Ok(()),
        _ => Err(error),
    }
}

fn make_directory(path: &Path, mode: u32) -> Result<(), Problem> {
    // A link to a directory is not one: the other side has a real one.
    let there = fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    if !there {
        remove(path).about(path)?;
        make_parents(path)?;
        fs::create_dir(path).about(path)?;
    }
    match fs::set_permissions(path, Permissions::from_mode(mode & 0o7777)) {
        // Somebody else's, such as the root of a volume: its content counts.
        Err(error) if there && error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result.about(path),
    }
}

/// Directories above a path that could not be made before, because a file was in the way.
fn make_parents(path: &Path) -> Result<(), Problem> {
    let Some(folder) = path.parent() else { return Ok(()) };
    if folder.is_dir() {
        return Ok(());
    }
    make_parents(folder)?;
    if fs::symlink_metadata(folder).is_ok() {
        fs::remove_file(folder).about(folder)?;
    }
    fs::create_dir(folder).about(folder)
}

fn rename(aside: &Path, path: &Path) -> Result<(), Problem> {
    // Mostly nothing is in the way. There may be thousands of them: looking first would cost as much again.
    if fs::rename(aside, path).is_ok() {
        return Ok(());
    }
    make_parents(path)?;
    if fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()) {
        remove(path).about(path)?;
    }
    fs::rename(aside, path).about(path)
}

fn adjust(path: &Path, mode: u32, modified: i64) -> Result<(), Problem> {
    let about = fs::metadata(path).about(path)?;
    if about.permissions().mode() & 0o7777 != mode & 0o7777 {
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7777)).about(path)?;
    }
    if about.modified().about(path)? == aside::time(modified) { Ok(()) } else { set_time(path, modified) }
}

fn set_time(path: &Path, modified: i64) -> Result<(), Problem> {
    match aside::set_time(path, modified) {
        // A directory of somebody else's.
        Err(Errno::EPERM) => Ok(()),
        result => result.about(path),
    }
}
