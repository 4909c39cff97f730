//! Watches a file whose every write requests a restart, for `run` steps that touch it.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use crate::error::{AgentError, WithPath as _};

pub(super) struct RestartFile {
    inotify: Inotify,
    name: PathBuf,
}

impl RestartFile {
    /// Watches the file, which need not exist yet. Returns `None` if its directory is missing, as `/tmp` in some
    /// images: then nobody can write there.
    pub(super) fn watch(path: &str) -> Result<Option<Self>, AgentError> {
        let path = Path::new(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(AgentError::new(path.display().to_string(), "not a file that could be watched"));
        };
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).with_path(folder)?;
        let writes = AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_ATTRIB;
        match inotify.add_watch(folder, writes) {
            Err(nix::Error::ENOENT) => return Ok(None),
            watched => watched.with_path(folder)?,
        };
        Ok(Some(Self { inotify, name: name.into() }))
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    pub(super) fn was_written(&mut self) -> bool {
        let mut written = false;
        while let Ok(events) = self.inotify.read_events() {
            written |= events.iter().any(|event| event.name.as_deref() == Some(self.name.as_os_str()));
        }
        written
    }
}
