//! Changes of files on this machine.
//!
//! One [`Watcher`] for the process: a thread with one inotify instance, which shares watches between all
//! subscriptions and never watches a directory that every subscriber ignores. Subscribers get the paths that changed;
//! what a change means is theirs to say. Nothing here reads the contents of files.

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

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use lilt_model::Failure;
use lilt_model::files::{FileSet, Manner};
use lilt_model::ignore::Matcher;
use tokio::sync::oneshot;

use crate::error::Error;

/// What changed since the last batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Files that were changed, created or deleted; sorted, each once. Directories are named only when they are gone
    /// (deleted or moved away with all that was in them; by now others may be in their places, whose files are named) or
    /// when events were lost and entries of theirs may be gone. Those that end with a slash take nothing's place: they are new
    /// and have nothing in them; or they are new or have another mode, where modes count.
    pub paths: Vec<PathBuf>,
    /// So many others of the same group are told of the same burst at the same time.
    pub companions: usize,
    /// Events were lost: what was deleted meanwhile is not named.
    pub lost: bool,
    /// From now on changes may be missed, for this reason. Told once.
    pub problem: Option<Failure>,
    /// From now on some files are looked at again and again, because the system does not tell of their changes. Told
    /// once for each reason, to the first whom it concerns.
    pub notice: Option<Failure>,
}

/// A handle to the thread that watches; the thread ends with the last handle and subscription.
#[derive(Clone, Debug)]
pub struct Watcher {
    thread: Arc<Thread>,
}

#[derive(Debug)]
struct Thread {
    /// Unbounded, because subscribers must not wait for a walk of the thread. In it are at most one `Take` per
    /// subscription, and one `Subscribe` and one `Unsubscribe` for each.
    commands: Option<mpsc::Sender<Command>>,
    /// Wakes the thread from its wait for the kernel.
    bell: UnixStream,
    handle: Option<JoinHandle<()>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        // The thread ends when its last sender is gone.
        self.commands = None;
        ring(&self.bell);
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
enum Command {
    Subscribe {
        files: FileSet,
        matcher: Arc<Matcher>,
        manner: Manner,
        id: oneshot::Sender<SubscriptionId>,
        ready: oneshot::Sender<Result<(), Failure>>,
    },
    /// Asks for the next batch, as soon as there is one.
    Take {
        id: SubscriptionId,
        reply: oneshot::Sender<Batch>,
    },
    Unsubscribe {
        id: SubscriptionId,
    },
    /// What the one has seen and not told is the other's to tell; the one ends.
    TakeOver {
        from: SubscriptionId,
        to: SubscriptionId,
        done: oneshot::Sender<()>,
    },
    CountWatches {
        reply: oneshot::Sender<usize>,
    },
}

impl Watcher {
    /// Starts the thread.
    #[cfg(target_os = "linux")]
    pub fn start() -> Result<Watcher, Failure> {
        let (commands, received) = mpsc::channel();
        let (bell, heard) = bells().map_err(not_watched)?;
        let for_poller = bell.try_clone().map_err(not_watched)?;
        let handle = service::start(received, heard, for_poller)?;
        Ok(Watcher { thread: Arc::new(Thread { commands: Some(commands), bell, handle: Some(handle) }) })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn start() -> Result<Watcher, Failure> {
        Err(Failure::environment("lilt cannot watch files on this system yet")
            .hint("run it on Linux, or in a Linux container that shares the project's folder"))
    }

    /// Changes of these files from now on. Returns at once; [`Subscription::ready`] says when no change is missed.
    pub fn subscribe(&self, files: FileSet) -> Result<Subscription, Failure> {
        self.subscribe_with(files, Manner::default())
    }

    /// The same, told in a manner of its own.
    pub fn subscribe_with(&self, files: FileSet, manner: Manner) -> Result<Subscription, Failure> {
        let matcher = Matcher::new(&files.ignores).map_err(|error| Failure::user(error.to_string()))?;
        let (id, known) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        self.send(Command::Subscribe { files, matcher: Arc::new(matcher), manner, id, ready })?;
        Ok(Subscription {
            watcher: self.clone(),
            id: Id::Coming(known),
            ready: Ready::Waiting(is_ready),
            batch: None,
        })
    }

    /// How many directories are watched.
    pub async fn watch_count(&self) -> Result<usize, Failure> {
        let (reply, count) = oneshot::channel();
        self.send(Command::CountWatches { reply })?;
        count.await.map_err(|_| stopped())
    }

    fn send(&self, command: Command) -> Result<(), Failure> {
        let commands = self.thread.commands.as_ref().expect("invariant: the sender is there until the drop");
        commands.send(command).map_err(|_| stopped())?;
        ring(&self.thread.bell);
        Ok(())
    }
}

fn bells() -> io::Result<(UnixStream, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    Ok((ours, theirs))
}

fn ring(mut bell: &UnixStream) {
    // Full: it has rung often enough. Closed: the thread has ended, as the next command finds out.
    let _ = bell.write(&[1]);
}

fn stopped() -> Failure {
    Error::WatcherStopped.into()
}

#[cfg(target_os = "linux")]
fn not_watched(cause: io::Error) -> Error {
    Error::NotWatched { what: "files".to_owned(), cause }
}

/// Dropping it ends it, and the watches that no one else needs.
#[derive(Debug)]
pub struct Subscription {
    watcher: Watcher,
    id: Id,
    ready: Ready,
    /// The answer to the `Take` that is under way. Kept here so that a dropped `next` loses nothing.
    batch: Option<oneshot::Receiver<Batch>>,
}

#[derive(Debug)]
enum Id {
    Coming(oneshot::Receiver<SubscriptionId>),
    Known(SubscriptionId),
}

#[derive(Debug)]
enum Ready {
    Waiting(oneshot::Receiver<Result<(), Failure>>),
    Is(Result<(), Failure>),
}

impl Subscription {
    /// Waits until every present directory is watched: no later change is missed. An error says why some are not;
    /// the subscription goes on with those that are. May be cancelled and called again.
    pub async fn ready(&mut self) -> Result<(), Failure> {
        if let Ready::Waiting(receiver) = &mut self.ready {
            let result = receiver.await.unwrap_or_else(|_| Err(stopped()));
            self.ready = Ready::Is(result);
        }
        match &self.ready {
            Ready::Is(result) => result.clone(),
            Ready::Waiting(_) => Err(stopped()),
        }
    }

    /// The next changes, all that came since the last call in one batch; none when the watcher has ended.
    /// May be cancelled and called again without losing any.
    pub async fn next(&mut self) -> Option<Batch> {
        let id = self.id().await?;
        if self.batch.is_none() {
            let (reply, batch) = oneshot::channel();
            self.watcher.send(Command::Take { id, reply }).ok()?;
            self.batch = Some(batch);
        }
        let batch = self.batch.as_mut()?.await.ok();
        self.batch = None;
        batch
    }

    /// Takes the place of another one, which ends: what that one has seen of these files and not told is told by this one. Only
    /// when this one is ready, because until then the other sees what this one may miss. Gives what the other was just telling.
    pub async fn take_over(&mut self, mut other: Subscription) -> Option<Batch> {
        let (from, to) = (other.id().await?, self.id().await?);
        let (done, is_done) = oneshot::channel();
        self.watcher.send(Command::TakeOver { from, to, done }).ok()?;
        is_done.await.ok()?;
        // Not before: until then it may have been told more.
        other.batch.as_mut()?.try_recv().ok()
    }

    async fn id(&mut self) -> Option<SubscriptionId> {
        if let Id::Coming(receiver) = &mut self.id {
            self.id = Id::Known(receiver.await.ok()?);
        }
        match self.id {
            Id::Known(id) => Some(id),
            Id::Coming(_) => None,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let id = match &mut self.id {
            Id::Known(id) => Some(*id),
            // Not asked for yet: if the thread has not sent it either, it finds no receiver and forgets us.
            Id::Coming(receiver) => {
                receiver.close();
                receiver.try_recv().ok()
            }
        };
        if let Some(id) = id {
            // A watcher that has stopped holds nothing to give back.
            let _ = self.watcher.send(Command::Unsubscribe { id });
        }
    }
}
