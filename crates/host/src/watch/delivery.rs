//! What each subscriber still has to be told, and when.
//!
//! The first change is delivered after a short gathering, so that an editor's write and rename are one batch. A burst,
//! such as another branch being checked out, is gathered until it has passed: many changes at once, or git at work,
//! say that more are to come. While the subscriber is busy, changes are merged: what is kept is bounded by the number
//! of distinct paths.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_model::Failure;
use tokio::sync::oneshot;

use super::{Batch, SubscriptionId, git};

/// How long a first change waits for the ones that belong to it.
const GATHERING: Duration = Duration::from_millis(2);
/// How long it waits at most for a file that is still being written to be closed.
const WRITING: Duration = Duration::from_millis(8);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(1);
/// More changes than this in one gathering are a burst …
const MANY: usize = 16;
/// … which has passed when nothing has come for this long.
const PASSED: Duration = Duration::from_millis(50);
/// Git may take its time between two files.
const GIT_PASSED: Duration = Duration::from_millis(250);
/// A burst that does not end is told in parts.
const LONGEST_BURST: Duration = Duration::from_secs(10);
/// Git does end, however many files it changes on however slow a disk.
const LONGEST_GIT: Duration = Duration::from_secs(120);
/// How often a burst is looked at.
const BURST_LOOK: Duration = Duration::from_millis(5);

/// What is known of a changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Complete,
    /// It may be in the middle of being written.
    Writing,
    /// It was not there before, and may be in the middle of being written.
    New,
    /// It was deleted, or moved to another name.
    Gone,
    /// It is a directory that was not there before. Told only if nothing is in it: else what is in it tells of it.
    Folder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    content: Content,
    /// It was not there when this batch began.
    new: bool,
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
    changes: BTreeMap<PathBuf, Change>,
    lost: bool,
    problem: Option<Failure>,
    notice: Option<Failure>,
    since: Option<Instant>,
    /// The newest change.
    last: Option<Instant>,
    /// What git holds while it changes these files, once it was looked for.
    lock: Option<Option<PathBuf>>,
    /// Git was at work.
    git: bool,
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
        mailbox.change(path, content);
        self.gather(id);
    }

    /// What was deleted is not known.
    pub(super) fn lost(&mut self, id: SubscriptionId) {
        if let Some(mailbox) = self.mailboxes.get_mut(&id) {
            mailbox.lost = true;
            self.gather(id);
        }
    }

    pub(super) fn problem(&mut self, id: SubscriptionId, failure: &Failure) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        mailbox.problem.get_or_insert_with(|| failure.clone());
        self.gather(id);
    }

    pub(super) fn notice(&mut self, id: SubscriptionId, failure: Failure) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        mailbox.notice.get_or_insert(failure);
        self.gather(id);
    }

    fn gather(&mut self, id: SubscriptionId) {
        let Some(mailbox) = self.mailboxes.get_mut(&id) else { return };
        let now = Instant::now();
        mailbox.last = Some(now);
        if mailbox.since.is_none() {
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
            let Some((due, pause)) = mailbox.due(now) else { return false };
            if due > now {
                let look = due.min(now + pause);
                later = Some(later.map_or(look, |other: Instant| other.min(look)));
                return true;
            }
            if mailbox.is_empty() {
                *mailbox = Mailbox { waiting: mailbox.waiting.take(), ..Mailbox::default() };
                return false;
            }
            mailbox.ripe = true;
            mailbox.deliver();
            false
        });
        self.wake = later;
    }
}

impl Mailbox {
    /// What comes and goes within one batch was never there: programs write a file under another name first, and
    /// the subscriber could only wonder what that was.
    fn change(&mut self, path: &Path, content: Content) {
        match self.changes.get_mut(path) {
            Some(known) if known.new && content == Content::Gone => {
                self.changes.remove(path);
            }
            // What else is known of it must be told in any case.
            Some(_) if content == Content::Folder => {}
            Some(known) => known.content = content,
            None => {
                let change = Change { content, new: content == Content::New };
                self.changes.insert(path.to_path_buf(), change);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.lost && self.problem.is_none() && self.notice.is_none()
    }

    /// When it is to be delivered, and how soon to ask again.
    fn due(&mut self, now: Instant) -> Option<(Instant, Duration)> {
        let (since, last) = (self.since?, self.last?);
        if now < since + GATHERING {
            return Some((since + GATHERING, LOOK));
        }
        if self.git_works() {
            self.git = true;
            return Some(((last + GIT_PASSED).min(since + LONGEST_GIT), BURST_LOOK));
        }
        if self.git || self.changes.len() > MANY {
            let longest = if self.git { LONGEST_GIT } else { LONGEST_BURST };
            return Some(((last + PASSED).min(since + longest), BURST_LOOK));
        }
        let writing =
            self.changes.values().any(|change| !matches!(change.content, Content::Complete | Content::Gone));
        Some((since + if writing { WRITING } else { GATHERING }, LOOK))
    }

    /// One of the files stands for all: a subscriber's files seldom lie in several repositories.
    fn git_works(&mut self) -> bool {
        let first = self.changes.keys().next();
        let lock = self.lock.get_or_insert_with(|| first.and_then(|path| git::lock_of(path)));
        lock.as_deref().is_some_and(git::is_held)
    }

    fn deliver(&mut self) {
        if !self.ripe {
            return;
        }
        let Some(reply) = self.waiting.take() else { return };
        self.changes.retain(|path, change| change.content != Content::Folder || is_empty_folder(path));
        if self.is_empty() {
            *self = Mailbox { waiting: Some(reply), ..Mailbox::default() };
            return;
        }
        let changes = std::mem::take(&mut self.changes).into_iter();
        let named = |(path, change): (PathBuf, Change)| match change.content {
            // With the slash that tells new folders from those that took others' places.
            Content::Folder => path.join(""),
            _ => path,
        };
        let paths = changes.map(named).collect();
        let (problem, notice) = (self.problem.take(), self.notice.take());
        let batch = Batch { paths, lost: self.lost, problem, notice };
        *self = Mailbox::default();
        // A receiver that is gone has dropped its subscription: nobody is left to tell.
        let _ = reply.send(batch);
    }
}

fn is_empty_folder(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mailbox with so many changes, the first and the last of them so many milliseconds after `begin`.
    fn mailbox(begin: Instant, count: usize, first: u64, last: u64) -> Mailbox {
        let complete = Change { content: Content::Complete, new: false };
        let changes = (0..count).map(|index| (PathBuf::from(format!("/p/{index}")), complete));
        Mailbox {
            changes: changes.collect(),
            since: Some(begin + Duration::from_millis(first)),
            last: Some(begin + Duration::from_millis(last)),
            lock: Some(None),
            ..Mailbox::default()
        }
    }

    /// When it is due, asked at that many milliseconds.
    fn due(mailbox: &mut Mailbox, begin: Instant, now: u64) -> u128 {
        let (due, _) = mailbox.due(begin + Duration::from_millis(now)).expect("it has changes");
        (due - begin).as_millis()
    }

    #[test]
    fn a_save_is_told_at_once() {
        let begin = Instant::now();
        let mut one = mailbox(begin, 1, 0, 0);
        assert_eq!((due(&mut one, begin, 0), due(&mut one, begin, 3)), (2, 2));
        one.changes.values_mut().next().expect("a change").content = Content::Writing;
        assert_eq!(due(&mut one, begin, 3), 8, "it may be in the middle of being written");
        assert_eq!(due(&mut mailbox(begin, MANY, 0, 40), begin, 41), 2, "a few files are no burst");
    }

    #[test]
    fn what_came_and_went_was_never_there() {
        let told = |contents: &[Content]| {
            let mut mailbox = Mailbox::default();
            contents.iter().for_each(|content| mailbox.change(Path::new("/p"), *content));
            !mailbox.is_empty()
        };
        assert!(!told(&[Content::New, Content::Writing, Content::Complete, Content::Gone]));
        assert!(told(&[Content::New, Content::Gone, Content::New]), "it is there in the end");
        assert!(told(&[Content::Gone, Content::New, Content::Gone]), "it was there before");
        assert!(told(&[Content::Complete, Content::Gone]), "it may have taken the place of another");
        assert!(told(&[Content::Complete, Content::Folder, Content::Gone]));
    }

    #[test]
    fn a_burst_is_told_when_it_has_passed() {
        let begin = Instant::now();
        assert_eq!(due(&mut mailbox(begin, MANY + 1, 0, 3), begin, 4), 53);
        assert_eq!(due(&mut mailbox(begin, 50_000, 0, 7_000), begin, 7_001), 7_050);
        assert_eq!(due(&mut mailbox(begin, 50_000, 0, 60_000), begin, 60_000), 10_000, "but not for ever");
    }

    #[test]
    fn what_git_changes_is_told_when_it_is_done() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lock = folder.path().join("index.lock");
        std::fs::write(&lock, "").expect("a lock");
        let begin = Instant::now();
        let mut one = Mailbox { lock: Some(Some(lock.clone())), ..mailbox(begin, 1, 0, 0) };
        assert_eq!(due(&mut one, begin, 5), 250, "it works");
        std::fs::remove_file(lock).expect("a removal");
        assert_eq!(due(&mut one, begin, 20), 50, "it is done");
    }
}
