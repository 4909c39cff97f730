//! One resource's life.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use lilt_model::files::FileSet;
use lilt_model::resource::{Body, Resource, TriggerMode};
use lilt_model::{Failure, ResourceName, Timestamp};

use super::kubernetes::KubernetesState;
use super::local::LocalState;
use super::queue::Rank;
use crate::cause::Cause;
use crate::event::WatchId;
use crate::hold::Hold;
use crate::task::UpdateJob;

/// Ended updates that are remembered.
pub(crate) const HISTORY: usize = 20;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResourceState {
    pub(crate) spec: Arc<Resource>,
    /// Its place in the Tiltfile, from 1.
    pub(crate) order: u32,
    /// Switched off: shown, and nothing else.
    pub(crate) disabled: bool,
    /// It was switched on and has not been updated since.
    pub(crate) switched_on: bool,
    /// The Tiltfile's, or what was said by hand since.
    pub(crate) trigger_mode: TriggerMode,
    pub(crate) body: BodyState,
    pub(crate) update: Option<RunningUpdate>,
    pub(crate) history: VecDeque<FinishedUpdate>,
    /// Changes up to this number were tried, with or without success: they alone start nothing again.
    pub(crate) attempted: u64,
    pub(crate) started_once: bool,
    /// Has been ready at some time since it was defined.
    pub(crate) ready_once: bool,
    /// Asked for by hand, not started yet.
    pub(crate) triggered: Option<u64>,
    /// The Tiltfile changed it: when, and by which files.
    pub(crate) reconfigured: Option<(u64, Vec<String>)>,
    /// What is to be watched for it.
    pub(crate) watches: BTreeMap<WatchId, Watch>,
    /// Dependencies that have not been ready yet.
    pub(crate) unmet: BTreeSet<ResourceName>,
    /// Its place in the queue.
    pub(crate) queued: Option<Rank>,
    /// The place it will have once its files are watched.
    pub(crate) unwatched: Option<Rank>,
    pub(crate) pending_since: Option<Timestamp>,
    pub(crate) hold: Option<Hold>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Watch {
    pub(crate) files: FileSet,
    /// Grows when the files become others.
    pub(crate) version: u64,
    /// No change to these files is missed.
    pub(crate) ready: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BodyState {
    Local(LocalState),
    Kubernetes(KubernetesState),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningUpdate {
    pub(crate) id: u64,
    pub(crate) cause: Cause,
    pub(crate) started: Timestamp,
    /// Changes up to this number are covered by it.
    pub(crate) snapshot: u64,
    pub(crate) kind: UpdateKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum UpdateKind {
    /// What to do, as it was when the update began: a reload meanwhile changes the next one.
    Job(Arc<UpdateJob>),
    /// Files go into running containers; see [`super::LiveUpdateRun`].
    Live,
}

/// One update that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedUpdate {
    pub id: u64,
    pub cause: Cause,
    pub started: Timestamp,
    pub finished: Timestamp,
    pub failure: Option<Failure>,
    pub warnings: Vec<String>,
}

impl ResourceState {
    pub(crate) fn new(spec: Arc<Resource>, order: u32) -> Self {
        let body = match &spec.body {
            // Of a service nothing is known but that its updates fail: Docker Compose is not supported yet.
            Body::Local(_) | Body::Compose(_) => BodyState::Local(LocalState::default()),
            Body::Kubernetes(_) => BodyState::Kubernetes(KubernetesState::default()),
        };
        Self {
            trigger_mode: spec.trigger_mode,
            spec,
            order,
            disabled: false,
            switched_on: false,
            body,
            update: None,
            history: VecDeque::new(),
            attempted: 0,
            started_once: false,
            ready_once: false,
            triggered: None,
            reconfigured: None,
            watches: BTreeMap::new(),
            unmet: BTreeSet::new(),
            queued: None,
            unwatched: None,
            pending_since: None,
            hold: None,
        }
    }

    /// Nothing else may update while this one does.
    pub(crate) fn runs_alone(&self) -> bool {
        matches!(&self.spec.body, Body::Local(local) if local.update.is_some() && !local.allow_parallel)
    }

    pub(crate) fn is_automatic(&self) -> bool {
        self.trigger_mode == TriggerMode::Auto
    }

    /// The number of the newest change to its files.
    pub(crate) fn newest_change(&self) -> u64 {
        match &self.body {
            BodyState::Local(local) => local.changes.values().copied().max().unwrap_or(0),
            BodyState::Kubernetes(kubernetes) => {
                kubernetes.images.values().map(super::ImageState::newest_change).max().unwrap_or(0)
            }
        }
    }

    /// Files changed that no update has tried.
    pub(crate) fn has_new_changes(&self) -> bool {
        self.newest_change() > self.attempted
    }

    pub(crate) fn remember(&mut self, finished: FinishedUpdate) {
        self.history.push_back(finished);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
    }

    pub(crate) fn last(&self) -> Option<&FinishedUpdate> {
        self.history.back()
    }

    pub(crate) fn kubernetes(&self) -> Option<&KubernetesState> {
        match &self.body {
            BodyState::Kubernetes(state) => Some(state),
            BodyState::Local(_) => None,
        }
    }

    pub(crate) fn kubernetes_mut(&mut self) -> Option<&mut KubernetesState> {
        match &mut self.body {
            BodyState::Kubernetes(state) => Some(state),
            BodyState::Local(_) => None,
        }
    }
}
