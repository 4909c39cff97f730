//! Collects the changes for each subscriber and decides when to deliver a batch.
//!
//! The first change is delivered after a short debounce, so that an editor's write and rename are one batch. A file
//! that is being written delays its batch until it is closed. A burst, such as a checkout of another branch, is
//! collected until it has passed; many changes at once or a running git indicate a burst. While the subscriber is busy,
//! changes are merged, so memory is bounded by the number of distinct paths.

mod mailbox;
mod modes;

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use lilt_model::Failure;
use lilt_model::files::WatchOptions;
use tokio::sync::oneshot;

use super::{Label, Labelled, SubscriptionId};
use mailbox::Mailbox;
use modes::RecordedMode;

/// How long a first change waits for related ones.
const DEBOUNCE: Duration = Duration::from_millis(2);

/// What is known about a changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// Its writer has closed it, or it was moved here.
    Complete,
    /// A process is writing it.
    Writing,
    /// It was created; a process may be about to write it.
    Created,
    /// A poll or a walk found it; whether a process is writing it is unknown.
    Discovered,
    /// Its mode or times changed, which says nothing about its content.
    MetadataChanged,
    /// It was deleted or moved away.
    Deleted,
    /// A directory that has not replaced anything: it is new, or, where modes are watched, its mode has changed. Where
    /// they are not, it is reported only if it is empty: otherwise its files are reported.
    Folder,
}

#[derive(Debug)]
pub(super) struct Delivery<L> {
    mailboxes: HashMap<SubscriptionId, Mailbox>,
    subscribers: HashMap<SubscriptionId, Subscriber<L>>,
    /// Subscriptions with changes that are not due yet.
    debouncing: Vec<SubscriptionId>,
    /// When to check them.
    next_check: Option<Instant>,
}

/// Who gets the batches of a mailbox.
#[derive(Debug)]
struct Subscriber<L> {
    label: L,
    /// Set while it waits for its next batch.
    waiting: Option<oneshot::Sender<Vec<Labelled<L>>>>,
}

impl<L: Label> Delivery<L> {
    pub(super) fn new() -> Self {
        Self {
            mailboxes: HashMap::new(),
            subscribers: HashMap::new(),
            debouncing: Vec::new(),
            next_check: None,
        }
    }

    pub(super) fn open(&mut self, id: SubscriptionId, label: L, options: WatchOptions) {
        self.mailboxes.insert(id, Mailbox::new(options));
        self.subscribers.insert(id, Subscriber { label, waiting: None });
    }

    pub(super) fn close(&mut self, id: SubscriptionId) {
        self.mailboxes.remove(&id);
        self.subscribers.remove(&id);
    }

    /// Moves undelivered changes of `from` to `to`, as far as they are wanted there, and closes `from`.
    pub(super) fn take_over(
        &mut self,
        from: SubscriptionId,
        to: SubscriptionId,
        is_wanted: impl Fn(&Path) -> bool,
    ) {
        let Some(old) = self.mailboxes.remove(&from) else { return };
        self.subscribers.remove(&from);
        let Some(mailbox) = self.mailboxes.get_mut(&to) else { return };
        if mailbox.take_over(old, is_wanted) {
            self.debounce(to);
        }
    }

    pub(super) fn next_check(&self) -> Option<Instant> {
        self.next_check
    }

    pub(super) fn change(&mut self, id: SubscriptionId, path: &Path, kind: ChangeKind) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        let completes = mailbox.change(path, kind);
        self.debounce(id);
        if completes {
            // The batch may have waited for this.
            self.next_check = self.next_check.map(|next_check| next_check.min(Instant::now()));
        }
    }

    /// Records the mode of a folder, and reports a new folder.
    pub(super) fn record_mode(&mut self, id: SubscriptionId, folder: &Path, is_new: bool) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        let counts = mailbox.modes.record(folder).is_some();
        if counts && is_new {
            self.change(id, folder, ChangeKind::Folder);
        }
    }

    /// Reports a folder if its mode has changed.
    pub(super) fn check_mode(&mut self, id: SubscriptionId, folder: &Path) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        if mailbox.modes.record(folder) == Some(RecordedMode::Changed) {
            self.change(id, folder, ChangeKind::Folder);
        }
    }

    /// Notes that events were lost: deletions may be missing.
    pub(super) fn lost(&mut self, id: SubscriptionId) {
        if let Some(mailbox) = self.mailboxes.get_mut(&id) {
            mailbox.lost();
            self.debounce(id);
        }
    }

    pub(super) fn problem(&mut self, id: SubscriptionId, failure: &Failure) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        mailbox.problem(failure);
        self.debounce(id);
    }

    pub(super) fn notice(&mut self, id: SubscriptionId, failure: Failure) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        mailbox.notice(failure);
        self.debounce(id);
    }

    fn debounce(&mut self, id: SubscriptionId) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        let now = Instant::now();
        if mailbox.record_arrival(now) {
            self.debouncing.push(id);
            self.next_check.get_or_insert(now + DEBOUNCE);
        }
    }

    /// Requests the next batch for a subscriber.
    pub(super) fn take(&mut self, id: SubscriptionId, reply: oneshot::Sender<Vec<Labelled<L>>>) {
        if let Some(subscriber) = self.subscribers.get_mut(&id) {
            subscriber.waiting = Some(reply);
            self.deliver(id);
        }
    }

    /// Delivers all batches that are due.
    pub(super) fn flush(&mut self) {
        let now = Instant::now();
        if self.next_check.is_none_or(|next_check| next_check > now) {
            return;
        }
        let mut later = None;
        let mut all_due = Vec::new();
        let groups = self.groups(now);
        let mailboxes = &mut self.mailboxes;
        self.debouncing.retain(|id| {
            let Some(mailbox) = mailboxes.get_mut(id) else { return false };
            let Some((due, pause)) = mailbox.due(now) else { return false };
            let due =
                mailbox.group().and_then(|group| groups.get(group)).map_or(due, |group| due.max(*group));
            if due > now {
                let look = due.min(now + pause);
                later = Some(later.map_or(look, |other: Instant| other.min(look)));
                return true;
            }
            mailbox.mark_due(now);
            all_due.push(*id);
            false
        });
        self.next_check = later;
        for id in all_due {
            self.deliver(id);
        }
    }

    /// Returns, for the groups of subscriptions that have seen parts of the same burst, when it has passed for all of
    /// them.
    fn groups(&mut self, now: Instant) -> HashMap<String, Instant> {
        let mut groups: HashMap<String, Instant> = HashMap::new();
        for id in &self.debouncing {
            let Some(mailbox) = self.mailboxes.get_mut(id) else { continue };
            let Some(group) = mailbox.group().map(str::to_owned) else { continue };
            let Some((due, _)) = mailbox.due(now) else { continue };
            let known = groups.entry(group).or_insert(due);
            *known = (*known).max(due);
        }
        groups
    }

    /// Delivers the batch of a mailbox if it is due and a subscriber waits for it: its own one, or any of its group,
    /// which gets the batches of the whole group.
    fn deliver(&mut self, id: SubscriptionId) {
        let Some(mailbox) = self.mailboxes.get(&id).filter(|mailbox| mailbox.is_due()) else { return };
        let members = match mailbox.group() {
            None => vec![id],
            Some(group) => self.due_members(group),
        };
        let mut waiting =
            members.iter().filter_map(|member| self.subscribers.get_mut(member)?.waiting.take());
        let Some(reply) = waiting.next() else { return };
        // The others of the group go on waiting.
        drop(waiting);
        let batch = |id: SubscriptionId| {
            let batch = self.mailboxes.get_mut(&id)?.take_batch()?;
            Some(Labelled { id, label: self.subscribers.get(&id)?.label.clone(), batch })
        };
        let batches: Vec<Labelled<L>> = members.into_iter().filter_map(batch).collect();
        if batches.is_empty() {
            if let Some(subscriber) = self.subscribers.get_mut(&id) {
                subscriber.waiting = Some(reply);
            }
            return;
        }
        // The receiver is gone: the subscription was dropped, but not those of the rest of its group.
        if let Err(batches) = reply.send(batches) {
            self.put_back(batches);
        }
    }

    /// Returns the mailboxes of a group that are due.
    fn due_members(&self, group: &str) -> Vec<SubscriptionId> {
        let is_member = |mailbox: &Mailbox| mailbox.is_due() && mailbox.group() == Some(group);
        let members = self.mailboxes.iter().filter(|(_, mailbox)| is_member(mailbox));
        let mut members: Vec<SubscriptionId> = members.map(|(id, _)| *id).collect();
        members.sort();
        members
    }

    /// Delivers batches again that nobody has read.
    pub(super) fn put_back(&mut self, batches: Vec<Labelled<L>>) {
        for Labelled { id, batch, .. } in batches {
            if let Some(mailbox) = self.mailboxes.get_mut(&id) {
                mailbox.put_back(batch);
                self.debounce(id);
            }
        }
    }
}
