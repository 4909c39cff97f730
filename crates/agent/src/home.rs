//! The directory of the agent's program, and the state kept there.

use std::fs::{DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use crate::error::{AgentError, WithPath as _};

pub(crate) fn home() -> PathBuf {
    let own = std::fs::read_link("/proc/self/exe").unwrap_or_else(|_| lilt_agent::PROGRAM.into());
    own.parent().unwrap_or(Path::new(lilt_agent::HOME)).to_owned()
}

/// Removes the write permission of other users of the container: files that they put there would run as this user.
///
/// Another user may have created the directory, so it is open to everybody until the container's process, this one,
/// starts. Root takes ownership. Without the permission to do so it stays sticky, so that only the user who installed
/// this program can replace it. The agent's own files are in a separate directory, see [`create_state`].
pub(crate) fn protect() {
    let home = home();
    let Ok(metadata) = home.metadata() else { return };
    let user = nix::unistd::geteuid();
    let is_own = metadata.uid() == user.as_raw()
        || (user.is_root()
            && [&home, &home.join("agent")].iter().all(|path| chown(path, Some(0), Some(0)).is_ok()));
    if is_own && metadata.mode() & 0o022 != 0 {
        // The directory stays sticky if that fails.
        let _ = std::fs::set_permissions(&home, Permissions::from_mode(0o755));
    }
}

/// Returns the directory for the agent's own files, which only this user can write to.
fn state() -> PathBuf {
    home().join("state")
}

/// Creates the directory for the agent's own files. Fails if another user has created it.
///
/// The container's first process is usually the first that could create it. From then on it belongs to this user, and
/// in a sticky directory nobody else can replace it.
pub(crate) fn create_state() -> Result<(), AgentError> {
    let state = state();
    match DirBuilder::new().mode(0o755).create(&state) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error).with_path(&state),
        _ => {}
    }
    if !is_own_directory(&state) {
        return Err(AgentError::new(state.display().to_string(), "another user of the container created it"));
    }
    // Independent of the container's umask. Fails if root has created it, which is fine.
    let _ = std::fs::set_permissions(&state, Permissions::from_mode(0o755));
    Ok(())
}

/// Returns whether a path is a directory (no link) of this user or of root.
fn is_own_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && is_own(metadata.uid()))
}

fn is_own(user: u32) -> bool {
    user == 0 || user == nix::unistd::geteuid().as_raw()
}

/// Returns the path of the socket for restart requests.
pub(crate) fn control() -> PathBuf {
    state().join("control")
}

/// Returns the path of the list of executables that are updated in this directory, because their own cannot be written
/// to.
pub(crate) fn kept_list() -> PathBuf {
    state().join("kept-list")
}

/// Returns the path of the updated copy of such an executable.
pub(crate) fn kept(path: &Path) -> PathBuf {
    state().join("kept").join(path.strip_prefix("/").unwrap_or(path))
}

/// Returns the path of the updated copy, if it exists and only this user or root could have created it.
pub(crate) fn trusted_kept(path: &Path) -> Option<PathBuf> {
    let (state, kept) = (state(), kept(path));
    let is_file = kept.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && is_own(metadata.uid()));
    let mut folders = kept.ancestors().skip(1).take_while(|folder| folder.starts_with(&state));
    (is_file && folders.all(is_own_directory)).then_some(kept)
}
