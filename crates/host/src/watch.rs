//! Watches files on this machine for changes.
//!
//! One [`Watcher`] per process: a thread with one inotify instance, which shares watches between all subscriptions and
//! never watches a directory that every subscriber ignores. Subscribers get the changed paths and interpret them.
//! Nothing here reads the content of files.

#[cfg(target_os = "linux")]
mod delivery;
#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod poll;
#[cfg(target_os = "linux")]
mod region;
#[cfg(target_os = "linux")]
mod service;
#[cfg(target_os = "linux")]
mod table;
mod temporary;

use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use lilt_model::Failure;
use lilt_model::files::{Existence, FileSet, WatchOptions};
use lilt_model::ignore::Matcher;
use tokio::sync::oneshot;

use crate::error::Error;

/// The changes since the last batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Files that were changed, created or deleted; sorted, each once. Directories are included only if they were
    /// deleted or moved away with their content (another directory may be there by now, whose files are included), or
    /// if events were lost and some of their entries may be deleted. A directory that ends with a slash has not
    /// replaced anything: it is new and empty; or, where modes are watched, it is new or its mode has changed.
    pub paths: Vec<PathBuf>,
    /// Which of them are certain to be new, or gone.
    pub existence: Existence,
    /// Events were lost: files deleted meanwhile are not included.
    pub lost: bool,
    /// Why changes may be missed from now on. Reported once.
    pub problem: Option<Failure>,
    /// Why some files are polled from now on: the system does not report their changes. Reported once for each reason,
    /// to the first subscription concerned.
    pub notice: Option<Failure>,
}

/// Whether files are watched by events or polled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// Polls only where the file system does not report all changes.
    #[default]
    Auto,
    Poll,
    Events,
}

/// What a subscriber calls a subscription.
pub trait Label: Clone + fmt::Debug + Send + 'static {}

impl<T: Clone + fmt::Debug + Send + 'static> Label for T {}

/// The batch of one subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled<L> {
    id: SubscriptionId,
    pub label: L,
    pub batch: Batch,
}

/// A handle to the watcher thread, which ends with the last handle and subscription.
#[derive(Clone, Debug)]
pub struct Watcher<L: Label> {
    thread: Arc<Thread<L>>,
}

#[derive(Debug)]
struct Thread<L> {
    /// Unbounded, because subscribers must not wait while the thread walks directories. It holds at most one
    /// `Subscribe`, one `Take` and one `Unsubscribe` per subscription.
    commands: Option<mpsc::Sender<Command<L>>>,
    /// Wakes the thread while it waits for inotify events.
    waker: UnixStream,
    handle: Option<JoinHandle<()>>,
}

impl<L> Drop for Thread<L> {
    fn drop(&mut self) {
        // The thread ends when its last sender is gone.
        self.commands = None;
        wake(&self.waker);
        if let Some(handle) = self.handle.take()
            && handle.join().is_err()
        {
            tracing::error!("the file watcher's thread panicked");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct SubscriptionId(u64);

#[derive(Debug)]
enum Command<L> {
    Subscribe {
        label: L,
        files: FileSet,
        matcher: Arc<Matcher>,
        options: WatchOptions,
        id: oneshot::Sender<SubscriptionId>,
        ready: oneshot::Sender<Result<(), Failure>>,
    },
    /// Requests the next batch, as soon as there is one.
    Take {
        id: SubscriptionId,
        reply: oneshot::Sender<Vec<Labelled<L>>>,
    },
    /// Ends a subscription. `unread` was delivered to it, and may contain batches of others of its group.
    Unsubscribe {
        id: SubscriptionId,
        unread: Vec<Labelled<L>>,
    },
    /// Moves the undelivered changes of `from` to `to`, and ends `from`.
    TakeOver {
        from: SubscriptionId,
        to: SubscriptionId,
        done: oneshot::Sender<()>,
    },
    CountWatches {
        reply: oneshot::Sender<usize>,
    },
}

impl<L: Label> Watcher<L> {
    /// Starts the watcher thread.
    #[cfg(target_os = "linux")]
    pub fn start(mode: WatchMode) -> Result<Self, Failure> {
        let (commands, received) = mpsc::channel();
        let (waker, wake_receiver) = wake_pair().map_err(not_watched)?;
        let poller_waker = waker.try_clone().map_err(not_watched)?;
        let handle = service::start(received, wake_receiver, poller_waker, mode)?;
        Ok(Self { thread: Arc::new(Thread { commands: Some(commands), waker, handle: Some(handle) }) })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn start(_mode: WatchMode) -> Result<Self, Failure> {
        Err(Failure::environment("lilt cannot watch files on this system yet")
            .hint("run it on Linux, or in a Linux container that shares the project's folder"))
    }

    /// Subscribes to changes of these files. Returns at once; once [`Subscription::ready`] has returned, no change is
    /// missed.
    pub fn subscribe(&self, label: L, files: FileSet) -> Result<Subscription<L>, Failure> {
        self.subscribe_with(label, files, WatchOptions::default())
    }

    /// Subscribes with options for batching and modes.
    pub fn subscribe_with(
        &self,
        label: L,
        files: FileSet,
        options: WatchOptions,
    ) -> Result<Subscription<L>, Failure> {
        let matcher = Matcher::new(&files.ignores).map_err(|error| Failure::user(error.to_string()))?;
        let (id, known) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        self.send(Command::Subscribe { label, files, matcher: Arc::new(matcher), options, id, ready })?;
        Ok(Subscription {
            watcher: self.clone(),
            id: LazyId::Pending(known),
            ready: Readiness::Pending(is_ready),
            batches: None,
        })
    }

    /// Returns how many directories are watched.
    pub async fn watch_count(&self) -> Result<usize, Failure> {
        let (reply, count) = oneshot::channel();
        self.send(Command::CountWatches { reply })?;
        count.await.map_err(|_| stopped())
    }

    fn send(&self, command: Command<L>) -> Result<(), Failure> {
        let commands = self.thread.commands.as_ref().expect("invariant: the sender is there until the drop");
        commands.send(command).map_err(|_| stopped())?;
        wake(&self.thread.waker);
        Ok(())
    }
}

fn wake_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (waker, receiver) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    receiver.set_nonblocking(true)?;
    Ok((waker, receiver))
}

fn wake(mut waker: &UnixStream) {
    // Full: enough wake-ups are pending. Closed: the thread has ended, which the next command reports.
    let _ = waker.write(&[1]);
}

fn stopped() -> Failure {
    Error::WatcherStopped.into()
}

#[cfg(target_os = "linux")]
fn not_watched(cause: io::Error) -> Error {
    Error::NotWatched { what: "files".to_owned(), cause }
}

/// Changes of a set of files. Dropping it removes the watches that no other subscription needs.
#[derive(Debug)]
pub struct Subscription<L: Label> {
    watcher: Watcher<L>,
    id: LazyId,
    ready: Readiness,
    /// The reply to the pending `Take`. Kept here so that a cancelled `next` loses no changes.
    batches: Option<oneshot::Receiver<Vec<Labelled<L>>>>,
}

#[derive(Debug)]
enum LazyId {
    Pending(oneshot::Receiver<SubscriptionId>),
    Known(SubscriptionId),
}

#[derive(Debug)]
enum Readiness {
    Pending(oneshot::Receiver<Result<(), Failure>>),
    Known(Result<(), Failure>),
}

impl<L: Label> Subscription<L> {
    /// Waits until every existing directory is watched, so that no later change is missed. An error says why some are
    /// not; the subscription continues with the others. Cancel-safe.
    pub async fn ready(&mut self) -> Result<(), Failure> {
        if let Readiness::Pending(receiver) = &mut self.ready {
            let result = receiver.await.unwrap_or_else(|_| Err(stopped()));
            self.ready = Readiness::Known(result);
        }
        match &self.ready {
            Readiness::Known(result) => result.clone(),
            Readiness::Pending(_) => Err(stopped()),
        }
    }

    /// Returns all changes since the last call in one batch, or `None` when the watcher has ended. Cancel-safe.
    ///
    /// A burst that several subscriptions of a group have seen is delivered to one of them, with the batches of all.
    pub async fn next(&mut self) -> Option<Vec<Labelled<L>>> {
        let id = self.id().await?;
        if self.batches.is_none() {
            let (reply, batches) = oneshot::channel();
            self.watcher.send(Command::Take { id, reply }).ok()?;
            self.batches = Some(batches);
        }
        let batches = self.batches.as_mut()?.await.ok();
        self.batches = None;
        batches
    }

    /// Replaces another subscription: undelivered changes of these files are delivered here, and the other one ends.
    /// Call it only when this one is ready, because until then it may miss changes that the other one sees. Returns the
    /// batches that the other one was about to deliver.
    pub async fn take_over(&mut self, mut other: Subscription<L>) -> Option<Vec<Labelled<L>>> {
        let (from, to) = (other.id().await?, self.id().await?);
        let (done, is_done) = oneshot::channel();
        self.watcher.send(Command::TakeOver { from, to, done }).ok()?;
        is_done.await.ok()?;
        // Not earlier: until then it may have received more.
        other.batches.as_mut()?.try_recv().ok()
    }

    async fn id(&mut self) -> Option<SubscriptionId> {
        if let LazyId::Pending(receiver) = &mut self.id {
            self.id = LazyId::Known(receiver.await.ok()?);
        }
        match self.id {
            LazyId::Known(id) => Some(id),
            LazyId::Pending(_) => None,
        }
    }
}

impl<L: Label> Drop for Subscription<L> {
    fn drop(&mut self) {
        let id = match &mut self.id {
            LazyId::Known(id) => Some(*id),
            // If the thread has not sent the id yet, it finds the channel closed and drops the subscription.
            LazyId::Pending(receiver) => {
                receiver.close();
                receiver.try_recv().ok()
            }
        };
        if let Some(id) = id {
            // What is delivered after this is refused, which the thread notices.
            let unread = self.batches.take().and_then(|mut batches| {
                batches.close();
                batches.try_recv().ok()
            });
            let unread = unread.unwrap_or_default();
            // A watcher that has stopped has no watches to remove.
            let _ = self.watcher.send(Command::Unsubscribe { id, unread });
        }
    }
}
