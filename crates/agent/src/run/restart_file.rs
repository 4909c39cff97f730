//! A file whose every write asks for a restart, for run steps that touch it.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use crate::problem::{About as _, Problem};

pub(super) struct RestartFile {
    inotify: Inotify,
    name: PathBuf,
}

impl RestartFile {
    /// It need not be there yet. None if its directory is not: an image without `/tmp` has nobody who could write there.
    pub(super) fn watch(path: &str) -> Result<Option<Self>, Problem> {
        let path = Path::new(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Problem::new(path.display().to_string(), "not a file that could be watched"));
        };
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).about(folder)?;
        let writes = AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_ATTRIB;
        match inotify.add_watch(folder, writes) {
            Err(nix::Error::ENOENT) => return Ok(None),
            watched => watched.about(folder)?,
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
