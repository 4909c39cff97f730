//! The thread that owns the inotify instance: it waits for events and commands, and walks new directories between
//! them, a few at a time, so that no one's change waits for another's big tree.

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

use super::delivery::{Content, Delivery};
use super::mounts::{Choice, Mounts};
use super::poll::{Depth, Poller, Seen};
use super::region::{Reason, Region, RegionId, Report};
use super::table::Table;
use super::{Command, SubscriptionId};
use crate::environment;
use crate::error::Error;
use walk::Delayed;
pub(super) use walk::Job;

/// Holds a few hundred events.
const BUFFER: usize = 64 * 1024;
/// How long what is known of mounts is believed.
const MOUNTS_LAST: Duration = Duration::from_secs(1);
/// How many buffers are read before batches and commands get their turn.
const READS: usize = 16;

pub(super) fn start(
    commands: Receiver<Command>,
    bell: UnixStream,
    for_poller: UnixStream,
) -> Result<JoinHandle<()>, Failure> {
    // Too many programs watch files: then we look at them.
    let inotify = Inotify::init().inspect_err(|error| tracing::warn!(%error, "no inotify instance")).ok();
    let (poller, seen) = Poller::new(for_poller);
    let choice = Choice::from_variable(environment::variable(environment::LILT_WATCH).as_deref());
    let state = State::new(inotify, poller, choice);
    std::thread::Builder::new()
        .name("lilt-watch".into())
        .spawn(move || run(&commands, &seen, &bell, state))
        .map_err(|cause| Error::NotStarted { what: "watching files".to_owned(), cause }.into())
}

/// Runs until the last sender of commands is gone. `bell` becomes readable with every command.
fn run(commands: &Receiver<Command>, seen: &Receiver<Seen>, bell: &UnixStream, mut state: State) {
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
                        // What happened before is not the new subscriber's business. Should this fail, so will the
                        // next read, which says so.
                        let _ = read_events(&mut buffer, &mut state);
                    }
                    state.obey(command);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        seen.try_iter().for_each(|seen| state.looked(seen));
        state.retry_delayed();
        state.walk_some();
        state.delivery.flush();
        state.poller.retry();
        if let Err(error) = wait(bell, &state) {
            tracing::error!(%error, "cannot wait for file events");
            return;
        }
    }
}

/// Waits for an event, a command or the end of a gathering; not at all if there are directories to walk.
fn wait(bell: &UnixStream, state: &State) -> io::Result<()> {
    let wake = state.delivery.wake().into_iter().chain(state.poller.retry_time()).chain(state.retry).min();
    let timeout = match wake {
        _ if state.has_work() => PollTimeout::ZERO,
        None => PollTimeout::NONE,
        Some(wake) => {
            let micros = wake.saturating_duration_since(Instant::now()).as_micros();
            PollTimeout::try_from(micros.div_ceil(1000)).unwrap_or(PollTimeout::MAX)
        }
    };
    let mut sources = vec![PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
    sources.extend(state.table.inotify().map(|inotify| PollFd::new(inotify.as_fd(), PollFlags::POLLIN)));
    match poll(&mut sources, timeout) {
        Err(Errno::EINTR) => return Ok(()),
        polled => polled?,
    };
    if sources[0].any() == Some(true) {
        silence(bell)?;
    }
    Ok(())
}

/// Takes all rings at once; the commands they stand for are read after this.
fn silence(mut bell: &UnixStream) -> io::Result<()> {
    let mut rings = [0; 256];
    loop {
        match bell.read(&mut rings) {
            // Zero: all senders are gone, as the next look at the commands tells.
            Ok(length) if length < rings.len() => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_events(buffer: &mut [u8], state: &mut State) -> io::Result<()> {
    for _ in 0..READS {
        let Some(inotify) = state.table.inotify_mut() else { return Ok(()) };
        match inotify.read_events(buffer) {
            Ok(events) => events.for_each(|event| state.see(&event)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                state.quiet = SystemTime::now();
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[derive(Debug)]
struct State {
    table: Table,
    delivery: Delivery,
    subscribers: HashMap<SubscriptionId, Subscriber>,
    regions: HashMap<RegionId, Region>,
    by_root: HashMap<PathBuf, Vec<RegionId>>,
    /// The regions with directories to walk. They take turns, so that none waits for another's big tree.
    turns: VecDeque<RegionId>,
    poller: Poller,
    /// What this machine had no memory for.
    delayed: Vec<Delayed>,
    /// When that is tried again.
    retry: Option<Instant>,
    mounts: Mounts,
    mounts_read: Instant,
    choice: Choice,
    /// Reasons to look instead of waiting for events that were told.
    told: HashSet<Reason>,
    /// Everything before this moment has been seen.
    quiet: SystemTime,
    last_id: u64,
}

#[derive(Debug)]
struct Subscriber {
    regions: Vec<RegionId>,
    unready: HashSet<RegionId>,
    failure: Option<Failure>,
    /// Taken when it has been told.
    ready: Option<oneshot::Sender<Result<(), Failure>>>,
}

impl State {
    fn new(inotify: Option<Inotify>, poller: Poller, choice: Choice) -> Self {
        Self {
            table: Table::new(inotify),
            delivery: Delivery::default(),
            subscribers: HashMap::new(),
            regions: HashMap::new(),
            by_root: HashMap::new(),
            turns: VecDeque::new(),
            poller,
            delayed: Vec::new(),
            retry: None,
            mounts: Mounts::read(choice),
            mounts_read: Instant::now(),
            choice,
            told: HashSet::new(),
            quiet: SystemTime::now(),
            last_id: 0,
        }
    }

    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Subscribe { files, matcher, manner, id, ready } => {
                let subscription = SubscriptionId(self.new_id());
                // No receiver: the subscription was dropped before it began.
                if id.send(subscription).is_ok() {
                    self.delivery.open(subscription, manner);
                    self.subscribe(subscription, files, &matcher, ready);
                }
            }
            Command::Take { id, reply } => self.delivery.take(id, reply),
            Command::Unsubscribe { id } => self.unsubscribe(id),
            Command::TakeOver { from, to, done } => {
                self.take_over(from, to);
                // One that was dropped meanwhile hears nothing more of either.
                let _ = done.send(());
            }
            Command::CountWatches { reply } => {
                // An asker that is gone needs no answer.
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
            self.mounts = Mounts::read(self.choice);
            self.mounts_read = Instant::now();
        }
        let mut regions: Vec<RegionId> = Vec::new();
        let mut fresh = Vec::new();
        let FileSet { roots, entries, ignores } = files;
        let roots = roots.into_iter().filter(|root| !entries.contains(root)).map(|root| (root, false));
        let roots: Vec<(PathBuf, bool)> = roots.collect();
        for (root, is_entry) in roots.into_iter().chain(entries.into_iter().map(|entry| (entry, true))) {
            let region = match self.find_region(&root, is_entry, &ignores) {
                Some(region) => region,
                None => {
                    let region = Region::new(root, is_entry, ignores.clone(), matcher.clone());
                    let region = self.add_region(region);
                    fresh.push(region);
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
        let unready = regions.iter().copied().collect();
        let subscriber = Subscriber { regions: regions.clone(), unready, failure: None, ready: Some(ready) };
        self.subscribers.insert(id, subscriber);
        for region in fresh {
            self.settle(region, Report::Nothing);
        }
        for region in regions {
            self.tell_ready(region);
        }
        self.tell_if_ready(id);
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
        if region.looked_at {
            self.poller.forget(id);
        }
    }

    /// Tells the subscribers of a region if it has become ready.
    fn tell_ready(&mut self, id: RegionId) {
        let Some(region) = self.regions.get(&id).filter(|region| region.jobs == 0) else { return };
        let failure = region.failure.clone();
        for subscription in region.subscribers.clone() {
            let Some(subscriber) = self.subscribers.get_mut(&subscription) else { continue };
            if subscriber.unready.remove(&id) {
                subscriber.failure = subscriber.failure.take().or_else(|| failure.clone());
                self.tell_if_ready(subscription);
            }
        }
    }

    fn tell_if_ready(&mut self, id: SubscriptionId) {
        let Some(subscriber) =
            self.subscribers.get_mut(&id).filter(|subscriber| subscriber.unready.is_empty())
        else {
            return;
        };
        if let Some(ready) = subscriber.ready.take() {
            // Nobody has to wait for it.
            let _ = ready.send(subscriber.failure.take().map_or(Ok(()), Err));
        }
    }

    /// From now on this region misses changes. Told once: by `ready` to those who wait for it, in a batch to others.
    fn fail(&mut self, id: RegionId, failure: Failure) {
        let Some(region) = self.regions.get_mut(&id) else { return };
        if region.failure.is_some() {
            return;
        }
        for subscription in &region.subscribers {
            if self.subscribers.get(subscription).is_some_and(|subscriber| !subscriber.unready.contains(&id))
            {
                self.delivery.problem(*subscription, &failure);
            }
        }
        region.failure = Some(failure);
    }

    /// Looks at a place of a region again and again from now on. Told to the first of all whom the reason concerns.
    fn look_instead(&mut self, id: RegionId, path: PathBuf, reason: Reason) {
        let Some(region) = self.regions.get_mut(&id) else { return };
        region.jobs += 1;
        region.looked_at = true;
        if !self.told.contains(&reason)
            && let Some(subscription) = region.subscribers.first()
        {
            self.delivery.notice(*subscription, reason.notice(&path, self.table.count()));
            self.told.insert(reason);
        }
        let depth = if region.is_entry { Depth::Entry } else { Depth::Tree };
        self.poller.look(id, path, depth, region.matcher.clone());
    }

    fn looked(&mut self, seen: Seen) {
        for path in &seen.paths {
            self.report(seen.region, path, Content::Complete);
        }
        for folder in &seen.folders {
            self.report(seen.region, folder, Content::Folder);
        }
        for (folder, is_new) in &seen.modes {
            match is_new {
                true => self.note_mode(seen.region, folder, true),
                false => self.report_mode(seen.region, folder),
            }
        }
        if seen.first
            && let Some(region) = self.regions.get_mut(&seen.region)
        {
            region.jobs = region.jobs.saturating_sub(1);
            self.tell_ready(seen.region);
        }
    }

    /// The mode of a folder of a region may be another.
    fn report_mode(&mut self, id: RegionId, folder: &Path) {
        let Some(region) = self.regions.get(&id) else { return };
        if region.matcher.ignores(folder) {
            return;
        }
        for subscription in &region.subscribers {
            self.delivery.mode(*subscription, folder);
        }
    }

    /// A path of a region has changed.
    fn report(&mut self, id: RegionId, path: &Path, content: Content) {
        let Some(region) = self.regions.get(&id) else { return };
        if region.matcher.ignores(path) {
            return;
        }
        for subscription in &region.subscribers {
            self.delivery.change(*subscription, path, content);
        }
    }
}
