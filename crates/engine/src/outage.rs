//! Retries updates that failed because a Docker engine, a registry or an API server was unreachable, once it
//! responds again.

use std::time::Duration;

use lilt_api::ObjectKey;
use lilt_model::log::Level;
use lilt_model::{ClusterName, Failure, ResourceName, Timestamp, Unreachable};
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::controllers::live_update;
use crate::hold::Hold;
use crate::state::{Mode, ResourceState, RunningUpdate, State};

/// `ci` retries for this long after the first attempt began, then fails.
const CI_LIMIT: Duration = Duration::from_secs(30);

/// A registry is probed for at most this long before a push is attempted anyway.
const REGISTRY_PROBE_LIMIT: Duration = Duration::from_secs(600);

/// An unreachable dependency of a cluster: each cluster has its own engine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Outage {
    pub cluster: ClusterName,
    pub unreachable: Unreachable,
}

/// An outage that something waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OutageState {
    pub(crate) id: u64,
    /// The number of times in a row that it seemed to be over.
    pub(crate) attempts: u32,
    /// The user requested a probe without the first pause.
    pub(crate) immediate: bool,
    pub(crate) since: Timestamp,
    /// The failure of the first update that it affected.
    pub(crate) failure: Failure,
}

/// An update that is retried when an outage is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PendingRetry {
    pub(crate) cause: Cause,
    awaited: AwaitedOutage,
}

/// The outage that an update waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AwaitedOutage {
    outage: Outage,
    message: String,
    /// The start of the first attempt.
    since: Timestamp,
    /// The number of retries in a row that failed because of it.
    attempts: u32,
}

impl PendingRetry {
    /// Returns the hold of the retry while the outage lasts.
    pub(crate) fn hold(&self, state: &State) -> Option<Hold> {
        let AwaitedOutage { outage, message, .. } = &self.awaited;
        let hold = || Hold::Outage { unreachable: outage.unreachable.clone(), message: message.clone() };
        state.outages.contains_key(outage).then(hold)
    }
}

/// Records the end of an update, and its retry if an outage caused it to fail.
pub(crate) fn note(
    state: &mut State,
    name: &ResourceName,
    update: &RunningUpdate,
    failure: Option<&Failure>,
) {
    forget(state, name);
    let before = state.resources.get_mut(name).and_then(|resource| resource.pending_retry.take());
    let before = before.map(|before| before.awaited);
    let cluster = state.cluster_of(name);
    let awaited = failure.and_then(|failure| wait(state, cluster, name, before, update.started, failure));
    if let (Some(awaited), Some(resource)) = (awaited, state.resources.get_mut(name)) {
        resource.pending_retry = Some(Box::new(PendingRetry { cause: update.cause.clone(), awaited }));
        state.touch(name);
    }
}

/// Records the failure of an object's attempt that began at `started`. It is retried when the outage is over.
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
        // Another part of the same attempt failed already.
        state.retries.insert(key.clone(), before.clone());
        return;
    }
    if let Some(awaited) = wait(state, cluster, resource, before, started, failure) {
        state.retries.insert(key.clone(), awaited);
    }
}

/// Registers a retry if an outage caused the failure.
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

/// Removes the retry of a resource.
pub(crate) fn forget(state: &mut State, name: &ResourceName) {
    let pending_retry = state.resources.get(name).and_then(|resource| resource.pending_retry.as_ref());
    let Some(outage) = pending_retry.map(|pending_retry| pending_retry.awaited.outage.clone()) else {
        return;
    };
    let awaits = |(other, resource): (&ResourceName, &ResourceState)| {
        other != name && resource.pending_retry.as_ref().is_some_and(|it| it.awaited.outage == outage)
    };
    let is_awaited =
        state.resources.iter().any(awaits) || state.retries.values().any(|it| it.outage == outage);
    drop_unless_awaited(state, &outage, is_awaited);
}

/// Removes the retry of an object.
pub(crate) fn forget_object(state: &mut State, key: &ObjectKey) {
    let Some(AwaitedOutage { outage, .. }) = state.retries.remove(key) else { return };
    let awaits = |resource: &ResourceState| {
        resource.pending_retry.as_ref().is_some_and(|it| it.awaited.outage == outage)
    };
    let is_awaited =
        state.resources.values().any(awaits) || state.retries.values().any(|it| it.outage == outage);
    drop_unless_awaited(state, &outage, is_awaited);
}

fn drop_unless_awaited(state: &mut State, outage: &Outage, is_awaited: bool) {
    if !is_awaited && state.outages.remove(outage).is_some() {
        state.touch_session();
    }
}

/// Ends an outage: the dependency responds, or it is time for an attempt.
pub(crate) fn over(state: &mut State, id: u64) {
    let found = state.outages.iter().find(|(_, awaited)| awaited.id == id).map(|(outage, _)| outage.clone());
    let Some(outage) = found else { return };
    state.outages.remove(&outage);
    // Includes retries that were about to start when another one found the dependency unreachable again.
    let waits = |resource: &&ResourceState| {
        resource.pending_retry.as_ref().is_some_and(|it| it.awaited.outage == outage)
    };
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

/// Handles a bug in the runner as the end of the outage.
pub(crate) fn broke(state: &mut State, outage: &Outage) {
    if let Some(id) = state.outages.get(outage).map(|awaited| awaited.id) {
        over(state, id);
    }
}

/// Returns whether an update with this cause retries one that an outage made fail.
pub(crate) fn is_retry(resource: &ResourceState, cause: &Cause) -> bool {
    resource.pending_retry.as_ref().is_some_and(|pending_retry| pending_retry.cause == *cause)
}
