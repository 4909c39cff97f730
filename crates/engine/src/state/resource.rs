//! The state of one resource.

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

/// The number of finished updates that are kept.
pub(crate) const HISTORY: usize = 20;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ResourceState {
    pub(crate) spec: Arc<Resource>,
    /// The Tiltfile that declares it.
    pub(crate) tiltfile: ResourceName,
    /// Its place in the Tiltfile, from 1.
    pub(crate) order: u32,
    /// Disabled resources are shown, and nothing else.
    pub(crate) disabled: bool,
    /// The time at which it was last enabled, disabled or declared.
    pub(crate) switched: Timestamp,
    /// Enabled, and not updated since.
    pub(crate) switched_on: bool,
    /// The mode of the Tiltfile, or the one that the user has set since.
    pub(crate) trigger_mode: TriggerMode,
    pub(crate) body: BodyState,
    pub(crate) update: Option<Box<RunningUpdate>>,
    pub(crate) history: VecDeque<FinishedUpdate>,
    /// The last sequence number covered by an update, successful or not. Changes up to it do not start
    /// another one.
    pub(crate) attempted: u64,
    pub(crate) started_once: bool,
    pub(crate) ready: ReadyState,
    /// Tilt's conditions `UpToDate` and `Ready`, each with the time of its last transition.
    pub(crate) conditions: [Option<(bool, Timestamp)>; 2],
    /// An update succeeded, and its dependents have not been notified yet.
    pub(crate) renewed: bool,
    /// Dependencies that were updated since its own last update (only if the session cascades).
    pub(crate) renewed_dependencies: BTreeSet<ResourceName>,
    /// The progress that dependents show while they wait. When it changes, they are notified.
    #[serde(rename = "told")]
    pub(crate) published_state: String,
    /// The time at which to evaluate it again without an event.
    pub(crate) alarm: Option<Timestamp>,
    pub(crate) looping: Looping,
    /// The number of updates in a row that were cancelled for newer changes.
    pub(crate) superseded: u32,
    /// The record of the last deployment, until its pods are ready.
    pub(crate) rollout: Option<Box<UpdateRecord>>,
    /// The modification time of the newest changed file, and the time of its detection.
    pub(crate) saved: Option<(Timestamp, Timestamp)>,
    /// The number of a manual trigger that has not started an update yet.
    pub(crate) triggered: Option<u64>,
    /// The origin of that trigger.
    pub(crate) trigger_reason: TriggerReason,
    /// The retry of its last update, which failed because a dependency was unreachable.
    #[serde(rename = "again")]
    pub(crate) pending_retry: Option<Box<PendingRetry>>,
    /// The number of the last change by the Tiltfile, and the files that caused it.
    pub(crate) reconfigured: Option<(u64, Vec<String>)>,
    /// The file watches it needs.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) watches: BTreeMap<WatchId, FileWatch>,
    /// Dependencies that have never been ready.
    pub(crate) unmet: BTreeSet<ResourceName>,
    /// Its place in the queue.
    pub(crate) queued: Option<Rank>,
    /// Its place in the queue once its files are watched.
    pub(crate) unwatched: Option<Rank>,
    pub(crate) pending_since: Option<Timestamp>,
    pub(crate) hold: Option<Hold>,
}

/// The readiness of a resource, with times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum ReadyState {
    /// It has never been ready.
    Never,
    Ready {
        since: Timestamp,
    },
    /// It was ready from `since` until `at`.
    Lost {
        since: Timestamp,
        at: Timestamp,
    },
}

impl ReadyState {
    /// Records whether it is ready now. Returns whether that changed.
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

    /// Returns whether it has ever been ready.
    pub(crate) fn was_ready(self) -> bool {
        self != ReadyState::Never
    }

    /// Returns when it last became ready.
    pub(crate) fn last_ready(self) -> Option<Timestamp> {
        match self {
            ReadyState::Never => None,
            ReadyState::Ready { since } | ReadyState::Lost { since, .. } => Some(since),
        }
    }

    /// Returns when it ceased to be ready.
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
    /// Boxed because it is large, and projects with many resources have mostly local ones.
    Kubernetes(Box<KubernetesState>),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunningUpdate {
    pub(crate) id: u64,
    pub(crate) cause: Cause,
    /// The time at which it became pending.
    pub(crate) waited_since: Option<Timestamp>,
    pub(crate) started: Timestamp,
    /// It covers changes up to this sequence number.
    pub(crate) snapshot: u64,
    pub(crate) kind: UpdateKind,
    pub(crate) stages: Vec<Stage>,
    /// The images that it has built so far.
    pub(crate) built: BTreeMap<ImageName, String>,
    pub(crate) before: Before,
}

/// Fields that an update changed when it started. They are restored if it is cancelled for a newer one.
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
    /// The job as specified when the update started. A later load of the Tiltfile affects the next update.
    Job(Arc<UpdateJob>),
    /// A live update: files are copied into running containers.
    Live(LiveUpdateRun),
}

impl UpdateKind {
    pub(crate) fn is_live(&self) -> bool {
        matches!(self, UpdateKind::Live(_))
    }
}

/// A finished update.
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
    /// Returns whether no update had started before.
    pub(crate) fn is_first(&self) -> bool {
        !self.started_once
    }
}

impl ResourceState {
    pub(crate) fn new(spec: Arc<Resource>, tiltfile: ResourceName, order: u32) -> Self {
        let body = match &spec.body {
            // Docker Compose is not supported yet: updates of a service fail, and it has no other state.
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
            published_state: String::new(),
            alarm: None,
            looping: Looping::default(),
            superseded: 0,
            rollout: None,
            triggered: None,
            trigger_reason: TriggerReason::default(),
            pending_retry: None,
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

    /// Returns whether no other resource may update at the same time.
    pub(crate) fn runs_alone(&self) -> bool {
        matches!(&self.spec.body, Body::Local(local) if local.update.is_some() && !local.allow_parallel)
    }

    /// Returns whether it has a serve command.
    pub(crate) fn serves(&self) -> bool {
        matches!(&self.spec.body, Body::Local(local) if local.serve.is_some())
    }

    pub(crate) fn is_automatic(&self) -> bool {
        self.trigger_mode == TriggerMode::Auto
    }

    /// Returns the sequence number of the newest change to its files.
    pub(crate) fn newest_change(&self) -> u64 {
        match &self.body {
            BodyState::Local(local) => local.changes.values().copied().max().unwrap_or(0),
            BodyState::Kubernetes(kubernetes) => {
                let images = kubernetes.images.values().map(super::ImageState::newest_change);
                images.chain(kubernetes.changes.values().copied()).max().unwrap_or(0)
            }
        }
    }

    /// Returns whether files changed that no update has covered.
    pub(crate) fn has_new_changes(&self) -> bool {
        self.newest_change() > self.attempted
    }

    /// Returns whether a manual trigger forces a full update. In manual mode, a trigger with pending changes
    /// only asks to update those.
    pub(crate) fn forces_full_update(&self) -> bool {
        let asks_for_saved = !self.is_automatic()
            && self.started_once
            && !self.switched_on
            && self.has_new_changes()
            && self.reconfigured.is_none();
        self.triggered.is_some() && !asks_for_saved
    }

    /// Returns whether an update is due that needs no manual trigger.
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
        // Most resources of a large project are updated once, so no capacity is reserved for more.
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
