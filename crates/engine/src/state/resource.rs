//! One resource's life.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use lilt_model::request::TriggerReason;
use lilt_model::resource::{Body, Resource, TriggerMode};
use lilt_model::timeline::{Stage, UpdateRecord};
use lilt_model::{Failure, ImageName, ResourceName, Timestamp};
use serde::Serialize;

use super::kubernetes::KubernetesState;
use super::local::LocalState;
use super::looping::Looping;
use super::queue::Rank;
use crate::cause::Cause;
use crate::controllers::file_watch::FileWatch;
use crate::controllers::live_update::LiveUpdateRun;
use crate::event::WatchId;
use crate::hold::Hold;
use crate::outage::PendingRetry;
use crate::task::UpdateJob;

/// Ended updates that are remembered.
pub(crate) const HISTORY: usize = 20;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ResourceState {
    pub(crate) spec: Arc<Resource>,
    /// The Tiltfile that declares it.
    pub(crate) tiltfile: ResourceName,
    /// Its place in the Tiltfile, from 1.
    pub(crate) order: u32,
    /// Switched off: shown, and nothing else.
    pub(crate) disabled: bool,
    /// When it was last switched off or on, or declared.
    pub(crate) switched: Timestamp,
    /// It was switched on and has not been updated since.
    pub(crate) switched_on: bool,
    /// The Tiltfile's, or what was said by hand since.
    pub(crate) trigger_mode: TriggerMode,
    pub(crate) body: BodyState,
    pub(crate) update: Option<Box<RunningUpdate>>,
    pub(crate) history: VecDeque<FinishedUpdate>,
    /// Changes up to this number were tried, with or without success: they alone start nothing again.
    pub(crate) attempted: u64,
    pub(crate) started_once: bool,
    pub(crate) ready: ReadyState,
    /// Whether it is up to date, and whether it is ready, in Tilt's terms, with since when that is so.
    pub(crate) conditions: [Option<(bool, Timestamp)>; 2],
    /// An update succeeded, and those that depend on it have not been told yet.
    pub(crate) renewed: bool,
    /// Dependencies that were updated since its own last update (only if the session cascades).
    pub(crate) renewed_dependencies: BTreeSet<ResourceName>,
    /// How far it is, as those that wait for it have been told.
    pub(crate) told: String,
    /// When to look at it again though nothing happened.
    pub(crate) alarm: Option<Timestamp>,
    pub(crate) looping: Looping,
    /// Updates in a row that were given up for newer changes.
    pub(crate) superseded: u32,
    /// The last deployment, until its pods are ready.
    pub(crate) rollout: Option<Box<UpdateRecord>>,
    /// When the newest of its changes was saved, as files tell, and when that was noticed.
    pub(crate) saved: Option<(Timestamp, Timestamp)>,
    /// Asked for by hand, not started yet.
    pub(crate) triggered: Option<u64>,
    /// By whom.
    pub(crate) trigger_reason: TriggerReason,
    /// Its last update was kept from succeeding by something that did not answer.
    pub(crate) again: Option<Box<PendingRetry>>,
    /// The Tiltfile changed it: when, and by which files.
    pub(crate) reconfigured: Option<(u64, Vec<String>)>,
    /// What is to be watched for it.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) watches: BTreeMap<WatchId, FileWatch>,
    /// Dependencies that have not been ready yet.
    pub(crate) unmet: BTreeSet<ResourceName>,
    /// Its place in the queue.
    pub(crate) queued: Option<Rank>,
    /// The place it will have once its files are watched.
    pub(crate) unwatched: Option<Rank>,
    pub(crate) pending_since: Option<Timestamp>,
    pub(crate) hold: Option<Hold>,
}

/// Whether a resource is ready, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum ReadyState {
    /// Not since it was defined.
    Never,
    Ready {
        since: Timestamp,
    },
    /// It was, from `since` on, until `at`.
    Lost {
        since: Timestamp,
        at: Timestamp,
    },
}

impl ReadyState {
    /// Takes in whether it is ready now; returns whether that is new.
    pub(crate) fn update(&mut self, is_ready: bool, now: Timestamp) -> bool {
        let next = match (*self, is_ready) {
            (ReadyState::Never | ReadyState::Lost { .. }, true) => ReadyState::Ready { since: now },
            (ReadyState::Ready { since }, false) => ReadyState::Lost { since, at: now },
            (same, _) => same,
        };
        std::mem::replace(self, next) != next
    }

    pub(crate) fn is_ready(self) -> bool {
        matches!(self, ReadyState::Ready { .. })
    }

    /// Whether it has ever been ready.
    pub(crate) fn was_ready(self) -> bool {
        self != ReadyState::Never
    }

    /// When it last became ready.
    pub(crate) fn last_ready(self) -> Option<Timestamp> {
        match self {
            ReadyState::Never => None,
            ReadyState::Ready { since } | ReadyState::Lost { since, .. } => Some(since),
        }
    }

    /// When it ceased to be ready.
    pub(crate) fn lost_at(self) -> Option<Timestamp> {
        match self {
            ReadyState::Lost { at, .. } => Some(at),
            ReadyState::Never | ReadyState::Ready { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) enum BodyState {
    Local(LocalState),
    /// Large, and most of ten thousand resources are local.
    Kubernetes(Box<KubernetesState>),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunningUpdate {
    pub(crate) id: u64,
    pub(crate) cause: Cause,
    /// When it began to wait for its turn.
    pub(crate) waited_since: Option<Timestamp>,
    pub(crate) started: Timestamp,
    /// Changes up to this number are covered by it.
    pub(crate) snapshot: u64,
    pub(crate) kind: UpdateKind,
    pub(crate) stages: Vec<Stage>,
    /// The images that it has built so far.
    pub(crate) built: BTreeMap<ImageName, String>,
    pub(crate) before: Before,
}

/// What an update took up, to be put back if it is given up for a newer one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Before {
    attempted: u64,
    started_once: bool,
    switched_on: bool,
    pub(crate) triggered: Option<u64>,
    reconfigured: Option<(u64, Vec<String>)>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) enum UpdateKind {
    /// What to do, as it was when the update began: a reload meanwhile changes the next one.
    Job(Arc<UpdateJob>),
    /// Files go into running containers.
    Live(LiveUpdateRun),
}

impl UpdateKind {
    pub(crate) fn is_live(&self) -> bool {
        matches!(self, UpdateKind::Live(_))
    }
}

/// One update that ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FinishedUpdate {
    pub id: u64,
    pub cause: Cause,
    pub started: Timestamp,
    pub finished: Timestamp,
    pub failure: Option<Failure>,
    pub warnings: Vec<String>,
    /// Files went into running containers.
    pub live: bool,
}

impl Before {
    /// No update had started yet.
    pub(crate) fn is_first(&self) -> bool {
        !self.started_once
    }
}

impl ResourceState {
    pub(crate) fn new(spec: Arc<Resource>, tiltfile: ResourceName, order: u32) -> Self {
        let body = match &spec.body {
            // Of a service nothing is known but that its updates fail: Docker Compose is not supported yet.
            Body::Local(_) | Body::Compose(_) => BodyState::Local(LocalState::default()),
            Body::Kubernetes(_) => BodyState::Kubernetes(Box::default()),
        };
        Self {
            trigger_mode: spec.trigger_mode,
            spec,
            tiltfile,
            order,
            disabled: false,
            switched: Timestamp::ZERO,
            switched_on: false,
            body,
            update: None,
            history: VecDeque::new(),
            attempted: 0,
            started_once: false,
            ready: ReadyState::Never,
            conditions: [None; 2],
            renewed: false,
            renewed_dependencies: BTreeSet::new(),
            told: String::new(),
            alarm: None,
            looping: Looping::default(),
            superseded: 0,
            rollout: None,
            triggered: None,
            trigger_reason: TriggerReason::default(),
            again: None,
            reconfigured: None,
            watches: BTreeMap::new(),
            unmet: BTreeSet::new(),
            queued: None,
            unwatched: None,
            saved: None,
            pending_since: None,
            hold: None,
        }
    }

    /// Nothing else may update while this one does.
    pub(crate) fn runs_alone(&self) -> bool {
        matches!(&self.spec.body, Body::Local(local) if local.update.is_some() && !local.allow_parallel)
    }

    /// Whether it keeps a server running.
    pub(crate) fn serves(&self) -> bool {
        matches!(&self.spec.body, Body::Local(local) if local.serve.is_some())
    }

    pub(crate) fn is_automatic(&self) -> bool {
        self.trigger_mode == TriggerMode::Auto
    }

    /// The number of the newest change to its files.
    pub(crate) fn newest_change(&self) -> u64 {
        match &self.body {
            BodyState::Local(local) => local.changes.values().copied().max().unwrap_or(0),
            BodyState::Kubernetes(kubernetes) => {
                let images = kubernetes.images.values().map(super::ImageState::newest_change);
                images.chain(kubernetes.changes.values().copied()).max().unwrap_or(0)
            }
        }
    }

    /// Files changed that no update has tried.
    pub(crate) fn has_new_changes(&self) -> bool {
        self.newest_change() > self.attempted
    }

    /// Somebody asked for an update, and not merely for what was saved since the one before, which is what one asks for
    /// in manual mode.
    pub(crate) fn starts_anew(&self) -> bool {
        let asks_for_saved = !self.is_automatic()
            && self.started_once
            && !self.switched_on
            && self.has_new_changes()
            && self.reconfigured.is_none();
        self.triggered.is_some() && !asks_for_saved
    }

    /// Something is to be done, and the user need not ask for it.
    pub(crate) fn is_pending(&self) -> bool {
        let held = |hold: &Hold| !matches!(hold, Hold::Trigger { changed: false, .. });
        self.queued.is_some() || self.hold.as_ref().is_some_and(held)
    }

    pub(crate) fn before(&self) -> Before {
        Before {
            attempted: self.attempted,
            started_once: self.started_once,
            switched_on: self.switched_on,
            triggered: self.triggered,
            reconfigured: self.reconfigured.clone(),
        }
    }

    pub(crate) fn restore(&mut self, before: &Before) {
        self.attempted = before.attempted;
        self.started_once = before.started_once;
        self.switched_on = before.switched_on;
        self.triggered = self.triggered.or(before.triggered);
        if self.reconfigured.is_none() {
            self.reconfigured.clone_from(&before.reconfigured);
        }
    }

    pub(crate) fn remember(&mut self, finished: FinishedUpdate) {
        // Of ten thousand resources most are updated once: no room is kept for more.
        self.history.reserve_exact(usize::from(self.history.is_empty()));
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
