//! Puts what lies aside in its place.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use super::going::{Going, remove};
use super::reach::{Reach, set_mode};
use super::{Step, aside};
use crate::problem::{About, Problem};

pub(super) fn settle(
    removals: &[PathBuf],
    going: &Going,
    steps: &[Step],
    reach: &mut Reach,
) -> Result<(), Problem> {
    let asides: HashSet<&Path> = steps.iter().filter_map(Step::aside).collect();
    for path in removals {
        going.remove(path, &asides).about(path)?;
    }
    for step in steps {
        match step {
            Step::Directory { path, .. } => make_directory(path)?,
            Step::Rename { aside, path } => rename(aside, path)?,
            Step::Adjust { path, mode, modified } => adjust(path, *mode, *modified)?,
        }
    }
    finish_directories(steps, reach)
}

/// Last, and inner ones first: what is put into a directory changes its time, and some modes let nobody in.
fn finish_directories(steps: &[Step], reach: &mut Reach) -> Result<(), Problem> {
    let opened = reach.opened().map(|(path, mode)| (path, (mode, None)));
    let mut directories: BTreeMap<&Path, (u32, Option<i64>)> = opened.collect();
    directories.extend(steps.iter().filter_map(|step| match step {
        Step::Directory { path, mode, modified } => Some((path.as_path(), (*mode, Some(*modified)))),
        _ => None,
    }));
    for (path, (mode, modified)) in directories.into_iter().rev() {
        // One that was opened may be gone by now, or something else.
        let Ok(about) = fs::symlink_metadata(path) else { continue };
        if !about.is_dir() {
            continue;
        }
        if let Some(modified) = modified {
            set_time(path, modified)?;
        }
        if about.permissions().mode() & 0o7777 != mode & 0o7777 {
            or_somebody_elses(set_mode(path, mode)).about(path)?;
        }
    }
    reach.forget();
    Ok(())
}

/// Such as the root of a volume: its content counts.
fn or_somebody_elses(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result,
    }
}

/// Its mode comes when everything is in it.
fn make_directory(path: &Path) -> Result<(), Problem> {
    // A link to a directory is not one: the other side has a real one.
    if fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()) {
        return Ok(());
    }
    remove(path).about(path)?;
    make_parents(path)?;
    fs::create_dir(path).about(path)
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
        set_mode(path, mode).about(path)?;
    }
    // Not back to an earlier time: a reloader that polls would not see the next change (see `lilt_agent::modified`).
    if about.modified().about(path)? >= aside::time(modified) { Ok(()) } else { set_time(path, modified) }
}

fn set_time(path: &Path, modified: i64) -> Result<(), Problem> {
    match aside::set_time(path, modified) {
        // A directory of somebody else's.
        Err(Errno::EPERM) => Ok(()),
        result => result.about(path),
    }
}
