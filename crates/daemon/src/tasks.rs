//! What runs, kept equal to the plan.
//!
//! A slot holds one task at a time: when the plan puts another one there, the old one is cancelled and the new one
//! starts when it has ended.

use std::collections::{BTreeMap, HashMap};

use lilt_engine::{Owner, Plan, Task, TaskId};
use lilt_model::Failure;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::runner;

/// A part of the plan that is reconciled as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Section {
    Session,
    Owner(Owner),
}

#[derive(Debug)]
enum Slot {
    Running {
        task: Task,
        feed: watch::Sender<Task>,
        cancel: CancellationToken,
    },
    /// Cancelled; what comes after it, if anything.
    Stopping {
        next: Option<Task>,
    },
    /// Ended by itself. It is not started again as long as the plan wants the same.
    Ended {
        task: Task,
    },
}

#[derive(Debug)]
pub(crate) struct Tasks {
    context: Context,
    slots: HashMap<Section, BTreeMap<TaskId, Slot>>,
    running: JoinSet<()>,
    names: HashMap<Id, (Section, TaskId)>,
}

impl Tasks {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, slots: HashMap::new(), running: JoinSet::new(), names: HashMap::new() }
    }

    /// What every task is given.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Makes the tasks of a section what its plan says.
    pub(crate) fn reconcile(&mut self, section: &Section, plan: Plan) {
        let slots = self.slots.entry(section.clone()).or_default();
        slots.retain(|id, slot| plan.contains_key(id) || !matches!(slot, Slot::Ended { .. }));
        for (_, slot) in slots.iter_mut().filter(|(id, _)| !plan.contains_key(*id)) {
            stop(slot, None);
        }
        let mut start = Vec::new();
        for (id, task) in plan {
            match slots.get_mut(&id) {
                None => start.push((id, task)),
                Some(Slot::Ended { task: old }) if old.continues(&task) => {}
                Some(Slot::Ended { .. }) => start.push((id, task)),
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
            self.start(section, id, task);
        }
    }

    fn start(&mut self, section: &Section, id: TaskId, task: Task) {
        tracing::debug!(task = ?id, "starting");
        let cancel = CancellationToken::new();
        let (feed, fed) = watch::channel(task.clone());
        let context = Context { cancel: cancel.clone(), ..self.context.clone() };
        let handle = self.running.spawn(runner::run(fed, context));
        self.names.insert(handle.id(), (section.clone(), id.clone()));
        self.slots.entry(section.clone()).or_default().insert(id, Slot::Running { task, feed, cancel });
    }

    /// Waits for a task to end; never returns while none runs. A task that broke is told.
    pub(crate) async fn next_ended(&mut self) -> Option<(TaskId, Failure)> {
        let Some(ended) = self.running.join_next_with_id().await else { return std::future::pending().await };
        self.note_end(ended)
    }

    fn note_end(&mut self, ended: Result<(Id, ()), JoinError>) -> Option<(TaskId, Failure)> {
        let number = match &ended {
            Ok((number, ())) => *number,
            Err(error) => error.id(),
        };
        let (section, id) = self.names.remove(&number)?;
        tracing::debug!(task = ?id, "ended");
        let slots = self.slots.get_mut(&section)?;
        match slots.remove(&id) {
            Some(Slot::Running { task, .. }) => {
                slots.insert(id.clone(), Slot::Ended { task });
            }
            Some(Slot::Stopping { next: Some(task) }) => self.start(&section, id.clone(), task),
            Some(Slot::Stopping { next: None } | Slot::Ended { .. }) | None => {}
        }
        if self.slots.get(&section).is_some_and(BTreeMap::is_empty) {
            self.slots.remove(&section);
        }
        let panic = ended.err().filter(JoinError::is_panic)?;
        Some((id, Failure::internal(panic_message(panic))))
    }

    /// Cancels everything; [`Tasks::next_ended`] then tells of the ends.
    pub(crate) fn stop_all(&mut self) {
        for slot in self.slots.values_mut().flat_map(BTreeMap::values_mut) {
            stop(slot, None);
        }
    }

    /// Cancels some; the others go on.
    pub(crate) fn stop_matching(&mut self, which: impl Fn(&TaskId) -> bool) {
        let slots = self.slots.values_mut().flat_map(BTreeMap::iter_mut);
        for (_, slot) in slots.filter(|(id, _)| which(id)) {
            stop(slot, None);
        }
    }

    /// Something that was cancelled has not ended yet.
    pub(crate) fn is_stopping(&self) -> bool {
        self.slots.values().flat_map(BTreeMap::values).any(|slot| matches!(slot, Slot::Stopping { .. }))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Gives up on tasks that do not end: what they own is dropped, processes included.
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
        Slot::Ended { .. } => {}
    }
}

fn panic_message(panic: JoinError) -> String {
    let payload = panic.into_panic();
    let words = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    words.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a task panicked".into())
}
