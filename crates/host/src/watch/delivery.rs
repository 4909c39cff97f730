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
use lilt_model::files::Manner;
use tokio::sync::oneshot;

use super::{Batch, SubscriptionId};
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

/// Mailboxes that deliver at the same time.
struct Group {
    /// When the burst has passed for all of them.
    due: Instant,
    members: usize,
}

#[derive(Debug, Default)]
pub(super) struct Delivery {
    mailboxes: HashMap<SubscriptionId, Mailbox>,
    /// Subscriptions with changes that are not due yet.
    debouncing: Vec<SubscriptionId>,
    /// When to check them.
    next_check: Option<Instant>,
}

impl Delivery {
    pub(super) fn open(&mut self, id: SubscriptionId, options: Manner) {
        self.mailboxes.insert(id, Mailbox::new(options));
    }

    pub(super) fn close(&mut self, id: SubscriptionId) {
        self.mailboxes.remove(&id);
    }

    /// Moves undelivered changes of `from` to `to`, as far as they are wanted there, and closes `from`.
    pub(super) fn take_over(
        &mut self,
        from: SubscriptionId,
        to: SubscriptionId,
        is_wanted: impl Fn(&Path) -> bool,
    ) {
        let Some(old) = self.mailboxes.remove(&from) else { return };
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
    pub(super) fn take(&mut self, id: SubscriptionId, reply: oneshot::Sender<Batch>) {
        if let Some(mailbox) = self.mailboxes.get_mut(&id) {
            mailbox.take(reply);
        }
    }

    /// Delivers all batches that are due.
    pub(super) fn flush(&mut self) {
        let now = Instant::now();
        if self.next_check.is_none_or(|next_check| next_check > now) {
            return;
        }
        let mut later = None;
        let groups = self.groups(now);
        let mailboxes = &mut self.mailboxes;
        self.debouncing.retain(|id| {
            let Some(mailbox) = mailboxes.get_mut(id) else { return false };
            let Some((due, pause)) = mailbox.due(now) else { return false };
            let group = mailbox.group().and_then(|group| groups.get(group));
            let due = group.map_or(due, |group| due.max(group.due));
            if due > now {
                let look = due.min(now + pause);
                later = Some(later.map_or(look, |other: Instant| other.min(look)));
                return true;
            }
            mailbox.mark_due(now, group.map_or(0, |group| group.members - 1));
            false
        });
        self.next_check = later;
    }

    /// Returns the groups of subscriptions that have seen parts of the same burst.
    fn groups(&mut self, now: Instant) -> HashMap<String, Group> {
        let mut groups: HashMap<String, Group> = HashMap::new();
        for id in &self.debouncing {
            let Some(mailbox) = self.mailboxes.get_mut(id) else { continue };
            let Some(group) = mailbox.group().map(str::to_owned) else { continue };
            let Some((due, _)) = mailbox.due(now) else { continue };
            let known = groups.entry(group).or_insert(Group { due, members: 0 });
            known.due = known.due.max(due);
            known.members += 1;
        }
        groups
    }
}
