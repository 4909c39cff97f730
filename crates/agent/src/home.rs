//! The directory that this program lies in, and what else is there.

use std::fs::{DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use crate::problem::{About as _, Problem};

pub(crate) fn home() -> PathBuf {
    let own = std::fs::read_link("/proc/self/exe").unwrap_or_else(|_| lilt_agent::PROGRAM.into());
    own.parent().unwrap_or(Path::new(lilt_agent::HOME)).to_owned()
}

/// Takes the directory away from other users of the container: what they put there would run as this one.
///
/// The one who made it may be another user, so it is open to everybody until the container's process, this one, begins.
/// Root takes it over. Without the right to do so it stays as it is: sticky, so that only the user who installed this
/// program can replace it. What the agent writes goes to a directory of its own, see [`create_state`].
pub(crate) fn protect() {
    let home = home();
    let Ok(about) = home.metadata() else { return };
    let user = nix::unistd::geteuid();
    let is_own = about.uid() == user.as_raw()
        || (user.is_root()
            && [&home, &home.join("agent")].iter().all(|path| chown(path, Some(0), Some(0)).is_ok()));
    if is_own && about.mode() & 0o022 != 0 {
        // It stays sticky if that fails.
        let _ = std::fs::set_permissions(&home, Permissions::from_mode(0o755));
    }
}

/// What the agent writes: a directory that only this user can write to, in one that may be open to everybody.
fn state() -> PathBuf {
    home().join("state")
}

/// Creates the directory for what the agent writes. It is refused if it is there and somebody else's.
///
/// The container's first process is the first that could make it. From then on it is this user's, and in a sticky
/// directory nobody else can put another in its place.
pub(crate) fn create_state() -> Result<(), Problem> {
    let state = state();
    match DirBuilder::new().mode(0o755).create(&state) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error).about(&state),
        _ => {}
    }
    if !is_own_directory(&state) {
        return Err(Problem::new(state.display().to_string(), "another user of the container created it"));
    }
    // Whatever the container's umask is. Root may have made it.
    let _ = std::fs::set_permissions(&state, Permissions::from_mode(0o755));
    Ok(())
}

/// Whether it is a directory, not a link to one, of this user or of root.
fn is_own_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir() && is_own(about.uid()))
}

fn is_own(user: u32) -> bool {
    user == 0 || user == nix::unistd::geteuid().as_raw()
}

/// Where restarts are asked for.
pub(crate) fn control() -> PathBuf {
    state().join("control")
}

/// Which executables are kept here, because they lie where nothing can be written.
pub(crate) fn kept_list() -> PathBuf {
    state().join("kept-list")
}

/// Where such an executable is kept.
pub(crate) fn kept(path: &Path) -> PathBuf {
    state().join("kept").join(path.strip_prefix("/").unwrap_or(path))
}

/// The same, if it is there and nobody else than this user and root could have put it there.
pub(crate) fn trusted_kept(path: &Path) -> Option<PathBuf> {
    let (state, kept) = (state(), kept(path));
    let is_file = kept.symlink_metadata().is_ok_and(|about| about.is_file() && is_own(about.uid()));
    let mut folders = kept.ancestors().skip(1).take_while(|folder| folder.starts_with(&state));
    (is_file && folders.all(is_own_directory)).then_some(kept)
}
