//! Polls files where the system does not report their changes.
//!
//! Runs on its own thread, because reading a slow file system may take long. The thread is started with the first
//! polled path.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use lilt_model::ignore::Matcher;
use lilt_model::os_error::is_shortage;

use super::region::RegionId;
use super::temporary::{is_private_folder, is_temporary};
use super::wake;

/// The minimum pause between two polls …
pub(super) const PERIOD: Duration = Duration::from_millis(500);
/// … and the minimum pause as a multiple of the duration of a poll, so that big trees do not keep a core busy.
const PAUSE_FACTOR: u32 = 9;

/// A polled path of one region.
type PolledPath = (RegionId, PathBuf);

/// How much of a polled path to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// The file or folder itself.
    Entry,
    /// Also everything below it.
    Tree,
}

#[derive(Debug)]
enum PollCommand {
    Add { path: PolledPath, depth: Depth, matcher: Arc<Matcher> },
    Forget { region: RegionId },
}

/// The changes found by one poll.
#[derive(Debug)]
pub(super) struct PollResult {
    pub(super) region: RegionId,
    /// Changed, created or deleted; empty for the first poll, which only records the state.
    pub(super) paths: Vec<PathBuf>,
    /// New and empty folders.
    pub(super) folders: Vec<PathBuf>,
    /// Folders that are new or whose mode has changed, and whether they are new.
    pub(super) modes: Vec<(PathBuf, bool)>,
    pub(super) first: bool,
}

#[derive(Debug)]
pub(super) struct Poller {
    /// `None` if the thread is not started. Unbounded: one command for each path and region.
    commands: Option<Sender<PollCommand>>,
    /// Commands to send when the thread could be started.
    waiting: Vec<PollCommand>,
    /// When to retry starting the thread.
    retry: Option<Instant>,
    /// Unbounded: the receiving thread never blocks for long.
    results: Sender<PollResult>,
    /// Shared with the thread, so that starting it needs no descriptor.
    waker: Arc<UnixStream>,
}

impl Poller {
    /// `waker` wakes the receiver of the results.
    pub(super) fn new(waker: UnixStream) -> (Poller, Receiver<PollResult>) {
        let (results, received) = channel();
        let waker = Arc::new(waker);
        (Poller { commands: None, waiting: Vec::new(), retry: None, results, waker }, received)
    }

    /// Starts polling a path. The first result confirms that its state was recorded.
    pub(super) fn add(&mut self, region: RegionId, path: PathBuf, depth: Depth, matcher: Arc<Matcher>) {
        self.waiting.push(PollCommand::Add { path: (region, path), depth, matcher });
        self.send_waiting();
    }

    pub(super) fn forget(&mut self, region: RegionId) {
        self.waiting.push(PollCommand::Forget { region });
        self.send_waiting();
    }

    /// Returns when to call [`Self::retry`].
    pub(super) fn retry_time(&self) -> Option<Instant> {
        self.retry
    }

    /// Retries to start the thread, if it is time.
    pub(super) fn retry(&mut self) {
        if self.retry.is_some_and(|retry| retry <= Instant::now()) {
            self.retry = None;
            self.send_waiting();
        }
    }

    fn send_waiting(&mut self) {
        if self.commands.is_none() && self.retry.is_none() {
            self.start();
        }
        if let Some(commands) = &self.commands {
            for command in self.waiting.drain(..) {
                // The thread lives longer than the sender.
                let _ = commands.send(command);
            }
        }
    }

    /// Starts the thread. It is never joined, because a poll may hang while a file server does not respond. It ends
    /// after the current poll when the sender of commands is dropped.
    fn start(&mut self) {
        let (commands, received) = channel();
        let (results, waker) = (self.results.clone(), Arc::clone(&self.waker));
        let poll = move || PollThread { commands: received, results, waker, snapshots: HashMap::new() }.run();
        match std::thread::Builder::new().name("lilt-poll".into()).spawn(poll) {
            Ok(_) => self.commands = Some(commands),
            // The limit of processes or the memory is exhausted.
            Err(error) => {
                tracing::warn!(%error, "cannot start the polling thread yet");
                self.retry = Some(Instant::now() + PERIOD);
            }
        }
    }
}

struct PollThread {
    commands: Receiver<PollCommand>,
    results: Sender<PollResult>,
    waker: Arc<UnixStream>,
    snapshots: HashMap<PolledPath, (Depth, Arc<Matcher>, Snapshot)>,
}

impl PollThread {
    fn run(mut self) {
        let mut pause = PERIOD;
        let mut next = Instant::now() + pause;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            match self.commands.recv_timeout(wait) {
                Ok(command) => self.handle(command),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let begin = Instant::now();
                    self.poll_all();
                    pause = PERIOD.max(begin.elapsed() * PAUSE_FACTOR);
                    next = Instant::now() + pause;
                }
            }
        }
    }

    fn handle(&mut self, command: PollCommand) {
        match command {
            PollCommand::Add { path, depth, matcher } => {
                let now = loop {
                    match Snapshot::take(&path.1, depth, &matcher) {
                        Ok(now) => break now,
                        Err(_) => std::thread::sleep(PERIOD),
                    }
                };
                let region = path.0;
                // The path may be polled already: then report the difference to the last poll.
                let before = self.snapshots.insert(path.clone(), (depth, matcher, now.clone()));
                let difference = before.map(|(_, _, before)| before.difference(&now)).unwrap_or_default();
                self.report(difference.into_result(region, true));
            }
            PollCommand::Forget { region } => self.snapshots.retain(|(holder, _), _| *holder != region),
        }
    }

    fn poll_all(&mut self) {
        let mut changed_regions = Vec::new();
        for ((region, path), (depth, matcher, before)) in &mut self.snapshots {
            // During a shortage files may seem to be missing. The next poll reports the changes.
            let Ok(now) = Snapshot::take(path, *depth, matcher) else { continue };
            let difference = before.difference(&now);
            if difference != Difference::default() {
                changed_regions.push(difference.into_result(*region, false));
                *before = now;
            }
        }
        changed_regions.into_iter().for_each(|results| self.report(results));
    }

    fn report(&self, results: PollResult) {
        // If the receiver is gone, the next read of commands ends the thread.
        let _ = self.results.send(results);
        wake(&self.waker);
    }
}

/// The metadata that shows a change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    is_folder: bool,
    mode: u32,
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of(metadata: &Metadata) -> FileStamp {
        if metadata.is_dir() {
            // Only existence and mode: the content of a folder is compared entry by entry.
            let mode = metadata.mode();
            return FileStamp { is_folder: true, mode, size: 0, inode: 0, modified: (0, 0), changed: (0, 0) };
        }
        FileStamp {
            is_folder: false,
            mode: metadata.mode(),
            size: metadata.size(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Turns all errors into `None`, except for a shortage on this machine, which says nothing about the file.
fn unless_short<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_shortage(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The state of a tree at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Snapshot(BTreeMap<PathBuf, FileStamp>);

impl Snapshot {
    /// Reads a tree. Fails only for a shortage on this machine.
    fn take(root: &Path, depth: Depth, matcher: &Matcher) -> io::Result<Snapshot> {
        let mut found = BTreeMap::new();
        let mut open = Vec::new();
        // The root itself may be a link.
        if let Some(metadata) = unless_short(fs::metadata(root))? {
            if metadata.is_dir() && depth == Depth::Tree {
                open.push(root.to_path_buf());
            }
            found.insert(root.to_path_buf(), FileStamp::of(&metadata));
        }
        while let Some(folder) = open.pop() {
            // A folder that cannot be read counts as deleted; the next poll corrects it.
            for entry in unless_short(fs::read_dir(&folder))?.into_iter().flatten().flatten() {
                let Some(metadata) = unless_short(entry.metadata())? else { continue };
                let (path, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                if metadata.is_dir() {
                    if !is_private_folder(&name) && !matcher.ignores_all_below(&path) {
                        open.push(path.clone());
                        found.insert(path, FileStamp::of(&metadata));
                    }
                } else if !is_temporary(&name) {
                    found.insert(path, FileStamp::of(&metadata));
                }
            }
        }
        Ok(Snapshot(found))
    }

    fn difference(&self, now: &Snapshot) -> Difference {
        let mut paths = Vec::new();
        let mut gone: Option<&Path> = None;
        for (path, stamp) in &self.0 {
            let after = now.0.get(path);
            let is_kept = after.is_some_and(|after| after.is_folder == stamp.is_folder);
            if is_kept || gone.is_some_and(|gone| path.starts_with(gone)) {
                continue;
            }
            // A file that replaced a folder is among the changed files.
            if after.is_none_or(|after| after.is_folder) {
                paths.push(path.clone());
            }
            gone = stamp.is_folder.then_some(path);
        }
        let is_empty = |folder: &PathBuf| {
            let next = now.0.range::<PathBuf, _>(folder..).nth(1);
            next.is_none_or(|(next, _)| !next.starts_with(folder))
        };
        let changed = now.0.iter().filter(|(path, stamp)| self.0.get(*path) != Some(stamp));
        let (folders, files): (Vec<_>, Vec<_>) = changed.partition(|(_, stamp)| stamp.is_folder);
        paths.extend(files.into_iter().map(|(path, _)| path.clone()));
        // The first path is the root itself.
        let root = now.0.keys().next();
        let is_new = |path: &PathBuf| !self.0.contains_key(path) && Some(path) != root;
        let folders: Vec<&PathBuf> = folders.into_iter().map(|(path, _)| path).collect();
        let new = folders.iter().filter(|path| is_new(path) && is_empty(path));
        let new = new.map(|path| (*path).clone()).collect();
        let modes = folders.into_iter().map(|path| (path.clone(), is_new(path)));
        Difference { paths, folders: new, modes: modes.collect() }
    }
}

/// The differences between two snapshots.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    /// Changed and deleted files. Of a deleted folder, only the folder itself.
    paths: Vec<PathBuf>,
    /// New and empty folders.
    folders: Vec<PathBuf>,
    /// Folders that are new or whose mode has changed, and whether they are new.
    modes: Vec<(PathBuf, bool)>,
}

impl Difference {
    fn into_result(self, region: RegionId, first: bool) -> PollResult {
        let Self { paths, folders, modes } = self;
        PollResult { region, paths, folders, modes, first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMFILE: i32 = 24;

    #[test]
    fn shortage_of_descriptors_is_no_deletion() {
        let missing = fs::metadata("/no/such/file");
        assert!(unless_short(missing).expect("it is no shortage").is_none());
        let short: io::Result<()> = Err(io::Error::from_raw_os_error(EMFILE));
        assert!(unless_short(short).is_err());
    }
}
