//! The directory that this program lies in, and what else is there.

use std::path::{Path, PathBuf};

pub(crate) fn home() -> PathBuf {
    let own = std::fs::read_link("/proc/self/exe").unwrap_or_else(|_| lilt_agent::PROGRAM.into());
    own.parent().unwrap_or(Path::new(lilt_agent::HOME)).to_owned()
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
