//! Looking at files again and again, where the system does not tell of their changes.
//!
//! A thread of its own, because a look at a slow file system takes as long as it takes. It is started with the first
//! place to look at.

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
use super::ring;
use super::temporary::{is_private_folder, is_temporary};

/// The pause between two looks …
pub(super) const PERIOD: Duration = Duration::from_millis(500);
/// … and how many times as long as the look itself it is at least, so that big trees do not keep a core busy.
const EASE: u32 = 9;

/// A file or a folder with all below it, for one region.
type Place = (RegionId, PathBuf);

/// How much of a place counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// The file or folder itself.
    Entry,
    /// All below it, too.
    Tree,
}

#[derive(Debug)]
enum Order {
    Look { place: Place, depth: Depth, matcher: Arc<Matcher> },
    Forget { region: RegionId },
}

/// What a look found.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) region: RegionId,
    /// Changed, new or gone; empty for the first look, which only takes note.
    pub(super) paths: Vec<PathBuf>,
    /// New, with nothing in them.
    pub(super) folders: Vec<PathBuf>,
    /// Folders that are new or have another mode, and whether they are new.
    pub(super) modes: Vec<(PathBuf, bool)>,
    pub(super) first: bool,
}

#[derive(Debug)]
pub(super) struct Poller {
    /// None: not started. Unbounded: one order for each place and region.
    orders: Option<Sender<Order>>,
    /// What is to be ordered when the thread runs: it could not be started yet.
    waiting: Vec<Order>,
    /// When to try to start it again.
    retry: Option<Instant>,
    /// Unbounded: the thread that reads it does nothing that takes long.
    seen: Sender<Seen>,
    /// Shared with the thread, so that starting it takes no descriptor.
    bell: Arc<UnixStream>,
}

impl Poller {
    /// `bell` wakes the one who reads what is seen.
    pub(super) fn new(bell: UnixStream) -> (Poller, Receiver<Seen>) {
        let (seen, received) = channel();
        let bell = Arc::new(bell);
        (Poller { orders: None, waiting: Vec::new(), retry: None, seen, bell }, received)
    }

    /// Looks at a place from now on; the first thing that is seen says that it has begun.
    pub(super) fn look(&mut self, region: RegionId, path: PathBuf, depth: Depth, matcher: Arc<Matcher>) {
        self.waiting.push(Order::Look { place: (region, path), depth, matcher });
        self.pass_on();
    }

    pub(super) fn forget(&mut self, region: RegionId) {
        self.waiting.push(Order::Forget { region });
        self.pass_on();
    }

    /// When [`Self::retry`] is to be called.
    pub(super) fn retry_time(&self) -> Option<Instant> {
        self.retry
    }

    /// Tries again to start the thread, if it is time.
    pub(super) fn retry(&mut self) {
        if self.retry.is_some_and(|retry| retry <= Instant::now()) {
            self.retry = None;
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        if self.orders.is_none() && self.retry.is_none() {
            self.start();
        }
        if let Some(orders) = &self.orders {
            for order in self.waiting.drain(..) {
                // The thread ends only after us.
                let _ = orders.send(order);
            }
        }
    }

    /// Nobody waits for the thread: a look may hang as long as a server does not answer. It ends after the look in
    /// which it is no longer wanted.
    fn start(&mut self) {
        let (orders, received) = channel();
        let (seen, bell) = (self.seen.clone(), Arc::clone(&self.bell));
        let look = move || Looker { orders: received, seen, bell, places: HashMap::new() }.run();
        match std::thread::Builder::new().name("lilt-poll".into()).spawn(look) {
            Ok(_) => self.orders = Some(orders),
            // This machine has no more processes, or no memory.
            Err(error) => {
                tracing::warn!(%error, "cannot start to look at files yet");
                self.retry = Some(Instant::now() + PERIOD);
            }
        }
    }
}

struct Looker {
    orders: Receiver<Order>,
    seen: Sender<Seen>,
    bell: Arc<UnixStream>,
    places: HashMap<Place, (Depth, Arc<Matcher>, Snapshot)>,
}

impl Looker {
    fn run(mut self) {
        let mut pause = PERIOD;
        let mut next = Instant::now() + pause;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            match self.orders.recv_timeout(wait) {
                Ok(order) => self.obey(order),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let begin = Instant::now();
                    self.look_at_all();
                    pause = PERIOD.max(begin.elapsed() * EASE);
                    next = Instant::now() + pause;
                }
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Look { place, depth, matcher } => {
                let now = loop {
                    match Snapshot::take(&place.1, depth, &matcher) {
                        Ok(now) => break now,
                        Err(_) => std::thread::sleep(PERIOD),
                    }
                };
                let region = place.0;
                // Taken anew, because what was there before it came back is of no use.
                let before = self.places.insert(place.clone(), (depth, matcher, now.clone()));
                let difference = before.map(|(_, _, before)| before.difference(&now)).unwrap_or_default();
                self.tell(difference.seen(region, true));
            }
            Order::Forget { region } => self.places.retain(|(holder, _), _| *holder != region),
        }
    }

    fn look_at_all(&mut self) {
        let mut told = Vec::new();
        for ((region, path), (depth, matcher, before)) in &mut self.places {
            // While this machine lacks what a look needs, nothing seems to be there. The next look tells.
            let Ok(now) = Snapshot::take(path, *depth, matcher) else { continue };
            let difference = before.difference(&now);
            if difference != Difference::default() {
                told.push(difference.seen(*region, false));
                *before = now;
            }
        }
        told.into_iter().for_each(|seen| self.tell(seen));
    }

    fn tell(&self, seen: Seen) {
        // A reader that is gone ends us with the next look at the orders.
        let _ = self.seen.send(seen);
        ring(&self.bell);
    }
}

/// What tells a file from what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    is_folder: bool,
    mode: u32,
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(about: &Metadata) -> Stamp {
        if about.is_dir() {
            // That it is there, and how it may be used: what is in it is looked at.
            let mode = about.mode();
            return Stamp { is_folder: true, mode, size: 0, inode: 0, modified: (0, 0), changed: (0, 0) };
        }
        Stamp {
            is_folder: false,
            mode: about.mode(),
            size: about.size(),
            inode: about.ino(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

/// What could be had; an error only for a shortage of this machine, which says nothing of what is there.
fn unless_short<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_shortage(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// A tree as it was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Snapshot(BTreeMap<PathBuf, Stamp>);

impl Snapshot {
    /// Fails only for a shortage of this machine.
    fn take(root: &Path, depth: Depth, matcher: &Matcher) -> io::Result<Snapshot> {
        let mut found = BTreeMap::new();
        let mut open = Vec::new();
        // The root itself may be a link.
        if let Some(about) = unless_short(fs::metadata(root))? {
            if about.is_dir() && depth == Depth::Tree {
                open.push(root.to_path_buf());
            }
            found.insert(root.to_path_buf(), Stamp::of(&about));
        }
        while let Some(folder) = open.pop() {
            // What cannot be read now is gone now; the next look tells if it was not.
            for entry in unless_short(fs::read_dir(&folder))?.into_iter().flatten().flatten() {
                let Some(about) = unless_short(entry.metadata())? else { continue };
                let (path, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                if about.is_dir() {
                    if !is_private_folder(&name) && !matcher.ignores_all_below(&path) {
                        open.push(path.clone());
                        found.insert(path, Stamp::of(&about));
                    }
                } else if !is_temporary(&name) {
                    found.insert(path, Stamp::of(&about));
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
            // A file in the place of a folder is among the changed files.
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
        // The first of all is the place itself.
        let root = now.0.keys().next();
        let is_new = |path: &PathBuf| !self.0.contains_key(path) && Some(path) != root;
        let folders: Vec<&PathBuf> = folders.into_iter().map(|(path, _)| path).collect();
        let new = folders.iter().filter(|path| is_new(path) && is_empty(path));
        let new = new.map(|path| (*path).clone()).collect();
        let modes = folders.into_iter().map(|path| (path.clone(), is_new(path)));
        Difference { paths, folders: new, modes: modes.collect() }
    }
}

/// What became of a tree.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    /// Files that are others now, and what is gone: of a folder that is gone, only itself.
    paths: Vec<PathBuf>,
    /// New folders with nothing in them.
    folders: Vec<PathBuf>,
    /// Folders that are new or have another mode, and whether they are new.
    modes: Vec<(PathBuf, bool)>,
}

impl Difference {
    fn seen(self, region: RegionId, first: bool) -> Seen {
        let Self { paths, folders, modes } = self;
        Seen { region, paths, folders, modes, first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMFILE: i32 = 24;

    #[test]
    fn shortage_of_descriptors_is_not_taken_for_a_deletion() {
        let missing = fs::metadata("/no/such/file");
        assert!(unless_short(missing).expect("it is no shortage").is_none());
        let short: io::Result<()> = Err(io::Error::from_raw_os_error(EMFILE));
        assert!(unless_short(short).is_err());
    }
}
