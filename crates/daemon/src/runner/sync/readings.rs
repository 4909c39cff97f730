//! Files are read once for all containers of an update: three replicas cost what one costs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use lilt_engine::{Owner, SyncJob, SyncTask};
use lilt_host::files::is_directory;
use lilt_model::files::FileSet;
use lilt_model::image::LiveUpdate;
use lilt_model::{Failure, Unreachable};
use tokio::sync::{OnceCell, watch};

use super::PAUSE;
use super::changed::{Changed, all_files};

/// What is being read, or is still in use. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readings(Arc<watch::Sender<Open>>);

#[derive(Debug, Default)]
struct Open {
    cells: Vec<(Key, Weak<Cell>)>,
    /// What the paths of syncs were when they were last deployed. They are few.
    roots: Roots,
}

/// What the paths of syncs are. One that was never there is not in it.
pub(super) type Roots = HashMap<PathBuf, Root>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    File,
    Directory,
    /// A directory in the place of a file. Where the target is named with a slash, the file lay beside others, and so do the
    /// files of the directory.
    DirectoryAmongOthers,
}

impl Root {
    fn at(path: &Path) -> Option<Root> {
        is_directory(path).map(|it| if it { Root::Directory } else { Root::File })
    }
}

type Cell = OnceCell<Result<Reading, Failure>>;

/// What all containers of one update that are given the same have in common.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    owner: Owner,
    update: u64,
    live_update: LiveUpdate,
    paths: Vec<PathBuf>,
    everything: Option<FileSet>,
    /// What the paths of its syncs were when the container last got them.
    roots: Roots,
}

#[derive(Debug)]
pub(super) struct Reading {
    /// What changed, or all that there is.
    pub(super) paths: Vec<PathBuf>,
    pub(super) changed: Changed,
}

impl Readings {
    /// Records what the syncs copy as it is deployed: once it is gone or something else, that cannot be seen any more.
    pub(crate) fn note(&self, live_update: &LiveUpdate) {
        self.0.send_if_modified(|open| {
            for local in live_update.syncs.iter().map(|sync| &sync.local) {
                open.roots.extend(Root::at(local).map(|root| (local.clone(), root)));
            }
            false
        });
    }

    /// Adds to `known`, which belongs to one container, the paths of syncs that are not in it: as they were deployed, or as
    /// they are now if nothing is known of that.
    pub(super) fn complete(&self, known: &mut Roots, live_update: &LiveUpdate) {
        self.0.send_if_modified(|open| {
            for local in live_update.syncs.iter().map(|sync| &sync.local) {
                if !known.contains_key(local)
                    && let Some(root) = open.roots.get(local).copied().or_else(|| Root::at(local))
                {
                    open.roots.insert(local.clone(), root);
                    known.insert(local.clone(), root);
                }
            }
            false
        });
    }

    /// The place of what this job needs, for as long as somebody holds it. Only what began after the job was given counts:
    /// a later change is a later job's.
    /// `known`: what the paths of syncs were when the container last got them.
    pub(super) fn open(&self, owner: &Owner, task: &SyncTask, job: &SyncJob, known: &Roots) -> Opened {
        let key = Key {
            owner: owner.clone(),
            update: job.update,
            live_update: task.live_update.clone(),
            paths: job.paths.clone(),
            everything: job.everything.clone(),
            roots: known.clone(),
        };
        let (mut found, mut first) = (None, false);
        self.0.send_if_modified(|open| {
            open.cells.retain(|(_, cell)| cell.strong_count() > 0);
            found = open.cells.iter().find(|(other, _)| *other == key).and_then(|(_, cell)| cell.upgrade());
            if found.is_none() {
                let cell = Arc::new(Cell::new());
                open.cells.push((key.clone(), Arc::downgrade(&cell)));
                (found, first) = (Some(cell), true);
            }
            false
        });
        Opened { key, cell: found.unwrap_or_default(), first }
    }
}

pub(super) struct Opened {
    key: Key,
    cell: Arc<Cell>,
    /// Nobody else had it open: what is said of it once is said by this one.
    pub(super) first: bool,
}

impl Opened {
    /// Returns what the paths of syncs were that were read; none if reading failed.
    pub(super) fn roots(&self) -> Option<&Roots> {
        self.cell.get()?.as_ref().ok().map(|reading| reading.changed.roots())
    }

    /// Reads, unless another container's task does. While this machine lacks what reading needs, calls `wait` and tries
    /// again: no other way of updating would work.
    pub(super) async fn read(&self, mut wait: impl FnMut(&Failure)) -> Result<&Reading, Failure> {
        let read = move || async move {
            loop {
                let key = self.key.clone();
                let read = tokio::task::spawn_blocking(move || read(key)).await;
                match read {
                    Ok(Err(failure)) if failure.unreachable() == Some(&Unreachable::Machine) => {
                        wait(&failure)
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
    // Mostly an agent is told of them.
    changed.changes.compute_fingerprints();
    Ok(Reading { paths, changed })
}
