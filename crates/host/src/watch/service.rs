//! The thread that owns the inotify instance: it waits for events and commands and walks new directories in between, a
//! few at a time, so that a big tree does not delay the changes of other subscriptions.

mod events;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use inotify::Inotify;
use lilt_model::Failure;
use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::ignore::Matcher;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::oneshot;

use super::delivery::{ChangeKind, Delivery};
use super::mounts::Mounts;
use super::poll::{Depth, PollResult, Poller};
use super::region::{PollReason, Region, RegionId, Report};
use super::table::Table;
use super::{Command, Label, SubscriptionId, WatchMode};
use crate::error::Error;
use walk::Delayed;
pub(super) use walk::Job;

/// Holds a few hundred events.
const BUFFER: usize = 64 * 1024;
/// How long the mount table is cached.
const MOUNTS_LAST: Duration = Duration::from_secs(1);
/// How many buffers are read before batches and commands are handled.
const READS: usize = 16;

pub(super) fn start<L: Label>(
    commands: Receiver<Command<L>>,
    waker: UnixStream,
    poller_waker: UnixStream,
    mode: WatchMode,
) -> Result<JoinHandle<()>, Failure> {
    // The limit of inotify instances is reached: then all files are polled.
    let inotify = Inotify::init().inspect_err(|error| tracing::warn!(%error, "no inotify instance")).ok();
    let (poller, results) = Poller::new(poller_waker);
    let state = State::new(inotify, poller, mode);
    std::thread::Builder::new()
        .name("lilt-watch".into())
        .spawn(move || run(&commands, &results, &waker, state))
        .map_err(|cause| Error::NotStarted { what: "watching files".to_owned(), cause }.into())
}

/// Runs until the last sender of commands is dropped. `waker` becomes readable with every command.
fn run<L: Label>(
    commands: &Receiver<Command<L>>,
    results: &Receiver<PollResult>,
    waker: &UnixStream,
    mut state: State<L>,
) {
    let mut buffer = vec![0; BUFFER];
    loop {
        if let Err(error) = read_events(&mut buffer, &mut state) {
            tracing::error!(%error, "cannot read file events");
            return;
        }
        loop {
            match commands.try_recv() {
                Ok(command) => {
                    if matches!(command, Command::Subscribe { .. }) {
                        // Earlier changes are not for the new subscriber. An error is reported by the next read.
                        let _ = read_events(&mut buffer, &mut state);
                    }
                    state.handle(command);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        results.try_iter().for_each(|results| state.apply_poll_result(results));
        state.retry_delayed();
        state.walk_some();
        state.delivery.flush();
        state.poller.retry();
        if let Err(error) = wait(waker, &state) {
            tracing::error!(%error, "cannot wait for file events");
            return;
        }
    }
}

/// Waits for an event, a command or a due batch; returns at once if there are directories to walk.
fn wait<L: Label>(waker: &UnixStream, state: &State<L>) -> io::Result<()> {
    let wake =
        state.delivery.next_check().into_iter().chain(state.poller.retry_time()).chain(state.retry).min();
    let timeout = match wake {
        _ if state.has_work() => PollTimeout::ZERO,
        None => PollTimeout::NONE,
        Some(wake) => {
            let micros = wake.saturating_duration_since(Instant::now()).as_micros();
            PollTimeout::try_from(micros.div_ceil(1000)).unwrap_or(PollTimeout::MAX)
        }
    };
    let mut sources = vec![PollFd::new(waker.as_fd(), PollFlags::POLLIN)];
    sources.extend(state.table.inotify().map(|inotify| PollFd::new(inotify.as_fd(), PollFlags::POLLIN)));
    match poll(&mut sources, timeout) {
        Err(Errno::EINTR) => return Ok(()),
        polled => polled?,
    };
    if sources[0].any() == Some(true) {
        drain_waker(waker)?;
    }
    Ok(())
}

/// Drains the waker; the commands are read after this.
fn drain_waker(mut waker: &UnixStream) -> io::Result<()> {
    let mut buffer = [0; 256];
    loop {
        match waker.read(&mut buffer) {
            // Zero: all senders are gone, which the next read of commands reports.
            Ok(length) if length < buffer.len() => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_events<L: Label>(buffer: &mut [u8], state: &mut State<L>) -> io::Result<()> {
    for _ in 0..READS {
        let Some(inotify) = state.table.inotify_mut() else { return Ok(()) };
        match inotify.read_events(buffer) {
            Ok(events) => events.for_each(|event| state.handle_event(&event)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                state.drained_at = SystemTime::now();
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[derive(Debug)]
struct State<L> {
    table: Table,
    delivery: Delivery<L>,
    subscribers: HashMap<SubscriptionId, Subscriber>,
    regions: HashMap<RegionId, Region>,
    by_root: HashMap<PathBuf, Vec<RegionId>>,
    /// The regions with directories to walk, served round-robin, so that none waits for another's big tree.
    turns: VecDeque<RegionId>,
    poller: Poller,
    /// Work to retry after a shortage of memory.
    delayed: Vec<Delayed>,
    /// When to retry it.
    retry: Option<Instant>,
    mounts: Mounts,
    mounts_read: Instant,
    mode: WatchMode,
    /// Reasons for polling that were reported.
    reported_reasons: HashSet<PollReason>,
    /// When all events were last read.
    drained_at: SystemTime,
    last_id: u64,
}

#[derive(Debug)]
struct Subscriber {
    regions: Vec<RegionId>,
    pending_regions: HashSet<RegionId>,
    failure: Option<Failure>,
    /// Taken when readiness was reported.
    ready: Option<oneshot::Sender<Result<(), Failure>>>,
}

impl<L: Label> State<L> {
    fn new(inotify: Option<Inotify>, poller: Poller, mode: WatchMode) -> Self {
        Self {
            table: Table::new(inotify),
            delivery: Delivery::new(),
            subscribers: HashMap::new(),
            regions: HashMap::new(),
            by_root: HashMap::new(),
            turns: VecDeque::new(),
            poller,
            delayed: Vec::new(),
            retry: None,
            mounts: Mounts::read(mode),
            mounts_read: Instant::now(),
            mode,
            reported_reasons: HashSet::new(),
            drained_at: SystemTime::now(),
            last_id: 0,
        }
    }

    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn handle(&mut self, command: Command<L>) {
        match command {
            Command::Subscribe { label, files, matcher, options, id, ready } => {
                let subscription = SubscriptionId(self.new_id());
                // No receiver: the subscription was dropped already.
                if id.send(subscription).is_ok() {
                    self.delivery.open(subscription, label, options);
                    self.subscribe(subscription, files, &matcher, ready);
                }
            }
            Command::Take { id, reply } => self.delivery.take(id, reply),
            Command::Unsubscribe { id, unread } => {
                self.unsubscribe(id);
                self.delivery.put_back(unread);
            }
            Command::TakeOver { from, to, done } => {
                self.take_over(from, to);
                // The subscription may have been dropped meanwhile.
                let _ = done.send(());
            }
            Command::CountWatches { reply } => {
                // The caller may have stopped waiting.
                let _ = reply.send(self.table.count());
            }
        }
    }

    fn subscribe(
        &mut self,
        id: SubscriptionId,
        files: FileSet,
        matcher: &Arc<Matcher>,
        ready: oneshot::Sender<Result<(), Failure>>,
    ) {
        if self.mounts_read.elapsed() > MOUNTS_LAST {
            self.mounts = Mounts::read(self.mode);
            self.mounts_read = Instant::now();
        }
        let mut regions: Vec<RegionId> = Vec::new();
        let mut added = Vec::new();
        let FileSet { roots, entries, ignores } = files;
        let roots = roots.into_iter().filter(|root| !entries.contains(root)).map(|root| (root, false));
        let roots: Vec<(PathBuf, bool)> = roots.collect();
        for (root, is_entry) in roots.into_iter().chain(entries.into_iter().map(|entry| (entry, true))) {
            let region = match self.find_region(&root, is_entry, &ignores) {
                Some(region) => region,
                None => {
                    let region = Region::new(root, is_entry, ignores.clone(), matcher.clone());
                    let region = self.add_region(region);
                    added.push(region);
                    region
                }
            };
            if !regions.contains(&region) {
                regions.push(region);
            }
        }
        for region in &regions {
            if let Some(region) = self.regions.get_mut(region) {
                region.subscribers.push(id);
            }
        }
        let pending_regions = regions.iter().copied().collect();
        let subscriber =
            Subscriber { regions: regions.clone(), pending_regions, failure: None, ready: Some(ready) };
        self.subscribers.insert(id, subscriber);
        for region in added {
            self.set_up(region, Report::Nothing);
        }
        for region in regions {
            self.notify_ready(region);
        }
        self.notify_if_ready(id);
    }

    fn find_region(&self, root: &Path, is_entry: bool, ignores: &[IgnoreRule]) -> Option<RegionId> {
        let candidates = self.by_root.get(root)?;
        let is_it = |region: &Region| region.is_entry == is_entry && region.ignores == ignores;
        candidates.iter().copied().find(|id| self.regions.get(id).is_some_and(is_it))
    }

    fn add_region(&mut self, region: Region) -> RegionId {
        let id = RegionId(self.new_id());
        self.by_root.entry(region.root.clone()).or_default().push(id);
        self.regions.insert(id, region);
        id
    }

    fn unsubscribe(&mut self, id: SubscriptionId) {
        self.delivery.close(id);
        let Some(subscriber) = self.subscribers.remove(&id) else { return };
        for region_id in subscriber.regions {
            let Some(region) = self.regions.get_mut(&region_id) else { continue };
            region.subscribers.retain(|subscriber| *subscriber != id);
            if region.subscribers.is_empty() {
                self.remove_region(region_id);
            }
        }
    }

    fn take_over(&mut self, from: SubscriptionId, to: SubscriptionId) {
        let regions = self.subscribers.get(&to).map_or(&[][..], |subscriber| &subscriber.regions);
        let regions: Vec<&Region> = regions.iter().filter_map(|id| self.regions.get(id)).collect();
        let is_wanted = |path: &Path| regions.iter().any(|region| region.contains(path));
        self.delivery.take_over(from, to, is_wanted);
        self.unsubscribe(from);
    }

    fn remove_region(&mut self, id: RegionId) {
        let Some(region) = self.regions.remove(&id) else { return };
        if let Some(others) = self.by_root.get_mut(&region.root) {
            others.retain(|other| *other != id);
            if others.is_empty() {
                self.by_root.remove(&region.root);
            }
        }
        for node in region.held {
            self.table.release(node, id);
        }
        if region.is_polled {
            self.poller.forget(id);
        }
    }

    /// Notifies the subscribers of a region if it has become ready.
    fn notify_ready(&mut self, id: RegionId) {
        let Some(region) = self.regions.get(&id).filter(|region| region.pending_jobs == 0) else { return };
        let failure = region.failure.clone();
        for subscription in region.subscribers.clone() {
            let Some(subscriber) = self.subscribers.get_mut(&subscription) else { continue };
            if subscriber.pending_regions.remove(&id) {
                subscriber.failure = subscriber.failure.take().or_else(|| failure.clone());
                self.notify_if_ready(subscription);
            }
        }
    }

    fn notify_if_ready(&mut self, id: SubscriptionId) {
        let Some(subscriber) =
            self.subscribers.get_mut(&id).filter(|subscriber| subscriber.pending_regions.is_empty())
        else {
            return;
        };
        if let Some(ready) = subscriber.ready.take() {
            // The subscriber may not be waiting.
            let _ = ready.send(subscriber.failure.take().map_or(Ok(()), Err));
        }
    }

    /// Records why this region misses changes from now on. Reported once: by `ready` to subscribers that are not ready
    /// yet, in a batch to others.
    fn fail(&mut self, id: RegionId, failure: Failure) {
        let Some(region) = self.regions.get_mut(&id) else { return };
        if region.failure.is_some() {
            return;
        }
        for subscription in &region.subscribers {
            if self
                .subscribers
                .get(subscription)
                .is_some_and(|subscriber| !subscriber.pending_regions.contains(&id))
            {
                self.delivery.problem(*subscription, &failure);
            }
        }
        region.failure = Some(failure);
    }

    /// Polls a path of a region from now on. Each reason is reported once, to the first subscriber concerned.
    fn poll_instead(&mut self, id: RegionId, path: PathBuf, reason: PollReason) {
        let Some(region) = self.regions.get_mut(&id) else { return };
        region.pending_jobs += 1;
        region.is_polled = true;
        if !self.reported_reasons.contains(&reason)
            && let Some(subscription) = region.subscribers.first()
        {
            self.delivery.notice(*subscription, reason.notice(&path, self.table.count()));
            self.reported_reasons.insert(reason);
        }
        let depth = if region.is_entry { Depth::Entry } else { Depth::Tree };
        self.poller.add(id, path, depth, region.matcher.clone());
    }

    fn apply_poll_result(&mut self, results: PollResult) {
        for path in &results.paths {
            self.report(results.region, path, ChangeKind::Complete);
        }
        for folder in &results.folders {
            self.report(results.region, folder, ChangeKind::Folder);
        }
        for (folder, is_new) in &results.modes {
            match is_new {
                true => self.record_mode(results.region, folder, true),
                false => self.report_mode(results.region, folder),
            }
        }
        if results.first
            && let Some(region) = self.regions.get_mut(&results.region)
        {
            region.pending_jobs = region.pending_jobs.saturating_sub(1);
            self.notify_ready(results.region);
        }
    }

    /// Reports a folder of a region if its mode has changed.
    fn report_mode(&mut self, id: RegionId, folder: &Path) {
        let Some(region) = self.regions.get(&id) else { return };
        if region.matcher.ignores(folder) {
            return;
        }
        for subscription in &region.subscribers {
            self.delivery.check_mode(*subscription, folder);
        }
    }

    /// Reports a changed path of a region.
    fn report(&mut self, id: RegionId, path: &Path, kind: ChangeKind) {
        let Some(region) = self.regions.get(&id) else { return };
        if region.matcher.ignores(path) {
            return;
        }
        for subscription in &region.subscribers {
            self.delivery.change(*subscription, path, kind);
        }
    }
}
