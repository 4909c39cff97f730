//! Publishes the stages of updates with their times. A record is published again whenever it changes.

use lilt_model::cluster::{ContainerState, Pod};
use lilt_model::log::Level;
use lilt_model::secret::Redactor;
pub(crate) use lilt_model::timeline::Outcome;
use lilt_model::timeline::{Stage, StageKind, UpdateRecord};
use lilt_model::{Failure, ResourceName, Timestamp};

use crate::cause::Cause;
use crate::notices::Notices;
use crate::runtime::{current_pods, newest_pod};
use crate::state::{Load, ResourceState, RunningUpdate, State, UpdateKind};
use crate::task::UpdateJob;

/// The maximum length of a stage's detail, in characters.
const LONGEST_DETAIL: usize = 120;

/// Publishes the record of an update that has started.
pub(crate) fn record_start(state: &mut State, name: &ResourceName) {
    let now = state.now;
    let redactor = state.redactor.clone();
    let Some(resource) = state.resources.get_mut(name) else { return };
    let saved = resource.saved.take();
    let Some(update) = resource.update.as_mut() else { return };
    update.stages.extend(saved.and_then(|saved| detected(update, saved)));
    let first = match &update.kind {
        UpdateKind::Live(run) => {
            let containers = run.pending_count();
            let detail = if containers > 1 { format!("to {containers} containers") } else { String::new() };
            Some(Stage::new(StageKind::Send, detail, now))
        }
        UpdateKind::Job(job) => match &**job {
            UpdateJob::Local(local) => {
                let command = local.command.as_ref();
                command.map(|command| Stage::new(StageKind::Run, shown(&redactor, &command.display()), now))
            }
            UpdateJob::Deploy(_) | UpdateJob::Refused(_) => None,
        },
    };
    update.stages.extend(first);
    let record = running_record(update);
    state.publish_record(name, record);
}

/// Returns the stage from the save of a file to its detection.
///
/// None for a save from before the update was requested: nobody waited in between, for example for a resource
/// with manual trigger mode.
fn detected(update: &RunningUpdate, (at, noticed): (Timestamp, Timestamp)) -> Option<Stage> {
    let wanted = update.waited_since.map_or(update.started, |since| since.min(update.started));
    let stage = Stage { end: Some(noticed), ..Stage::new(StageKind::Detect, "", at) };
    // One turn handles events that arrive within some milliseconds.
    (noticed.plus(SECOND) >= wanted).then_some(stage)
}

/// Redacts a detail, then shortens it: a part of a secret would not be recognized.
pub(crate) fn shown(redactor: &Redactor, detail: &str) -> String {
    let detail = redactor.redact(detail);
    match detail.char_indices().nth(LONGEST_DETAIL) {
        Some((end, _)) => format!("{}…", &detail[..end]),
        None => detail.into_owned(),
    }
}

pub(crate) fn stage_began(state: &mut State, name: &ResourceName, id: u64, kind: StageKind, detail: &str) {
    let now = state.now;
    let detail = shown(&state.redactor, detail);
    with_running(state, name, id, |update| {
        end_open_stages(&mut update.stages, now);
        update.stages.push(Stage::new(kind, detail, now));
    });
}

pub(crate) fn stage_ended(state: &mut State, name: &ResourceName, id: u64) {
    let now = state.now;
    with_running(state, name, id, |update| end_open_stages(&mut update.stages, now));
}

fn with_running(state: &mut State, name: &ResourceName, id: u64, change: impl FnOnce(&mut RunningUpdate)) {
    let update = state.resources.get_mut(name).and_then(|resource| resource.update.as_mut());
    let Some(update) = update.filter(|update| update.id == id) else { return };
    change(update);
    let record = running_record(update);
    state.publish_record(name, record);
    // Dependents show its progress.
    state.touch(name);
}

pub(crate) fn end_open_stages(stages: &mut [Stage], now: Timestamp) {
    for stage in stages.iter_mut().filter(|stage| stage.end.is_none()) {
        stage.end = Some(now);
    }
}

fn running_record(update: &RunningUpdate) -> UpdateRecord {
    let waited = update.waited_since.filter(|since| *since < update.started);
    let wait =
        waited.map(|since| Stage { end: Some(update.started), ..Stage::new(StageKind::Wait, "", since) });
    let (mut before, own): (Vec<Stage>, Vec<Stage>) =
        update.stages.iter().cloned().partition(|stage| stage.stage == StageKind::Detect);
    before.extend(wait);
    // The newest save may be from the time when the update waited.
    before.sort_by_key(|stage| stage.begin);
    let stages: Vec<Stage> = before.into_iter().chain(own).collect();
    let begin = stages.first().map_or(update.started, |first| first.begin.min(update.started));
    UpdateRecord {
        update: update.id,
        cause: update.cause.headline(),
        begin,
        end: None,
        outcome: Outcome::Running,
        error: None,
        stages,
    }
}

/// Records that a container of a live update is gone. The container that replaces it gets the missing
/// changes.
pub(crate) fn record_missed_container(state: &mut State, name: &ResourceName, place: String) {
    let now = state.now;
    let Some(update) = state.resources.get_mut(name).and_then(|resource| resource.update.as_mut()) else {
        return;
    };
    update.stages.push(Stage { end: Some(now), ..Stage::new(StageKind::Missed, place, now) });
    let record = running_record(update);
    state.publish_record(name, record);
}

/// Publishes the record of an update that has ended. The rollout that follows a deployment is added as it
/// happens.
pub(crate) fn record_end(
    state: &mut State,
    name: &ResourceName,
    update: &RunningUpdate,
    outcome: Outcome,
    failure: Option<&Failure>,
) {
    let now = state.now;
    let mut record = running_record(update);
    end_open_stages(&mut record.stages, now);
    record.end = Some(now);
    record.outcome = outcome;
    record.error = failure.map(|failure| failure.message.clone());
    let deployed = outcome == Outcome::Ok && record.stages.iter().any(Stage::is_deployment);
    if let Some(resource) = state.resources.get_mut(name) {
        resource.rollout = deployed.then(|| Box::new(record.clone()));
    }
    state.publish_record(name, record);
}

/// Publishes a job of an object that belongs to a resource. The tuple is its number, its cause and its start.
pub(crate) fn record_object_job(
    state: &mut State,
    resource: &ResourceName,
    (update, cause, begin): (u64, &Cause, Timestamp),
    stages: &[Stage],
    outcome: Outcome,
    failure: Option<&Failure>,
) {
    let record = UpdateRecord {
        update,
        cause: cause.headline(),
        begin,
        end: (outcome != Outcome::Running).then_some(state.now),
        outcome,
        error: failure.map(|failure| failure.message.clone()),
        stages: stages.to_vec(),
    };
    state.publish_record(resource, record);
}

pub(crate) fn record_load(
    state: &mut State,
    name: &ResourceName,
    load: &Load,
    end: Option<&Option<Failure>>,
) {
    let finished = end.map(|_| state.now);
    let failure = end.and_then(Option::as_ref);
    let record = UpdateRecord {
        update: load.id,
        cause: load.cause.headline(),
        begin: load.started,
        end: finished,
        outcome: match (finished, failure) {
            (None, _) => Outcome::Running,
            (Some(_), None) => Outcome::Ok,
            (Some(_), Some(_)) => Outcome::Failed,
        },
        error: failure.map(|failure| failure.message.clone()),
        stages: vec![Stage { end: finished, ..Stage::new(StageKind::Load, "", load.started) }],
    };
    state.publish_record(name, record);
}

/// Adds the startup of the newest pod of the last deployment to the record of that deployment.
pub(crate) fn follow_rollout(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get(name) else { return };
    let (Some(record), Some(kubernetes)) = (&resource.rollout, resource.kubernetes()) else { return };
    let deployed = record.end.unwrap_or(record.begin);
    // Pods from before the deployment are no part of its rollout.
    let pods =
        current_pods(state, kubernetes).filter(|pod| pod.created.plus(SECOND) >= deployed_from(record));
    let Some(pod) = newest_pod(pods) else { return };
    let notices = state.pods.notices.get(&pod.reference()).cloned().unwrap_or_default();
    let mut stages = rollout(pod, &notices);
    let (own, known): (Vec<&Stage>, Vec<&Stage>) =
        record.stages.iter().partition(|stage| stage.stage < StageKind::Schedule);
    let deploy = record.stages.iter().find(|stage| stage.is_deployment());
    // As long as the pod is unknown, assume that it was created as soon as the objects were applied.
    let created =
        deploy.and_then(|stage| stage.end).map(|end| Stage { begin: end, end: None, ..stages[0].clone() });
    let known: Vec<&Stage> = known.into_iter().chain(&created).collect();
    refine(&mut stages, &known, deployed_from(record), state.now);
    let all: Vec<Stage> = own.into_iter().cloned().chain(stages).collect();
    if all == record.stages {
        return;
    }
    let complete = all.iter().any(|stage| stage.stage == StageKind::Ready && stage.end.is_some());
    let end = all.iter().filter_map(|stage| stage.end).max().unwrap_or(deployed).max(deployed);
    let record = UpdateRecord { stages: all, end: Some(end), ..*record.clone() };
    if let Some(resource) = state.resources.get_mut(name) {
        resource.rollout = (!complete).then(|| Box::new(record.clone()));
    }
    state.publish_record(name, record);
}

/// The resolution of timestamps in Kubernetes.
const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

fn deployed_from(record: &UpdateRecord) -> Timestamp {
    let deploy = record.stages.iter().find(|stage| stage.is_deployment());
    deploy.map_or(record.begin, |stage| stage.begin)
}

/// Refines timestamps of the cluster, which have a resolution of one second. A time that lilt observed within
/// the same second is more precise. No stage begins before the previous one has ended.
fn refine(stages: &mut [Stage], known: &[&Stage], deployed: Timestamp, now: Timestamp) {
    let moment = |reported: Timestamp, known: Option<Timestamp>| {
        let is_in = |time: &Timestamp| *time >= reported && *time < reported.plus(SECOND);
        match reported.truncated() == reported {
            true => known.filter(is_in).unwrap_or(if is_in(&now) { now } else { reported }),
            false => reported,
        }
    };
    let mut earliest = deployed;
    for stage in stages {
        let known = known.iter().find(|known| (known.stage, &known.detail) == (stage.stage, &stage.detail));
        stage.begin = moment(stage.begin, known.map(|known| known.begin)).max(earliest);
        stage.end = stage.end.map(|end| moment(end, known.and_then(|known| known.end)).max(stage.begin));
        earliest = stage.end.unwrap_or(stage.begin);
    }
}

fn rollout(pod: &Pod, notices: &Notices) -> Vec<Stage> {
    let met = |kind: &str| pod.conditions.iter().find(|it| it.kind == kind && it.met).map(|it| it.since);
    let stage = |kind, detail: &str, begin, end| Stage { end, ..Stage::new(kind, detail, begin) };
    let scheduled = met("PodScheduled");
    let mut stages = vec![stage(StageKind::Schedule, &pod.name, pod.created, scheduled)];
    let Some(scheduled) = scheduled else { return stages };
    let at = |reason: &str| notices.iter().find(|notice| notice.reason == reason).map(|notice| notice.at);
    if let Some(begin) = at("Pulling") {
        stages.push(stage(StageKind::Pull, "", begin, at("Pulled")));
    }
    let running = pod
        .containers
        .iter()
        .filter(|container| !container.init)
        .map(|container| match &container.state {
            ContainerState::Running { since } => Some(*since),
            ContainerState::Terminated { finished, .. } => Some(*finished),
            ContainerState::Waiting { .. } => None,
        })
        .collect::<Option<Vec<Timestamp>>>()
        .and_then(|times| times.into_iter().max());
    let begin = at("Pulled").unwrap_or(scheduled).min(running.unwrap_or(Timestamp(i64::MAX)));
    stages.push(stage(StageKind::Start, "", begin, running));
    if let Some(running) = running {
        let ended = pod.phase == lilt_model::cluster::PodPhase::Succeeded;
        let ready = met("Ready").or(ended.then_some(running)).map(|ready| ready.max(running));
        stages.push(stage(StageKind::Ready, "", running, ready));
    }
    stages
}

/// Writes the hold of a resource to its log as a warning.
pub(crate) fn note_hold(state: &mut State, name: &ResourceName) {
    let words = state.resources.get(name).and_then(|it| it.hold.as_ref()).map(crate::Hold::words);
    if let Some(words) = words {
        state.note(name, Level::Warn, format!("WARNING: {words}"));
    }
}

impl ResourceState {
    /// Returns when the last update ended.
    pub(crate) fn last_end(&self) -> Option<Timestamp> {
        self.last().map(|last| last.finished)
    }
}
