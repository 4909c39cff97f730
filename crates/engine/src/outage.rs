//! Updates that failed because something did not answer: a Docker engine, a registry, an API server. They begin again when it
//! does, without being asked.

use std::time::Duration;

use lilt_api::ObjectKey;
use lilt_model::log::Level;
use lilt_model::{ClusterName, Failure, ResourceName, Timestamp, Unreachable};
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::controllers::live_update;
use crate::hold::Hold;
use crate::state::{Mode, ResourceState, RunningUpdate, State};

/// For so long after the first attempt began, `ci` tries again; then it wants to know.
const CI_LIMIT: Duration = Duration::from_secs(30);

/// How long a registry is probed before a push is tried anyway.
const REGISTRY_PROBE_LIMIT: Duration = Duration::from_secs(600);

/// What does not answer, and to whom: each cluster has its own engine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Outage {
    pub cluster: ClusterName,
    pub unreachable: Unreachable,
}

/// Somebody waits for its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OutageState {
    pub(crate) id: u64,
    /// How many times in a row it seemed to be over.
    pub(crate) attempts: u32,
    /// Somebody asked to probe without the first pause.
    pub(crate) immediate: bool,
    pub(crate) since: Timestamp,
    /// Of the update that was the first to fail because of it.
    pub(crate) failure: Failure,
}

/// An update that begins again when an outage is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PendingRetry {
    pub(crate) cause: Cause,
    awaited: AwaitedOutage,
}

/// What somebody waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AwaitedOutage {
    outage: Outage,
    message: String,
    /// When the first attempt began.
    since: Timestamp,
    /// How many attempts in a row failed because of it, besides the first.
    attempts: u32,
}

impl PendingRetry {
    /// Why it does not begin yet.
    pub(crate) fn hold(&self, state: &State) -> Option<Hold> {
        let AwaitedOutage { outage, message, .. } = &self.awaited;
        let hold = || Hold::Outage { unreachable: outage.unreachable.clone(), message: message.clone() };
        state.outages.contains_key(outage).then(hold)
    }
}

/// Records that an update ended, and whether it begins again by itself.
pub(crate) fn note(
    state: &mut State,
    name: &ResourceName,
    update: &RunningUpdate,
    failure: Option<&Failure>,
) {
    forget(state, name);
    let before = state.resources.get_mut(name).and_then(|resource| resource.again.take());
    let before = before.map(|before| before.awaited);
    let cluster = state.cluster_of(name);
    let awaited = failure.and_then(|failure| wait(state, cluster, name, before, update.started, failure));
    if let (Some(awaited), Some(resource)) = (awaited, state.resources.get_mut(name)) {
        resource.again = Some(Box::new(PendingRetry { cause: update.cause.clone(), awaited }));
        state.touch(name);
    }
}

/// Records why an attempt of an object failed that began at `started`: it is repeated when that is over.
///
/// `resource` is whose log says so.
pub(crate) fn note_object(
    state: &mut State,
    key: &ObjectKey,
    cluster: ClusterName,
    resource: &ResourceName,
    started: Timestamp,
    failure: &Failure,
) {
    let before = state.retries.remove(key);
    if let Some(before) = &before
        && state.outages.contains_key(&before.outage)
    {
        // Another part of the same attempt has failed before.
        state.retries.insert(key.clone(), before.clone());
        return;
    }
    if let Some(awaited) = wait(state, cluster, resource, before, started, failure) {
        state.retries.insert(key.clone(), awaited);
    }
}

/// Waits for the end of an outage, if that is why something failed.
fn wait(
    state: &mut State,
    cluster: ClusterName,
    resource: &ResourceName,
    before: Option<AwaitedOutage>,
    started: Timestamp,
    failure: &Failure,
) -> Option<AwaitedOutage> {
    let outage = known_outage(state, cluster, failure.unreachable()?.clone());
    let since = before.as_ref().map_or(started, |before| before.since);
    if state.options.mode == Mode::Ci && state.now.since(since) >= CI_LIMIT {
        return None;
    }
    let attempts = before.map_or(0, |before| before.attempts.saturating_add(1));
    let id = state.next_sequence();
    let condition = outage.unreachable.return_condition();
    state.note(resource, Level::Info, format!("It begins again by itself when {condition}"));
    let new = || OutageState { id, attempts, immediate: false, since, failure: failure.clone() };
    state.outages.entry(outage.clone()).or_insert_with(new);
    state.touch_session();
    Some(AwaitedOutage { outage, message: failure.message.clone(), since, attempts })
}

/// Returns how long an outage is probed before an update is tried anyway.
///
/// `ci` reports failures soon. A probe of a registry may fail where a push would not.
pub(crate) fn probe_limit(state: &State, outage: &Outage) -> Option<Duration> {
    match outage.unreachable {
        _ if state.is_unattended() => Some(CI_LIMIT),
        Unreachable::Registry(_) => Some(REGISTRY_PROBE_LIMIT),
        Unreachable::DockerEngine | Unreachable::Cluster | Unreachable::Machine => None,
    }
}

/// Returns the known outage of the same dependency, or else a new one: all images of a registry wait for one answer.
fn known_outage(state: &State, cluster: ClusterName, unreachable: Unreachable) -> Outage {
    let is_same = |it: &&Outage| it.cluster == cluster && it.unreachable.is_same(&unreachable);
    let known = state.outages.keys().find(is_same).cloned();
    known.unwrap_or(Outage { cluster, unreachable })
}

/// A resource waits for nothing any more.
pub(crate) fn forget(state: &mut State, name: &ResourceName) {
    let again = state.resources.get(name).and_then(|resource| resource.again.as_ref());
    let Some(outage) = again.map(|again| again.awaited.outage.clone()) else { return };
    let awaits = |(other, resource): (&ResourceName, &ResourceState)| {
        other != name && resource.again.as_ref().is_some_and(|it| it.awaited.outage == outage)
    };
    let is_awaited =
        state.resources.iter().any(awaits) || state.retries.values().any(|it| it.outage == outage);
    drop_unless_awaited(state, &outage, is_awaited);
}

/// An object waits for nothing any more.
pub(crate) fn forget_object(state: &mut State, key: &ObjectKey) {
    let Some(AwaitedOutage { outage, .. }) = state.retries.remove(key) else { return };
    let awaits =
        |resource: &ResourceState| resource.again.as_ref().is_some_and(|it| it.awaited.outage == outage);
    let is_awaited =
        state.resources.values().any(awaits) || state.retries.values().any(|it| it.outage == outage);
    drop_unless_awaited(state, &outage, is_awaited);
}

fn drop_unless_awaited(state: &mut State, outage: &Outage, is_awaited: bool) {
    if !is_awaited && state.outages.remove(outage).is_some() {
        state.touch_session();
    }
}

/// The dependency responds, or it is time for an attempt.
pub(crate) fn over(state: &mut State, id: u64) {
    let found = state.outages.iter().find(|(_, awaited)| awaited.id == id).map(|(outage, _)| outage.clone());
    let Some(outage) = found else { return };
    state.outages.remove(&outage);
    // Also those that were about to begin when another one found it unreachable again.
    let waits =
        |resource: &&ResourceState| resource.again.as_ref().is_some_and(|it| it.awaited.outage == outage);
    let waiting = state.resources.values().filter(waits).map(|it| it.spec.name.clone());
    for name in waiting.collect::<Vec<_>>() {
        state.touch(&name);
    }
    let waiting = state.retries.iter().filter(|(_, awaited)| awaited.outage == outage);
    for key in waiting.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
        live_update::retry_object(state, &key);
    }
    state.touch_session();
}

/// Replaces the tasks that wait for outages to end with tasks that probe at once.
pub(crate) fn probe_now(state: &mut State) {
    for outage in state.outages.keys().cloned().collect::<Vec<_>>() {
        let id = state.next_sequence();
        if let Some(awaited) = state.outages.get_mut(&outage) {
            (awaited.id, awaited.attempts, awaited.immediate) = (id, 0, true);
        }
        state.touch_session();
    }
}

/// A runner broke: as if it were over.
pub(crate) fn broke(state: &mut State, outage: &Outage) {
    if let Some(id) = state.outages.get(outage).map(|awaited| awaited.id) {
        over(state, id);
    }
}

/// Whether a resource wants to do again what it was kept from.
pub(crate) fn begins_again(resource: &ResourceState, cause: &Cause) -> bool {
    resource.again.as_ref().is_some_and(|again| again.cause == *cause)
}
