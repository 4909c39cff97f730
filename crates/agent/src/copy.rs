//! Copies a directory of the image to where it can be written: with modes, links and times.

use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, fchown, lchown, symlink};
use std::path::Path;

use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;

use crate::problem::{About, Problem};

/// Makes `to` what `from` is; what is not there gives an empty directory. Starting again is no error: an init
/// container may be.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Problem> {
    match fs::metadata(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_directory(to)?;
            set_mode(to, 0o755)
        }
        Err(error) => Err(error).about(from),
        // The root of what is copied may be a link; what counts is where it leads.
        Ok(about) if about.is_dir() => {
            make_directory(to)?;
            copy_content(from, to)?;
            finish_directory(to, &about)
        }
        Ok(_) => copy_file(from, to),
    }
}

fn copy_content(from: &Path, to: &Path) -> Result<(), Problem> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return skip(from),
        entries => entries.about(from)?,
    };
    for entry in entries {
        let name = entry.about(from)?.file_name();
        copy_entry(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// What this user cannot read, the container's process cannot either.
fn skip(path: &Path) -> Result<(), Problem> {
    eprintln!("lilt-agent: {} cannot be read by this user and is left out", path.display());
    Ok(())
}

fn copy_entry(from: &Path, to: &Path) -> Result<(), Problem> {
    let about = fs::symlink_metadata(from).about(from)?;
    if about.is_dir() {
        make_directory(to)?;
        // Not its own mode yet: it may be one that forbids writing.
        copy_content(from, to)?;
        finish_directory(to, &about)
    } else if about.is_symlink() {
        copy_link(from, to, &about)
    } else if about.is_file() {
        copy_file(from, to)
    } else {
        // A socket, a device: nothing that an image's directory needs.
        Ok(())
    }
}

/// Owner, mode and times of a directory whose content is there.
fn finish_directory(to: &Path, about: &Metadata) -> Result<(), Problem> {
    keep_owner(about, |user, group| chown(to, user, group));
    // Its user owns the copy, and must be able to change it.
    set_mode(to, about.mode() | 0o700)?;
    keep_times(to, about)
}

/// Gives a copy to the owner of its source. Only root can: the container's process may become that user later, which could
/// change the source. Another user's copies are that user's own, and root without the right to do so could not become another.
fn keep_owner(about: &Metadata, chown: impl FnOnce(Option<u32>, Option<u32>) -> std::io::Result<()>) {
    if nix::unistd::geteuid().is_root() {
        let _ = chown(Some(about.uid()), Some(about.gid()));
    }
}

fn copy_link(from: &Path, to: &Path, about: &Metadata) -> Result<(), Problem> {
    let target = fs::read_link(from).about(from)?;
    if fs::symlink_metadata(to).is_ok() {
        fs::remove_file(to).about(to)?;
    }
    symlink(target, to).about(to)?;
    keep_owner(about, |user, group| lchown(to, user, group));
    let modified = TimeSpec::new(about.mtime(), about.mtime_nsec());
    utimensat(nix::fcntl::AT_FDCWD, to, &modified, &modified, UtimensatFlags::NoFollowSymlink).about(to)
}

/// Content, mode and time of one file.
pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<(), Problem> {
    let mut source = match File::open(from) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return skip(from),
        source => source.about(from)?,
    };
    let about = source.metadata().about(from)?;
    if fs::symlink_metadata(to).is_ok() {
        fs::remove_file(to).about(to)?;
    }
    let mut target = File::create(to).about(to)?;
    std::io::copy(&mut source, &mut target).about(to)?;
    keep_owner(&about, |user, group| fchown(&target, user, group));
    target.set_permissions(Permissions::from_mode(about.mode() & 0o7777)).about(to)?;
    target.set_times(FileTimes::new().set_modified(about.modified().about(from)?)).about(to)
}

/// One that everybody may write: the container may run as somebody else than the one who copies.
///
/// Sticky, so that nobody can replace the files of others. See [`crate::home::protect`] for what becomes of it.
pub(crate) fn make_open_directory(path: &Path) -> Result<(), Problem> {
    if !path.is_dir() {
        fs::create_dir_all(path).about(path)?;
        set_mode(path, 0o1777)?;
    }
    Ok(())
}

fn make_directory(path: &Path) -> Result<(), Problem> {
    if path.is_dir() { set_mode(path, 0o700) } else { fs::create_dir_all(path).about(path) }
}

pub(crate) fn set_mode(path: &Path, mode: u32) -> Result<(), Problem> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777)).about(path)
}

fn keep_times(path: &Path, about: &Metadata) -> Result<(), Problem> {
    let times = FileTimes::new().set_modified(about.modified().about(path)?);
    File::open(path).and_then(|directory| directory.set_times(times)).about(path)
}
