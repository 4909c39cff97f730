//! What each subscriber still has to be told, and when.
//!
//! The first change is delivered after a short gathering, so that an editor's write and rename are one batch. While
//! the subscriber is busy, changes are merged: what is kept is bounded by the number of distinct paths.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_model::Failure;
use tokio::sync::oneshot;

use super::{Batch, SubscriptionId};

/// How long a first change waits for the ones that belong to it.
const GATHERING: Duration = Duration::from_millis(2);
/// How long it waits at most for a file that is still being written to be closed.
const WRITING: Duration = Duration::from_millis(8);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// Whether a file is complete or may be in the middle of being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Complete,
    Writing,
}

#[derive(Debug, Default)]
pub(super) struct Delivery {
    mailboxes: HashMap<SubscriptionId, Mailbox>,
    /// Those with changes whose gathering is not over.
    gathering: Vec<SubscriptionId>,
    /// When to look at them.
    wake: Option<Instant>,
}

#[derive(Debug, Default)]
struct Mailbox {
    changes: BTreeMap<PathBuf, Content>,
    problem: Option<Failure>,
    since: Option<Instant>,
    ripe: bool,
    waiting: Option<oneshot::Sender<Batch>>,
}

impl Delivery {
    pub(super) fn open(&mut self, id: SubscriptionId) {
        self.mailboxes.insert(id, Mailbox::default());
    }

    pub(super) fn close(&mut self, id: SubscriptionId) {
        self.mailboxes.remove(&id);
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        self.wake
    }

    pub(super) fn change(&mut self, id: SubscriptionId, path: &Path, content: Content) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        match mailbox.changes.get_mut(path) {
            Some(known) => *known = content,
            None => {
                mailbox.changes.insert(path.to_path_buf(), content);
            }
        }
        self.gather(id);
    }

    pub(super) fn problem(&mut self, id: SubscriptionId, failure: &Failure) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        mailbox.problem.get_or_insert_with(|| failure.clone());
        self.gather(id);
    }

    fn gather(&mut self, id: SubscriptionId) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        if mailbox.since.is_none() {
            let now = Instant::now();
            mailbox.since = Some(now);
            self.gathering.push(id);
            self.wake.get_or_insert(now + GATHERING);
        }
    }

    /// The subscriber wants its next batch.
    pub(super) fn take(&mut self, id: SubscriptionId, reply: oneshot::Sender<Batch>) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        mailbox.waiting = Some(reply);
        mailbox.deliver();
    }

    /// Delivers what has been gathered long enough.
    pub(super) fn flush(&mut self) {
        let now = Instant::now();
        if self.wake.is_none_or(|wake| wake > now) {
            return;
        }
        let mut later = None;
        let mailboxes = &mut self.mailboxes;
        self.gathering.retain(|id| {
            let Some(mailbox) = mailboxes.get_mut(id) else { return false };
            let Some(due) = mailbox.due() else { return false };
            if due > now {
                let look = due.min(now + LOOK);
                later = Some(later.map_or(look, |other: Instant| other.min(look)));
                return true;
            }
            mailbox.ripe = true;
            mailbox.deliver();
            false
        });
        self.wake = later;
    }
}

impl Mailbox {
    fn due(&self) -> Option<Instant> {
        let since = self.since?;
        let writing = self.changes.values().any(|content| *content == Content::Writing);
        Some(since + if writing { WRITING } else { GATHERING })
    }

    fn deliver(&mut self) {
        if !self.ripe {
            return;
        }
        let Some(reply) = self.waiting.take() else { return };
        let paths = std::mem::take(&mut self.changes).into_keys().collect();
        let batch = Batch { paths, problem: self.problem.take() };
        self.since = None;
        self.ripe = false;
        // A receiver that is gone has dropped its subscription: nobody is left to tell.
        let _ = reply.send(batch);
    }
}
