//! The undelivered changes of one subscriber.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_model::files::{ChangedPath, Existence, WatchOptions};
use lilt_model::{Failure, Timestamp};

use super::modes::Modes;
use super::{ChangeKind, DEBOUNCE};
use crate::clock;
use crate::watch::{Batch, git};

/// A file that is written and not closed is reported after this long without a change. A writer may pause between two
/// writes, but a program that keeps a log or a database open never closes it.
const WRITE_QUIET: Duration = Duration::from_millis(200);
/// The same for a file found by a walk or a poll: most are complete.
const DISCOVERED_QUIET: Duration = Duration::from_millis(20);
/// The same for files that are batched: programs that save several files do it without pauses.
const BATCH_QUIET: Duration = Duration::from_millis(30);
/// More changes than this are a burst …
const BURST_SIZE: usize = 16;
/// … which has passed after this long without a change.
const BURST_QUIET: Duration = Duration::from_millis(30);
/// The same while git is running: it may pause between two files.
const GIT_QUIET: Duration = Duration::from_millis(250);
/// A burst that does not end is delivered in parts, and so is a file that is written all the time.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// The same for git, which may change many files on a slow disk.
const MAX_GIT_DELAY: Duration = Duration::from_secs(120);
/// How often files are reported that are written all the time.
const CONSTANT_WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// How often to check again.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(super) struct Mailbox {
    /// Changes below these paths are batched.
    batched_paths: Vec<PathBuf>,
    /// Mailboxes of the same group batch their changes together.
    group: Option<String>,
    pub(super) modes: Modes,
    /// Files that were reported while they were being written: others do not wait for them.
    constantly_written: BTreeSet<PathBuf>,
    pending: PendingBatch,
}

/// The next batch.
#[derive(Debug, Default)]
struct PendingBatch {
    changes: BTreeMap<PathBuf, Change>,
    /// Files of `changes` that may be half written.
    being_written: BTreeSet<PathBuf>,
    /// Some of the changes are batched.
    has_batched: bool,
    lost: bool,
    problem: Option<Failure>,
    notice: Option<Failure>,
    since: Option<Instant>,
    /// When the newest change arrived.
    last: Option<Instant>,
    /// Git's lock file for these files; the outer `None` means not looked up yet.
    lock: Option<Option<PathBuf>>,
    /// Git was running.
    git: bool,
    /// When the first of the new files was noticed.
    created_since: Option<Timestamp>,
    is_due: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    kind: ChangeKind,
    /// It was created within this batch.
    is_new: bool,
}

impl Mailbox {
    pub(super) fn new(options: WatchOptions) -> Self {
        let WatchOptions { batched: batched_paths, group, modes } = options;
        Self { batched_paths, group, modes: Modes::new(modes), ..Self::default() }
    }

    /// Returns the group, if some of the pending changes are batched.
    pub(super) fn group(&self) -> Option<&str> {
        self.group.as_deref().filter(|_| self.pending.has_batched)
    }

    /// Adds a change. Returns whether it completes a file that was being written.
    pub(super) fn change(&mut self, path: &Path, kind: ChangeKind) -> bool {
        if matches!(kind, ChangeKind::Complete | ChangeKind::Deleted) {
            self.constantly_written.remove(path);
        }
        if kind == ChangeKind::Deleted {
            self.modes.forget(path);
        }
        self.pending.has_batched |= self.is_batched(path);
        self.pending.change(path, kind)
    }

    fn is_batched(&self, path: &Path) -> bool {
        self.batched_paths.iter().any(|above| path.starts_with(above))
    }

    /// Takes over the undelivered changes of another mailbox, as far as they are wanted. Returns whether there were
    /// any.
    pub(super) fn take_over(&mut self, other: Mailbox, is_wanted: impl Fn(&Path) -> bool) -> bool {
        let Mailbox {
            pending: PendingBatch { changes, being_written, lost, problem, notice, created_since, .. },
            constantly_written,
            ..
        } = other;
        let mut has_changes = lost || problem.is_some() || notice.is_some();
        self.pending.lost |= lost;
        self.pending.problem = self.pending.problem.take().or(problem);
        self.pending.notice = self.pending.notice.take().or(notice);
        self.pending.created_since = created_since.into_iter().chain(self.pending.created_since).min();
        self.constantly_written.extend(constantly_written);
        for (path, change) in changes.into_iter().filter(|(path, _)| is_wanted(path)) {
            has_changes = true;
            self.pending.has_batched |= self.is_batched(&path);
            match self.pending.changes.entry(path) {
                // Changes seen by this mailbox are newer, but not the first ones.
                Entry::Occupied(mut known) => known.get_mut().is_new &= change.is_new,
                Entry::Vacant(place) => {
                    if being_written.contains(place.key()) {
                        self.pending.being_written.insert(place.key().clone());
                    }
                    place.insert(change);
                }
            }
        }
        has_changes
    }

    pub(super) fn lost(&mut self) {
        self.pending.lost = true;
    }

    pub(super) fn problem(&mut self, failure: &Failure) {
        self.pending.problem.get_or_insert_with(|| failure.clone());
    }

    pub(super) fn notice(&mut self, failure: Failure) {
        self.pending.notice.get_or_insert(failure);
    }

    /// Records the time of a change. Returns whether a new debounce begins with it.
    pub(super) fn record_arrival(&mut self, now: Instant) -> bool {
        let PendingBatch { since, last, is_due, being_written, .. } = &mut self.pending;
        *last = Some(now);
        // The subscriber was busy: its undelivered batch waits for files that are being written.
        let is_reopened = *is_due && !being_written.is_empty();
        if since.is_some() && !is_reopened {
            return false;
        }
        (*since, *is_due) = (Some(now), false);
        true
    }

    /// Marks the batch as due.
    pub(super) fn mark_due(&mut self, now: Instant) {
        if self.pending.is_empty() {
            self.pending = PendingBatch::default();
            return;
        }
        if self.pending.last.is_some_and(|last| now < last + WRITE_QUIET) {
            self.constantly_written.extend(self.pending.being_written.iter().cloned());
        }
        self.pending.is_due = true;
    }

    /// Returns whether the batch may be delivered.
    pub(super) fn is_due(&self) -> bool {
        self.pending.is_due
    }

    /// Returns when the batch is due, and how soon to check again.
    pub(super) fn due(&mut self, now: Instant) -> Option<(Instant, Duration)> {
        let (since, last) = (self.pending.since?, self.pending.last?);
        if now < since + DEBOUNCE {
            return Some((since + DEBOUNCE, CHECK_INTERVAL));
        }
        if self.pending.is_git_running() {
            self.pending.git = true;
            return Some(((last + GIT_QUIET).min(since + MAX_GIT_DELAY), CHECK_INTERVAL));
        }
        let (quiet_period, max_delay) = self.quiet_period();
        Some(((last + quiet_period).min(since + max_delay).max(since + DEBOUNCE), CHECK_INTERVAL))
    }

    /// Returns the required quiet period, and the maximum delay that overrides it.
    fn quiet_period(&mut self) -> (Duration, Duration) {
        self.pending.close_links();
        let PendingBatch { changes, being_written, has_batched, git, .. } = &self.pending;
        let constantly_written =
            being_written.iter().filter(|path| self.constantly_written.contains(*path)).count();
        if constantly_written > 0 && constantly_written == changes.len() {
            return (WRITE_QUIET, CONSTANT_WRITE_INTERVAL);
        }
        let is_found = || changes.values().any(|change| change.kind == ChangeKind::Discovered);
        let many = changes.len() > BURST_SIZE;
        let rests = [
            (being_written.len() > constantly_written, WRITE_QUIET),
            (*git || many, BURST_QUIET),
            (*has_batched, BATCH_QUIET),
            (!many && is_found(), DISCOVERED_QUIET),
        ];
        let quiet_period =
            rests.into_iter().filter(|(applies, _)| *applies).map(|(_, quiet_period)| quiet_period).max();
        match quiet_period {
            None => (Duration::ZERO, DEBOUNCE),
            Some(quiet_period) => (quiet_period, if *git { MAX_GIT_DELAY } else { MAX_DELAY }),
        }
    }

    /// Takes the changes out as a batch, unless nothing is left of them.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        let mut pending = std::mem::take(&mut self.pending);
        let modes = &self.modes;
        pending.changes.retain(|path, change| {
            change.kind != ChangeKind::Folder || modes.covers(path) || is_empty_folder(path)
        });
        (!pending.is_empty()).then(|| pending.into_batch())
    }

    /// Adds a batch that was taken out and not delivered. Changes that have come since are newer.
    pub(super) fn put_back(&mut self, batch: Batch) {
        let Batch { paths, existence, lost, problem, notice } = batch;
        self.pending.lost |= lost;
        self.pending.problem = problem.or(self.pending.problem.take());
        self.pending.notice = notice.or(self.pending.notice.take());
        self.pending.created_since =
            existence.created_since.into_iter().chain(self.pending.created_since).min();
        for path in paths {
            let is_new = existence.created.binary_search(&path).is_ok();
            let kind = match () {
                () if ChangedPath::takes_no_place(&path) => ChangeKind::Folder,
                () if existence.is_deleted(&path) => ChangeKind::Deleted,
                () => ChangeKind::Complete,
            };
            self.pending.has_batched |= self.is_batched(&path);
            match self.pending.changes.entry(path) {
                Entry::Occupied(mut newer) => newer.get_mut().is_new &= is_new,
                Entry::Vacant(place) => {
                    place.insert(Change { kind, is_new });
                }
            }
        }
    }
}

impl PendingBatch {
    /// Adds a change. A file created and deleted within one batch is not reported: programs write to a temporary name
    /// first.
    fn change(&mut self, path: &Path, kind: ChangeKind) -> bool {
        use ChangeKind::{Complete, Created, Deleted, Discovered, Folder, MetadataChanged, Writing};
        let kind = match (self.changes.get_mut(path), kind) {
            (Some(known), Deleted) if known.is_new => {
                self.changes.remove(path);
                return self.being_written.remove(path);
            }
            // Any earlier change of the path must be reported in any case.
            (Some(_), Folder) => return false,
            (Some(Change { kind: Complete | Writing | Created, .. }), Discovered | MetadataChanged) => {
                return false;
            }
            (Some(known), kind) => {
                known.kind = kind;
                kind
            }
            (None, MetadataChanged) => Complete,
            (None, kind) => kind,
        };
        let change = Change { kind, is_new: kind == Created };
        if self.changes.entry(path.to_path_buf()).or_insert(change).is_new {
            self.created_since.get_or_insert_with(clock::now);
        }
        if matches!(kind, Created | Writing) {
            self.being_written.insert(path.to_path_buf());
            return false;
        }
        self.being_written.remove(path)
    }

    /// Marks new links as complete: they are never closed.
    fn close_links(&mut self) {
        let changes = &mut self.changes;
        self.being_written.retain(|path| {
            let Some(change) = changes.get_mut(path).filter(|change| change.kind == ChangeKind::Created)
            else {
                return true;
            };
            let is_written = std::fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.nlink() == 1);
            if !is_written {
                change.kind = ChangeKind::Complete;
            }
            is_written
        });
    }

    fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.lost && self.problem.is_none() && self.notice.is_none()
    }

    /// Returns whether git is changing these files. Checks only the first: a subscriber's files are rarely in several
    /// repositories.
    fn is_git_running(&mut self) -> bool {
        let first = self.changes.keys().next();
        let lock = self.lock.get_or_insert_with(|| first.and_then(|path| git::lock_of(path)));
        lock.as_deref().is_some_and(git::is_held)
    }

    /// Returns what is certain. Where events were lost, or files are polled, nothing is.
    fn existence(&self) -> Existence {
        let paths = |is_wanted: fn(&Change) -> bool| {
            let wanted = self.changes.iter().filter(move |(_, change)| is_wanted(change) && !self.lost);
            wanted.map(|(path, _)| path.clone()).collect::<Vec<PathBuf>>()
        };
        let created = paths(|change| change.is_new && change.kind != ChangeKind::Deleted);
        let created_since = self.created_since.filter(|_| !created.is_empty());
        Existence { created, created_since, deleted: paths(|change| change.kind == ChangeKind::Deleted) }
    }

    fn into_batch(mut self) -> Batch {
        let named = |(path, change): (PathBuf, Change)| match change.kind {
            // With a trailing slash: it has not replaced another directory.
            ChangeKind::Folder => path.join(""),
            _ => path,
        };
        let existence = self.existence();
        let paths = std::mem::take(&mut self.changes).into_iter().map(named).collect();
        let Self { lost, problem, notice, .. } = self;
        Batch { paths, existence, lost, problem, notice }
    }
}

fn is_empty_folder(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests;
