//! What each subscriber still has to be told, and when.
//!
//! The first change is delivered after a short gathering, so that an editor's write and rename are one batch. What is
//! still being written is waited for. A burst, such as another branch being checked out, is gathered until it has
//! passed: many changes at once, or git at work, say that more are to come. While the subscriber is busy, changes are
//! merged: what is kept is bounded by the number of distinct paths.

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
use modes::Noted;

/// How long a first change waits for the ones that belong to it.
const GATHERING: Duration = Duration::from_millis(2);

/// What is known of a changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Whoever wrote it has closed it, or it was moved here.
    Complete,
    /// Somebody is writing it.
    Writing,
    /// It was not there before; somebody may be about to write it.
    New,
    /// A look found it: whether somebody is writing it is not known.
    Found,
    /// Its mode or times changed, which says nothing of what is in it.
    Touched,
    /// It was deleted, or moved to another name.
    Gone,
    /// It is a directory that took nothing's place: one that was not there before, or, where modes count, has another. Where they
    /// do not it is told only if nothing is in it: else what is in it tells of it.
    Folder,
}

/// Mailboxes that are told together.
struct Group {
    /// When the burst has passed, for all of them.
    due: Instant,
    members: usize,
}

#[derive(Debug, Default)]
pub(super) struct Delivery {
    mailboxes: HashMap<SubscriptionId, Mailbox>,
    /// Those with changes whose gathering is not over.
    gathering: Vec<SubscriptionId>,
    /// When to look at them.
    wake: Option<Instant>,
}

impl Delivery {
    pub(super) fn open(&mut self, id: SubscriptionId, manner: Manner) {
        self.mailboxes.insert(id, Mailbox::new(manner));
    }

    pub(super) fn close(&mut self, id: SubscriptionId) {
        self.mailboxes.remove(&id);
    }

    /// What the one still has to be told is the other's to be told, as far as it is wanted there. The one ends.
    pub(super) fn take_over(
        &mut self,
        from: SubscriptionId,
        to: SubscriptionId,
        is_wanted: impl Fn(&Path) -> bool,
    ) {
        let Some(old) = self.mailboxes.remove(&from) else { return };
        let Some(mailbox) = self.mailboxes.get_mut(&to) else { return };
        if mailbox.inherit(old, is_wanted) {
            self.gather(to);
        }
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        self.wake
    }

    pub(super) fn change(&mut self, id: SubscriptionId, path: &Path, content: Content) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        let completes = mailbox.change(path, content);
        self.gather(id);
        if completes {
            // It is what was waited for.
            self.wake = self.wake.map(|wake| wake.min(Instant::now()));
        }
    }

    /// The mode of a folder is known now; a new one is told.
    pub(super) fn note_mode(&mut self, id: SubscriptionId, folder: &Path, is_new: bool) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        let counts = mailbox.modes.note(folder).is_some();
        if counts && is_new {
            self.change(id, folder, Content::Folder);
        }
    }

    /// The mode of a folder may be another.
    pub(super) fn mode(&mut self, id: SubscriptionId, folder: &Path) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        if mailbox.modes.note(folder) == Some(Noted::Another) {
            self.change(id, folder, Content::Folder);
        }
    }

    /// What was deleted is not known.
    pub(super) fn lost(&mut self, id: SubscriptionId) {
        if let Some(mailbox) = self.mailboxes.get_mut(&id) {
            mailbox.lost();
            self.gather(id);
        }
    }

    pub(super) fn problem(&mut self, id: SubscriptionId, failure: &Failure) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        mailbox.problem(failure);
        self.gather(id);
    }

    pub(super) fn notice(&mut self, id: SubscriptionId, failure: Failure) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        mailbox.notice(failure);
        self.gather(id);
    }

    fn gather(&mut self, id: SubscriptionId) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        let now = Instant::now();
        if mailbox.note(now) {
            self.gathering.push(id);
            self.wake.get_or_insert(now + GATHERING);
        }
    }

    /// The subscriber wants its next batch.
    pub(super) fn take(&mut self, id: SubscriptionId, reply: oneshot::Sender<Batch>) {
        if let Some(mailbox) = self.mailboxes.get_mut(&id) {
            mailbox.take(reply);
        }
    }

    /// Delivers what has been gathered long enough.
    pub(super) fn flush(&mut self) {
        let now = Instant::now();
        if self.wake.is_none_or(|wake| wake > now) {
            return;
        }
        let mut later = None;
        let groups = self.groups(now);
        let mailboxes = &mut self.mailboxes;
        self.gathering.retain(|id| {
            let Some(mailbox) = mailboxes.get_mut(id) else { return false };
            let Some((due, pause)) = mailbox.due(now) else { return false };
            let group = mailbox.group().and_then(|group| groups.get(group));
            let due = group.map_or(due, |group| due.max(group.due));
            if due > now {
                let look = due.min(now + pause);
                later = Some(later.map_or(look, |other: Instant| other.min(look)));
                return true;
            }
            mailbox.ripen(now, group.map_or(0, |group| group.members - 1));
            false
        });
        self.wake = later;
    }

    /// Those who have seen parts of the same burst.
    fn groups(&mut self, now: Instant) -> HashMap<String, Group> {
        let mut groups: HashMap<String, Group> = HashMap::new();
        for id in &self.gathering {
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
