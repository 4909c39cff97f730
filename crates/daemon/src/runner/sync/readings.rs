//! Files are read once for all containers of an update: three replicas cost what one costs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use lilt_engine::{SyncJob, SyncTask};
use lilt_host::files::is_directory;
use lilt_model::files::FileSet;
use lilt_model::image::LiveUpdate;
use lilt_model::{Away, Failure};
use tokio::sync::{OnceCell, watch};

use super::PAUSE;
use super::changed::{Changed, all_files};

/// What is being read, or is still in use. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readings(Arc<watch::Sender<Open>>);

#[derive(Debug, Default)]
struct Open {
    cells: Vec<(Key, Weak<Cell>)>,
    /// Whether paths of syncs were directories when they were last there. They are few.
    directories: HashMap<PathBuf, bool>,
}

type Cell = OnceCell<Result<Reading, Failure>>;

/// What all containers of one update that are given the same have in common.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    /// The resource, or the object.
    owner: String,
    update: u64,
    live_update: LiveUpdate,
    paths: Vec<PathBuf>,
    everything: Option<FileSet>,
    /// What is known of the paths of its syncs.
    directories: HashMap<PathBuf, bool>,
}

#[derive(Debug)]
pub(super) struct Reading {
    /// What changed, or all that there is.
    pub(super) paths: Vec<PathBuf>,
    pub(super) changed: Changed,
}

impl Readings {
    /// Takes note of what the syncs copy: of what is gone it cannot be seen any more whether it was a file.
    pub(crate) fn note(&self, live_update: &LiveUpdate) -> HashMap<PathBuf, bool> {
        let mut known = HashMap::new();
        self.0.send_if_modified(|open| {
            for local in live_update.syncs.iter().map(|sync| &sync.local) {
                if let Some(is_directory) = is_directory(local) {
                    open.directories.insert(local.clone(), is_directory);
                }
                known.extend(open.directories.get(local).map(|known| (local.clone(), *known)));
            }
            false
        });
        known
    }

    /// The place of what this job needs, for as long as somebody holds it. Only what began after the job was given counts:
    /// a later change is a later job's.
    pub(super) fn open(&self, owner: &str, task: &SyncTask, job: &SyncJob) -> Opened {
        let key = Key {
            owner: owner.to_owned(),
            update: job.update,
            live_update: task.live_update.clone(),
            paths: job.paths.clone(),
            everything: job.everything.clone(),
            directories: self.note(&task.live_update),
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
    /// Reads, unless another container's task does. While this machine lacks what reading needs, calls `wait` and tries
    /// again: no other way of updating would work.
    pub(super) async fn read(&self, mut wait: impl FnMut(&Failure)) -> Result<&Reading, Failure> {
        let read = move || async move {
            loop {
                let key = self.key.clone();
                let read = tokio::task::spawn_blocking(move || read(key)).await;
                match read {
                    Ok(Err(failure)) if failure.away == Some(Away::Machine) => wait(&failure),
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
    let changed = Changed::read(&key.live_update, &paths, &key.paths, &key.directories)?;
    // Mostly an agent is told of them.
    changed.changes.mark();
    Ok(Reading { paths, changed })
}
