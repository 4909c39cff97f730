//! Reads changed files once for all containers of an update: three replicas cost what one costs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use lilt_engine::{Owner, SyncJob, SyncTask};
use lilt_host::files::is_directory;
use lilt_model::files::FileSet;
use lilt_model::image::LiveUpdate;
use lilt_model::{Failure, Unreachable};
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::task::JoinSet;

use super::PAUSE;
use super::changed::{Changed, all_files};

/// Requests that wait for an answer; a task sends one at a time.
const PENDING: usize = 16;

/// To the task that knows what is being read, and what was deployed. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FileReader {
    requests: mpsc::Sender<Request>,
}

#[derive(Debug)]
enum Request {
    /// Records what the paths of syncs are.
    RecordRoots { syncs: Vec<PathBuf>, done: oneshot::Sender<()> },
    /// Adds the paths of syncs that `known` lacks.
    CompleteRoots { known: Roots, syncs: Vec<PathBuf>, reply: oneshot::Sender<Roots> },
    /// Shares a read with all who request the same.
    Open { key: Box<Key>, reply: oneshot::Sender<SharedRead> },
}

/// What the paths of syncs are. Paths that never existed are missing.
pub(super) type Roots = HashMap<PathBuf, Root>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    File,
    Directory,
    /// A directory that has replaced a file. If the target has a trailing slash, the file was one of several in it, and so
    /// are the files of the directory.
    DirectoryAmongOthers,
}

impl Root {
    fn at(path: &Path) -> Option<Root> {
        is_directory(path).map(|it| if it { Root::Directory } else { Root::File })
    }
}

/// The result of a read. It is set by the first container's task that needs it.
type Cell = OnceCell<Result<Reading, Failure>>;

/// The inputs of a read. Containers of an update with the same inputs share it.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    owner: Owner,
    update: u64,
    live_update: LiveUpdate,
    paths: Vec<PathBuf>,
    everything: Option<FileSet>,
    /// What the paths of its syncs were at the container's last update.
    roots: Roots,
}

#[derive(Debug)]
pub(super) struct Reading {
    /// The changed paths, or all paths.
    pub(super) paths: Vec<PathBuf>,
    pub(super) changed: Changed,
}

impl FileReader {
    /// Starts the task. It ends when the last clone is dropped.
    pub(crate) fn start(services: &mut JoinSet<()>) -> Self {
        let (requests, mut received) = mpsc::channel(PENDING);
        services.spawn(async move {
            let mut shared = Shared::default();
            while let Some(request) = received.recv().await {
                shared.answer(request);
            }
        });
        Self { requests }
    }

    /// Records what the syncs copy when it is deployed. That cannot be found out any more once it is deleted or replaced.
    pub(crate) async fn record_roots(&self, live_update: &LiveUpdate) {
        self.request(|done| Request::RecordRoots { syncs: sync_paths(live_update), done }).await;
    }

    /// Adds to `known`, which belongs to one container, the missing paths of syncs: as they were deployed, or as they are
    /// now if that is unknown.
    pub(super) async fn complete_roots(&self, known: Roots, live_update: &LiveUpdate) -> Roots {
        let syncs = sync_paths(live_update);
        self.request(|reply| Request::CompleteRoots { known, syncs, reply }).await
    }

    /// Returns the read of a job, shared for as long as somebody holds it.
    ///
    /// The key contains the update: a later change belongs to a later job. `known`: what the paths of syncs were at the
    /// container's last update.
    pub(super) async fn open(
        &self,
        owner: &Owner,
        task: &SyncTask,
        job: &SyncJob,
        known: &Roots,
    ) -> SharedRead {
        let key = Box::new(Key {
            owner: owner.clone(),
            update: job.update,
            live_update: task.live_update.clone(),
            paths: job.paths.clone(),
            everything: job.everything.clone(),
            roots: known.clone(),
        });
        self.request(|reply| Request::Open { key, reply }).await
    }

    async fn request<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> T {
        let (reply, answer) = oneshot::channel();
        let sent = self.requests.send(request(reply)).await;
        sent.expect("invariant: the task lives as long as its senders");
        answer.await.expect("invariant: every request is answered")
    }
}

fn sync_paths(live_update: &LiveUpdate) -> Vec<PathBuf> {
    live_update.syncs.iter().map(|sync| sync.local.clone()).collect()
}

/// The state of the task behind [`FileReader`].
#[derive(Default)]
struct Shared {
    /// Reads that somebody still holds.
    cells: Vec<(Key, Weak<Cell>)>,
    /// What the paths of syncs were at the last deployment.
    deployed: Roots,
}

impl Shared {
    /// Answers a request. The task that sent it may have been cancelled meanwhile.
    fn answer(&mut self, request: Request) {
        match request {
            Request::RecordRoots { syncs, done } => {
                self.deployed
                    .extend(syncs.into_iter().filter_map(|path| Root::at(&path).map(|root| (path, root))));
                let _ = done.send(());
            }
            Request::CompleteRoots { known, syncs, reply } => {
                let _ = reply.send(self.complete(known, syncs));
            }
            Request::Open { key, reply } => {
                let _ = reply.send(self.open(*key));
            }
        }
    }

    fn complete(&mut self, mut known: Roots, syncs: Vec<PathBuf>) -> Roots {
        for local in syncs {
            if !known.contains_key(&local)
                && let Some(root) = self.deployed.get(&local).copied().or_else(|| Root::at(&local))
            {
                self.deployed.insert(local.clone(), root);
                known.insert(local, root);
            }
        }
        known
    }

    fn open(&mut self, key: Key) -> SharedRead {
        self.cells.retain(|(_, cell)| cell.strong_count() > 0);
        let found = self.cells.iter().find(|(other, _)| *other == key).and_then(|(_, cell)| cell.upgrade());
        let is_first = found.is_none();
        let cell = found.unwrap_or_default();
        if is_first {
            self.cells.push((key.clone(), Arc::downgrade(&cell)));
        }
        SharedRead { key, cell, is_first }
    }
}

#[derive(Debug)]
pub(super) struct SharedRead {
    key: Key,
    cell: Arc<Cell>,
    /// Whether it is the first of its update. It prints what is printed once.
    pub(super) is_first: bool,
}

impl SharedRead {
    /// Returns what the paths of syncs were when they were read; none if reading failed.
    pub(super) fn roots(&self) -> Option<&Roots> {
        self.cell.get()?.as_ref().ok().map(|reading| reading.changed.roots())
    }

    /// Reads, unless another container's task has.
    ///
    /// While this machine lacks what reading needs, calls `wait` and retries: no other kind of update would work.
    pub(super) async fn read(&self, mut wait: impl FnMut(&Failure)) -> Result<&Reading, Failure> {
        let read = move || async move {
            loop {
                let key = self.key.clone();
                let read = tokio::task::spawn_blocking(move || read(key)).await;
                match read {
                    Ok(Err(failure)) if failure.unreachable() == Some(&Unreachable::Machine) => {
                        wait(&failure);
                    }
                    Ok(read) => break read,
                    Err(error) => break Err(Failure::internal(format!("reading files broke: {error}"))),
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        self.cell.get_or_init(read).await.as_ref().map_err(Clone::clone)
    }
}

fn read(key: Key) -> Result<Reading, Failure> {
    let paths = match &key.everything {
        Some(files) => all_files(&key.live_update, files, &key.paths)?,
        None => key.paths.clone(),
    };
    let changed = Changed::read(&key.live_update, &paths, &key.paths, &key.roots)?;
    // Usually needed: most containers are updated through an agent.
    changed.changes.compute_fingerprints();
    Ok(Reading { paths, changed })
}

#[cfg(test)]
mod tests {
    use lilt_host::files;
    use lilt_model::cluster::PodRef;
    use lilt_model::image::Sync;

    use super::*;

    fn task(local: &Path) -> SyncTask {
        let syncs = vec![Sync { local: local.to_owned(), container: "/app".to_owned() }];
        SyncTask {
            pod: PodRef::default(),
            container: "main".to_owned(),
            id: "containerd://1".into(),
            agent: false,
            without_agent: false,
            live_update: LiveUpdate { syncs, ..LiveUpdate::default() },
            given_up: 0,
            unattended: false,
            job: None,
        }
    }

    fn job(update: u64, path: &Path) -> SyncJob {
        SyncJob { update, cause: None, paths: vec![path.to_owned()], everything: None }
    }

    #[tokio::test]
    async fn containers_of_an_update_share_one_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        files::save(&file, b"one").unwrap();
        let mut services = JoinSet::new();
        let reader = FileReader::start(&mut services);
        let (task, owner) = (task(folder.path()), Owner::Resource("web".into()));
        let first = reader.open(&owner, &task, &job(1, &file), &Roots::new()).await;
        let second = reader.open(&owner, &task, &job(1, &file), &Roots::new()).await;
        assert!(first.is_first && !second.is_first);
        first.read(|_| {}).await.unwrap();
        files::remove(&file).unwrap();
        let seen = second.read(|_| {}).await.unwrap();
        assert_eq!(seen.changed.changes.puts().len(), 1, "it is read before the file was removed");
        let later = reader.open(&owner, &task, &job(2, &file), &Roots::new()).await;
        assert!(later.is_first);
        assert_eq!(later.read(|_| {}).await.unwrap().changed.changes.removals(), ["/app/a"]);
        drop((first, second));
        let again = reader.open(&owner, &task, &job(1, &file), &Roots::new()).await;
        assert!(again.is_first, "nobody has held the read");
    }

    #[tokio::test]
    async fn synced_path_is_known_as_it_was_deployed() {
        let folder = tempfile::tempdir().unwrap();
        let local = folder.path().join("dist");
        files::save(&local, b"").unwrap();
        let mut services = JoinSet::new();
        let reader = FileReader::start(&mut services);
        let live_update = task(&local).live_update;
        reader.record_roots(&live_update).await;
        files::remove(&local).unwrap();
        let known = reader.complete_roots(Roots::new(), &live_update).await;
        assert_eq!(known.get(&local), Some(&Root::File));
        let own = Roots::from([(local.clone(), Root::Directory)]);
        assert_eq!(reader.complete_roots(own, &live_update).await[&local], Root::Directory);
    }
}
