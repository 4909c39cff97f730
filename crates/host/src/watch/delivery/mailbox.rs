//! What one subscriber still has to be told.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lilt_model::Failure;
use lilt_model::files::Manner;
use tokio::sync::oneshot;

use super::modes::Modes;
use super::{Content, GATHERING};
use crate::watch::{Batch, git};

/// A file that was written and not closed is told when nothing has come for this long: whoever writes it may compute or
/// read from afar between two pieces, but who keeps a log or a database open has written all there is for now.
const WRITTEN: Duration = Duration::from_millis(200);
/// The same for one that was found without being told of: most are complete.
const FOUND: Duration = Duration::from_millis(20);
/// What belongs together is told when nothing has come for this long: programs that save several files do it in one go.
const TOGETHER: Duration = Duration::from_millis(30);
/// More changes than this are a burst …
const MANY: usize = 16;
/// … which has passed when nothing has come for this long.
const PASSED: Duration = Duration::from_millis(30);
/// Git may take its time between two files.
const GIT_PASSED: Duration = Duration::from_millis(250);
/// A burst that does not end is told in parts, and a file that is written all the time is told of.
const LONGEST: Duration = Duration::from_secs(10);
/// Git does end, however many files it changes on however slow a disk.
const LONGEST_GIT: Duration = Duration::from_secs(120);
/// How often files are told that were written all the time before.
const RESTLESS: Duration = Duration::from_secs(1);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(super) struct Mailbox {
    /// Below these, changes belong together.
    together: Vec<PathBuf>,
    /// With those of other mailboxes.
    group: Option<String>,
    pub(super) modes: Modes,
    /// Files that were told while somebody wrote them all the time: others do not wait for them.
    restless: BTreeSet<PathBuf>,
    gathered: Gathered,
    waiting: Option<oneshot::Sender<Batch>>,
}

/// The next batch.
#[derive(Debug, Default)]
struct Gathered {
    changes: BTreeMap<PathBuf, Change>,
    /// Those of them that may be in the middle of being written.
    open: BTreeSet<PathBuf>,
    /// Some of them belong together.
    together: bool,
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
    /// Others of the group that are told at the same time.
    companions: usize,
    ripe: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    content: Content,
    /// It was not there when this batch began.
    new: bool,
}

impl Mailbox {
    pub(super) fn new(manner: Manner) -> Self {
        let Manner { together, group, modes } = manner;
        Self { together, group, modes: Modes::new(modes), ..Self::default() }
    }

    /// The group with whose changes its own belong together.
    pub(super) fn group(&self) -> Option<&str> {
        self.group.as_deref().filter(|_| self.gathered.together)
    }

    /// Whether this was the end of a file's being written.
    pub(super) fn change(&mut self, path: &Path, content: Content) -> bool {
        if matches!(content, Content::Complete | Content::Gone) {
            self.restless.remove(path);
        }
        if content == Content::Gone {
            self.modes.forget(path);
        }
        self.gathered.together |= self.belong_together(path);
        self.gathered.change(path, content)
    }

    fn belong_together(&self, path: &Path) -> bool {
        self.together.iter().any(|above| path.starts_with(above))
    }

    /// What another one has not told is told by this one, as far as it is wanted; whether there is anything.
    pub(super) fn inherit(&mut self, other: Mailbox, is_wanted: impl Fn(&Path) -> bool) -> bool {
        let Mailbox { gathered: Gathered { changes, open, lost, problem, notice, .. }, restless, .. } = other;
        let mut inherits = lost || problem.is_some() || notice.is_some();
        self.gathered.lost |= lost;
        self.gathered.problem = self.gathered.problem.take().or(problem);
        self.gathered.notice = self.gathered.notice.take().or(notice);
        self.restless.extend(restless);
        for (path, change) in changes.into_iter().filter(|(path, _)| is_wanted(path)) {
            inherits = true;
            self.gathered.together |= self.belong_together(&path);
            // What this one has seen itself is newer.
            if let Entry::Vacant(place) = self.gathered.changes.entry(path) {
                if open.contains(place.key()) {
                    self.gathered.open.insert(place.key().clone());
                }
                place.insert(change);
            }
        }
        inherits
    }

    pub(super) fn lost(&mut self) {
        self.gathered.lost = true;
    }

    pub(super) fn problem(&mut self, failure: &Failure) {
        self.gathered.problem.get_or_insert_with(|| failure.clone());
    }

    pub(super) fn notice(&mut self, failure: Failure) {
        self.gathered.notice.get_or_insert(failure);
    }

    /// Something has come; whether its gathering begins with it.
    pub(super) fn note(&mut self, now: Instant) -> bool {
        let Gathered { since, last, ripe, open, .. } = &mut self.gathered;
        *last = Some(now);
        // The subscriber was busy: what it has not taken yet is waited for.
        let again = *ripe && !open.is_empty();
        if since.is_some() && !again {
            return false;
        }
        (*since, *ripe) = (Some(now), false);
        true
    }

    pub(super) fn take(&mut self, reply: oneshot::Sender<Batch>) {
        self.waiting = Some(reply);
        self.deliver();
    }

    /// It is told now, and so many others of its group are.
    pub(super) fn ripen(&mut self, now: Instant, companions: usize) {
        self.gathered.companions = companions;
        if self.gathered.is_empty() {
            self.gathered = Gathered::default();
            return;
        }
        if self.gathered.last.is_some_and(|last| now < last + WRITTEN) {
            self.restless.extend(self.gathered.open.iter().cloned());
        }
        self.gathered.ripe = true;
        self.deliver();
    }

    /// When it is to be delivered, and how soon to ask again.
    pub(super) fn due(&mut self, now: Instant) -> Option<(Instant, Duration)> {
        let (since, last) = (self.gathered.since?, self.gathered.last?);
        if now < since + GATHERING {
            return Some((since + GATHERING, LOOK));
        }
        if self.gathered.git_works() {
            self.gathered.git = true;
            return Some(((last + GIT_PASSED).min(since + LONGEST_GIT), LOOK));
        }
        let (rest, longest) = self.rest();
        Some(((last + rest).min(since + longest).max(since + GATHERING), LOOK))
    }

    /// How long nothing must have come, and after what time that does not count.
    fn rest(&mut self) -> (Duration, Duration) {
        self.gathered.close_links();
        let Gathered { changes, open, together, git, .. } = &self.gathered;
        let restless = open.iter().filter(|path| self.restless.contains(*path)).count();
        if restless > 0 && restless == changes.len() {
            return (WRITTEN, RESTLESS);
        }
        let is_found = || changes.values().any(|change| change.content == Content::Found);
        let many = changes.len() > MANY;
        let rests = [
            (open.len() > restless, WRITTEN),
            (*git || many, PASSED),
            (*together, TOGETHER),
            (!many && is_found(), FOUND),
        ];
        let rest = rests.into_iter().filter(|(applies, _)| *applies).map(|(_, rest)| rest).max();
        match rest {
            None => (Duration::ZERO, GATHERING),
            Some(rest) => (rest, if *git { LONGEST_GIT } else { LONGEST }),
        }
    }

    fn deliver(&mut self) {
        if !self.gathered.ripe || self.waiting.is_none() {
            return;
        }
        let mut gathered = std::mem::take(&mut self.gathered);
        let modes = &self.modes;
        gathered.changes.retain(|path, change| {
            change.content != Content::Folder || modes.count_for(path) || is_empty_folder(path)
        });
        if gathered.is_empty() {
            return;
        }
        if let Some(reply) = self.waiting.take() {
            // A receiver that is gone has dropped its subscription: nobody is left to tell.
            let _ = reply.send(gathered.into_batch());
        }
    }
}

impl Gathered {
    /// What comes and goes within one batch was never there: programs write a file under another name first, and
    /// the subscriber could only wonder what that was.
    fn change(&mut self, path: &Path, content: Content) -> bool {
        use Content::{Complete, Folder, Found, Gone, New, Touched, Writing};
        let content = match (self.changes.get_mut(path), content) {
            (Some(known), Gone) if known.new => {
                self.changes.remove(path);
                return self.open.remove(path);
            }
            // What else is known of it must be told in any case.
            (Some(_), Folder) => return false,
            (Some(Change { content: Complete | Writing | New, .. }), Found | Touched) => return false,
            (Some(known), content) => {
                known.content = content;
                content
            }
            (None, Touched) => Complete,
            (None, content) => content,
        };
        let change = Change { content, new: content == New };
        self.changes.entry(path.to_path_buf()).or_insert(change);
        if matches!(content, New | Writing) {
            self.open.insert(path.to_path_buf());
            return false;
        }
        self.open.remove(path)
    }

    /// Links come into being at once: nobody closes them.
    fn close_links(&mut self) {
        let changes = &mut self.changes;
        self.open.retain(|path| {
            let Some(change) = changes.get_mut(path).filter(|change| change.content == Content::New) else {
                return true;
            };
            let is_written = std::fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.nlink() == 1);
            if !is_written {
                change.content = Content::Complete;
            }
            is_written
        });
    }

    fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.lost && self.problem.is_none() && self.notice.is_none()
    }

    /// One of the files stands for all: a subscriber's files seldom lie in several repositories.
    fn git_works(&mut self) -> bool {
        let first = self.changes.keys().next();
        let lock = self.lock.get_or_insert_with(|| first.and_then(|path| git::lock_of(path)));
        lock.as_deref().is_some_and(git::is_held)
    }

    fn into_batch(mut self) -> Batch {
        let named = |(path, change): (PathBuf, Change)| match change.content {
            // With the slash that tells it from one that took another's place.
            Content::Folder => path.join(""),
            _ => path,
        };
        let paths = std::mem::take(&mut self.changes).into_iter().map(named).collect();
        let Self { companions, lost, problem, notice, .. } = self;
        Batch { paths, companions, lost, problem, notice }
    }
}

fn is_empty_folder(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests;
