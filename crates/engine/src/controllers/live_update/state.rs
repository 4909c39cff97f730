//! How far each container is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lilt_api::ObjectKey;
use lilt_model::cluster::PodRef;
use lilt_model::files::ChangedPath;
use lilt_model::timeline::{Stage, StageKind};
use lilt_model::{ContainerId, Failure, Timestamp};
use serde::Serialize;

use super::object::ObjectLiveUpdate;
use crate::cause::Cause;
use crate::event::SyncFault;

/// The live updates of API objects. Those of resources are kept with their images.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LiveUpdates {
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(super) objects: BTreeMap<ObjectKey, Box<ObjectLiveUpdate>>,
}

/// Running containers that take changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct SyncContainers(pub(super) BTreeMap<ContainerId, SyncContainer>);

/// A running container.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SyncContainer {
    pub(super) pod: PodRef,
    /// Its name in the pod.
    pub(super) name: String,
    /// It runs under lilt's agent.
    pub(super) agent: bool,
    /// It has all changes up to this number.
    has: u64,
    /// Changes up to this number were tried. If it lacks those alone, that starts nothing.
    tried: u64,
    initial_sync: InitialSync,
    /// When the newest file that was copied into it was saved.
    pub(super) synced: Option<Timestamp>,
    /// Why its last job failed; none if it succeeded.
    pub(super) fault: Option<ContainerFault>,
    pub(super) job: Option<ContainerJob>,
    /// The last job that was given up before it was answered; 0: none was.
    pub(super) given_up: u64,
}

/// Whether a container must get all synced files first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum InitialSync {
    /// It has them, or does not need them.
    Done,
    Due,
    /// Tried without success: that alone starts nothing.
    Tried,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) enum ContainerFault {
    /// A `run` step failed.
    Step(String),
    /// Files could not be copied.
    Transport { failure: Failure, since: Timestamp },
}

/// What a container is being given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ContainerJob {
    /// The number of the update that it is a part of, or its own.
    pub(super) run: u64,
    /// It has all changes up to this number afterwards.
    pub(super) up_to: u64,
    pub(super) paths: Vec<PathBuf>,
    /// All synced files, changed or not.
    pub(super) everything: bool,
    /// Set for one container of an update: its task logs the cause and reports the stages.
    pub(super) cause: Option<Cause>,
    pub(super) started: Timestamp,
    /// What its task has reported, for jobs of objects.
    pub(super) stages: Vec<Stage>,
}

impl ContainerJob {
    /// Returns the unreachable dependency that it waits for, in words.
    pub(super) fn waits_for(&self) -> Option<&str> {
        let last = self.stages.last().filter(|stage| stage.stage == StageKind::Wait && stage.end.is_none());
        last.map(|stage| stage.detail.as_str())
    }
}

impl SyncContainers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ContainerId, &SyncContainer)> {
        self.0.iter()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &SyncContainer> {
        self.0.values()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut SyncContainer> {
        self.0.values_mut()
    }
}

impl SyncContainer {
    /// Returns a container that has all changes up to `has`.
    pub(super) fn new(pod: PodRef, name: &str, agent: bool, has: u64, initial_sync: bool) -> Self {
        Self {
            pod,
            name: name.to_owned(),
            agent,
            has,
            tried: has,
            initial_sync: if initial_sync { InitialSync::Due } else { InitialSync::Done },
            synced: None,
            fault: None,
            job: None,
            given_up: 0,
        }
    }

    pub(crate) fn pod(&self) -> &PodRef {
        &self.pod
    }

    /// Whether it runs under lilt's agent.
    pub(crate) fn has_agent(&self) -> bool {
        self.agent
    }

    /// Returns the number up to which it has all changes.
    pub(crate) fn has(&self) -> u64 {
        self.has
    }

    /// Returns the number up to which it has all changes, or was to get them.
    pub(crate) fn has_or_tried(&self) -> u64 {
        self.has.max(self.tried)
    }

    /// Whether it is to get all synced files, and that was not tried yet.
    pub(crate) fn awaits_initial_sync(&self) -> bool {
        self.initial_sync == InitialSync::Due
    }

    /// Records that it has all changes up to this number.
    pub(crate) fn record_has(&mut self, number: u64) {
        self.has = self.has.max(number);
    }

    /// Records that an update of everything up to this number failed.
    pub(crate) fn record_tried(&mut self, number: u64) {
        self.tried = number;
    }

    /// Returns the message of the `run` step that failed last, unless a job has succeeded since.
    pub(crate) fn step_error(&self) -> Option<&str> {
        match &self.fault {
            Some(ContainerFault::Step(message)) => Some(message),
            Some(ContainerFault::Transport { .. }) | None => None,
        }
    }

    /// Pod and name, for people.
    pub(super) fn display_name(&self) -> String {
        format!("{}/{}", self.pod.name, self.name)
    }

    /// Returns the job that brings it all changes up to a number, unless it lacks nothing.
    pub(super) fn job_for<'c>(
        &self,
        changes: impl Iterator<Item = (&'c ChangedPath, u64)>,
        up_to: u64,
    ) -> Option<ContainerJob> {
        let lacking = changes.filter(|(_, number)| *number > self.has && *number <= up_to);
        let paths: Vec<PathBuf> = lacking.map(|(path, _)| path.to_path_buf()).collect();
        let everything = self.initial_sync != InitialSync::Done;
        let job = ContainerJob {
            run: 0,
            up_to,
            paths,
            everything,
            cause: None,
            started: Timestamp::ZERO,
            stages: Vec::new(),
        };
        (everything || !job.paths.is_empty()).then_some(job)
    }

    /// Records how its job ended. Returns the job; none if it has another one, or none.
    ///
    /// `saved` is when the newest of its files was saved.
    pub(super) fn finish(
        &mut self,
        run: u64,
        outcome: &Result<(), SyncFault>,
        saved: impl FnOnce(&ContainerJob) -> Option<Timestamp>,
        now: Timestamp,
    ) -> Option<ContainerJob> {
        let job = self.job.take_if(|job| job.run == run)?;
        self.tried = job.up_to;
        if job.everything {
            self.initial_sync = if outcome.is_ok() { InitialSync::Done } else { InitialSync::Tried };
        }
        if outcome.is_ok() {
            self.has = job.up_to;
            let saved = if job.everything { Some(now) } else { saved(&job) };
            self.synced = saved.max(self.synced);
        }
        self.fault = match (outcome, &self.fault) {
            // The pod reports that its container is gone.
            (Ok(()) | Err(SyncFault::Gone), _) => None,
            (Err(SyncFault::Step(failure)), _) => Some(ContainerFault::Step(failure.to_string())),
            (Err(SyncFault::Transport(failure) | SyncFault::Closed(failure)), before) => {
                let since = match before {
                    Some(ContainerFault::Transport { since, .. }) => *since,
                    Some(ContainerFault::Step(_)) | None => now,
                };
                Some(ContainerFault::Transport { failure: failure.clone(), since })
            }
        };
        Some(job)
    }

    /// Gives its job up: whoever runs it may never answer.
    pub(super) fn give_up(&mut self) {
        if let Some(job) = self.job.take() {
            self.given_up = job.run;
        }
    }

    /// Forgets what it was given: it is to be updated by another specification from now on.
    pub(super) fn reset(&mut self, initial_sync: bool) {
        self.give_up();
        let Self { pod, name, agent, given_up, .. } = &*self;
        *self = Self { given_up: *given_up, ..Self::new(pod.clone(), name, *agent, 0, initial_sync) };
    }

    /// Makes what it lacks because files could not be copied count as not tried.
    pub(super) fn retry(&mut self) {
        if matches!(self.fault, Some(ContainerFault::Transport { .. })) {
            self.tried = self.has;
            if self.initial_sync == InitialSync::Tried {
                self.initial_sync = InitialSync::Due;
            }
        }
    }
}
