//! The directory that this program lies in, and what else is there.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

pub(crate) fn home() -> PathBuf {
    let own = std::fs::read_link("/proc/self/exe").unwrap_or_else(|_| lilt_agent::PROGRAM.into());
    own.parent().unwrap_or(Path::new(lilt_agent::HOME)).to_owned()
}

/// Takes the directory away from other users of the container: what they put there would run as this one.
///
/// The one who made it may be another user, so it is open to everybody until the container's process, this one, begins.
/// Root takes it over. Without the right to do so it stays as it is: sticky, so that nobody can replace this program.
pub(crate) fn protect() {
    let home = home();
    let Ok(about) = home.metadata() else { return };
    let user = nix::unistd::geteuid();
    let is_own = about.uid() == user.as_raw()
        || (user.is_root()
            && [&home, &home.join("agent")].iter().all(|path| chown(path, Some(0), Some(0)).is_ok()));
    if is_own && about.mode() & 0o022 != 0 {
        // It stays sticky if that fails.
        let _ = std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755));
    }
}

/// Where restarts are asked for.
pub(crate) fn control() -> PathBuf {
    home().join("control")
}

/// Which executables are kept here, because they lie where nothing can be written.
pub(crate) fn kept_list() -> PathBuf {
    home().join("kept-list")
}

/// Where such an executable is kept.
pub(crate) fn kept(path: &Path) -> PathBuf {
    home().join("kept").join(path.strip_prefix("/").unwrap_or(path))
}
