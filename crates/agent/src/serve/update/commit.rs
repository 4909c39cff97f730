//! Applies the prepared changes.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use super::permissions::{OpenedDirectories, set_mode};
use super::removal::{RemovalPlan, remove};
use super::{Step, staged_file};
use crate::error::{AgentError, WithPath};

pub(super) fn apply(
    removals: &[PathBuf],
    removal: &RemovalPlan,
    steps: &[Step],
    opened: &mut OpenedDirectories,
) -> Result<(), AgentError> {
    let staged_paths: HashSet<&Path> = steps.iter().filter_map(Step::staged).collect();
    for path in removals {
        removal.remove(path, &staged_paths).with_path(path)?;
    }
    for step in steps {
        match step {
            Step::Directory { path, .. } => make_directory(path)?,
            Step::Rename { staged, path } => rename(staged, path)?,
            Step::Adjust { path, mode, modified } => adjust(path, *mode, *modified)?,
        }
    }
    finish_directories(steps, opened)
}

/// Sets modes and times of directories. Done last, because new entries change the time; inner directories first,
/// because some modes forbid access.
fn finish_directories(steps: &[Step], opened: &mut OpenedDirectories) -> Result<(), AgentError> {
    let former = opened.opened().map(|(path, mode)| (path, (mode, None)));
    let mut directories: BTreeMap<&Path, (u32, Option<i64>)> = former.collect();
    directories.extend(steps.iter().filter_map(|step| match step {
        Step::Directory { path, mode, modified } => Some((path.as_path(), (*mode, Some(*modified)))),
        _ => None,
    }));
    for (path, (mode, modified)) in directories.into_iter().rev() {
        // An extended directory may be removed or replaced by now.
        let Ok(metadata) = fs::symlink_metadata(path) else { continue };
        if !metadata.is_dir() {
            continue;
        }
        if let Some(modified) = modified {
            set_time(path, modified)?;
        }
        if metadata.permissions().mode() & 0o7777 != mode & 0o7777 {
            unless_forbidden(set_mode(path, mode)).with_path(path)?;
        }
    }
    opened.forget();
    Ok(())
}

/// Ignores a lack of permission: directories of other users, such as the root of a volume, keep their mode.
fn unless_forbidden(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result,
    }
}

/// Creates a directory. Its mode is set at the end.
fn make_directory(path: &Path) -> Result<(), AgentError> {
    // A link to a directory must be replaced: the source has a real directory.
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    remove(path).with_path(path)?;
    make_parents(path)?;
    fs::create_dir(path).with_path(path)
}

/// Creates parents of a path that could not be created before, because of a file with the same path.
fn make_parents(path: &Path) -> Result<(), AgentError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    if folder.is_dir() {
        return Ok(());
    }
    make_parents(folder)?;
    if fs::symlink_metadata(folder).is_ok() {
        fs::remove_file(folder).with_path(folder)?;
    }
    fs::create_dir(folder).with_path(folder)
}

fn rename(staged: &Path, path: &Path) -> Result<(), AgentError> {
    // Usually this succeeds. Checking first would double the cost for thousands of files.
    if fs::rename(staged, path).is_ok() {
        return Ok(());
    }
    make_parents(path)?;
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        remove(path).with_path(path)?;
    }
    fs::rename(staged, path).with_path(path)
}

fn adjust(path: &Path, mode: u32, modified: i64) -> Result<(), AgentError> {
    let metadata = fs::metadata(path).with_path(path)?;
    if metadata.permissions().mode() & 0o7777 != mode & 0o7777 {
        set_mode(path, mode).with_path(path)?;
    }
    // Never to an earlier time: a reloader that polls would miss the next change (see `lilt_agent::modified`).
    if metadata.modified().with_path(path)? >= staged_file::time(modified) {
        Ok(())
    } else {
        set_time(path, modified)
    }
}

fn set_time(path: &Path, modified: i64) -> Result<(), AgentError> {
    match staged_file::set_time(path, modified) {
        // A directory of another user.
        Err(Errno::EPERM) => Ok(()),
        result => result.with_path(path),
    }
}
