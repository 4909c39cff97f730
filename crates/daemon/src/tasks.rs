//! The task table: what runs, kept equal to the plan.
//!
//! A slot holds one task at a time. When the plan puts another task there, the old one is cancelled and the new one
//! starts when it has ended. Deletions start after the tasks that write objects of the same resource have ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use lilt_engine::{Owner, Plan, Task, TaskId, UpdateJob};
use lilt_model::{ClusterName, Failure, ResourceName};
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::connections::{Connection, Connections};

/// Runs tasks. Tests run them without clusters, processes and files.
pub(crate) trait Runner {
    /// Runs a task to its end. `feed` delivers changes to tasks that continue with them.
    fn run(&self, feed: watch::Receiver<Task>, scope: TaskScope)
    -> impl Future<Output = ()> + Send + 'static;
}

/// What the table gives to a task.
#[derive(Clone, Debug)]
pub(crate) struct TaskScope {
    pub(crate) cancel: CancellationToken,
    pub(crate) connections: Arc<Connections>,
}

/// A part of the plan that is reconciled as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Section {
    Session,
    Owner(Owner),
}

#[derive(Debug)]
enum Slot {
    /// A deletion that has to wait for tasks that write.
    Waiting {
        task: Task,
    },
    Running {
        task: Task,
        feed: watch::Sender<Task>,
        cancel: CancellationToken,
    },
    /// Cancelled. `next` starts when it has ended.
    Stopping {
        next: Option<Task>,
    },
    /// Ended by itself. It is not restarted as long as the plan contains the same task.
    Ended {
        task: Task,
    },
}

/// The place of a task in the table.
type SlotKey = (Section, TaskId);

/// A running task, cancelled or not.
#[derive(Debug)]
struct Started {
    key: SlotKey,
    /// The resource whose objects it writes.
    writes: Option<ResourceName>,
}

#[derive(Debug)]
pub(crate) struct Tasks<R> {
    runner: R,
    connections: Arc<Connections>,
    slots: HashMap<Section, BTreeMap<TaskId, Slot>>,
    running: JoinSet<()>,
    started: HashMap<Id, Started>,
    /// Running tasks that write objects, by resource.
    writers: BTreeMap<ResourceName, BTreeSet<SlotKey>>,
    /// Slots that may be waiting.
    waiting: Vec<SlotKey>,
}

impl<R: Runner> Tasks<R> {
    pub(crate) fn new(runner: R, connections: Connections) -> Self {
        Self {
            runner,
            connections: Arc::new(connections),
            slots: HashMap::new(),
            running: JoinSet::new(),
            started: HashMap::new(),
            writers: BTreeMap::new(),
            waiting: Vec::new(),
        }
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Adds a connection for tasks that start from now on.
    pub(crate) fn connect(&mut self, cluster: ClusterName, connection: Connection) {
        Arc::make_mut(&mut self.connections).insert(cluster, connection);
    }

    /// Starts, cancels, replaces and feeds tasks of a section, as its plan says.
    pub(crate) fn reconcile(&mut self, section: &Section, plan: Plan) {
        let slots = self.slots.entry(section.clone()).or_default();
        slots.retain(|id, slot| {
            plan.contains_key(id) || matches!(slot, Slot::Running { .. } | Slot::Stopping { .. })
        });
        for (_, slot) in slots.iter_mut().filter(|(id, _)| !plan.contains_key(*id)) {
            stop(slot, None);
        }
        let mut start = Vec::new();
        for (id, task) in plan {
            match slots.get_mut(&id) {
                None => start.push((id, task)),
                Some(Slot::Ended { task: old }) if old.continues(&task) => {}
                Some(Slot::Ended { .. }) => start.push((id, task)),
                Some(Slot::Waiting { task: old }) => *old = task,
                Some(Slot::Stopping { next }) => *next = Some(task),
                Some(Slot::Running { task: old, feed, .. }) if old.continues(&task) => {
                    if *old != task {
                        feed.send_replace(task.clone());
                        *old = task;
                    }
                }
                Some(slot) => stop(slot, Some(task)),
            }
        }
        if slots.is_empty() {
            self.slots.remove(section);
        }
        for (id, task) in start {
            self.start((section.clone(), id), task);
        }
    }

    /// Starts a task, or lets it wait.
    fn start(&mut self, key: SlotKey, task: Task) {
        if self.must_wait(&task) {
            self.waiting.push(key.clone());
            return self.set(key, Slot::Waiting { task });
        }
        tracing::debug!(task = ?key.1, "starting");
        let cancel = CancellationToken::new();
        let (feed, receiver) = watch::channel(task.clone());
        let scope = TaskScope { cancel: cancel.clone(), connections: Arc::clone(&self.connections) };
        let handle = self.running.spawn(self.runner.run(receiver, scope));
        let writes = written_resource(&task).cloned();
        if let Some(resource) = &writes {
            self.writers.entry(resource.clone()).or_default().insert(key.clone());
        }
        self.started.insert(handle.id(), Started { key: key.clone(), writes });
        self.set(key, Slot::Running { task, feed, cancel });
    }

    fn set(&mut self, (section, id): SlotKey, slot: Slot) {
        self.slots.entry(section).or_default().insert(id, slot);
    }

    /// Returns whether a task deletes objects that a running task may still write.
    ///
    /// These are cancelled tasks, and the resource's update: it may have a command of a former configuration. Other
    /// applies of the resource's log write other objects.
    fn must_wait(&self, task: &Task) -> bool {
        let Task::Cleanup { resource, .. } = task else { return false };
        let is_stopping = |(section, id): &SlotKey| {
            let slot = self.slots.get(section).and_then(|slots| slots.get(id));
            matches!(slot, Some(Slot::Stopping { .. }))
        };
        let mut writers = self.writers.get(resource).into_iter().flatten();
        writers.any(|key| matches!(key.1, TaskId::Update(_)) || is_stopping(key))
    }

    /// Starts waiting tasks that need not wait any longer.
    fn start_waiting(&mut self) {
        for key in std::mem::take(&mut self.waiting) {
            let slot = self.slots.get(&key.0).and_then(|slots| slots.get(&key.1));
            if let Some(Slot::Waiting { task }) = slot {
                let task = task.clone();
                self.start(key, task);
            }
        }
    }

    /// Waits for a task to end; never returns while none runs. Returns the failure of a task that panicked.
    pub(crate) async fn next_ended(&mut self) -> Option<(TaskId, Failure)> {
        let Some(ended) = self.running.join_next_with_id().await else { return std::future::pending().await };
        self.note_end(ended)
    }

    fn note_end(&mut self, ended: Result<(Id, ()), JoinError>) -> Option<(TaskId, Failure)> {
        let number = match &ended {
            Ok((number, ())) => *number,
            Err(error) => error.id(),
        };
        let Started { key, writes } = self.started.remove(&number)?;
        tracing::debug!(task = ?key.1, "ended");
        if let Some(resource) = writes
            && let Some(writers) = self.writers.get_mut(&resource)
        {
            writers.remove(&key);
            if writers.is_empty() {
                self.writers.remove(&resource);
            }
        }
        let slots = self.slots.get_mut(&key.0)?;
        match slots.remove(&key.1) {
            Some(Slot::Running { task, .. }) => {
                slots.insert(key.1.clone(), Slot::Ended { task });
            }
            Some(Slot::Stopping { next: Some(task) }) => self.start(key.clone(), task),
            Some(Slot::Stopping { next: None } | Slot::Ended { .. } | Slot::Waiting { .. }) | None => {}
        }
        if self.slots.get(&key.0).is_some_and(BTreeMap::is_empty) {
            self.slots.remove(&key.0);
        }
        self.start_waiting();
        let panic = ended.err().filter(JoinError::is_panic)?;
        Some((key.1, Failure::internal(panic_message(panic))))
    }

    /// Cancels all tasks. [`Tasks::next_ended`] reports their ends.
    pub(crate) fn stop_all(&mut self) {
        self.stop_matching(|_| true);
    }

    /// Cancels some tasks; the others go on.
    pub(crate) fn stop_matching(&mut self, matches: impl Fn(&TaskId) -> bool) {
        for slots in self.slots.values_mut() {
            slots.retain(|id, slot| !(matches(id) && matches!(slot, Slot::Waiting { .. })));
            for (_, slot) in slots.iter_mut().filter(|(id, _)| matches(id)) {
                stop(slot, None);
            }
        }
    }

    /// Returns whether a cancelled task has not ended yet.
    pub(crate) fn is_stopping(&self) -> bool {
        self.slots.values().flat_map(BTreeMap::values).any(|slot| matches!(slot, Slot::Stopping { .. }))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Drops tasks that do not end, with everything they own, including processes.
    pub(crate) async fn abort_all(&mut self) {
        self.running.shutdown().await;
    }
}

fn stop(slot: &mut Slot, next: Option<Task>) {
    match slot {
        Slot::Running { cancel, .. } => {
            cancel.cancel();
            *slot = Slot::Stopping { next };
        }
        Slot::Stopping { next: planned } => *planned = next,
        Slot::Waiting { .. } | Slot::Ended { .. } => {}
    }
}

/// Returns the resource whose objects a task writes.
fn written_resource(task: &Task) -> Option<&ResourceName> {
    match task {
        Task::Update { resource, job, .. } if matches!(**job, UpdateJob::Deploy(_)) => Some(resource),
        Task::Apply { job, .. } => Some(&job.resource),
        _ => None,
    }
}

fn panic_message(panic: JoinError) -> String {
    let payload = panic.into_panic();
    let message = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    message.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a task panicked".into())
}

#[cfg(test)]
mod tests;
