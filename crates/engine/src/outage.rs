//! Updates that failed because something did not answer: a Docker engine, a registry, an API server. They begin again when it
//! does, without being asked.

use std::time::Duration;

use lilt_model::log::Level;
use lilt_model::{ClusterName, Failure, ResourceName, Timestamp, Unreachable};
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::hold::Hold;
use crate::state::{Mode, ResourceState, RunningUpdate, State};

/// For so long after the first attempt began, `ci` tries again; then it wants to know.
const CI_LIMIT: Duration = Duration::from_secs(30);

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
    outage: Outage,
    message: String,
    since: Timestamp,
    attempts: u32,
}

impl PendingRetry {
    /// Why it does not begin yet.
    pub(crate) fn hold(&self, state: &State) -> Option<Hold> {
        let hold =
            || Hold::Outage { unreachable: self.outage.unreachable.clone(), message: self.message.clone() };
        state.outages.contains_key(&self.outage).then(hold)
    }
}

/// An update ended: whether it begins again by itself.
pub(crate) fn note(
    state: &mut State,
    name: &ResourceName,
    update: &RunningUpdate,
    failure: Option<&Failure>,
) {
    forget(state, name);
    let (now, mode) = (state.now, state.options.mode);
    let failed =
        failure.and_then(|failure| Some((failure, outage_of(state, name, failure.unreachable()?.clone()))));
    let Some(resource) = state.resources.get_mut(name) else { return };
    let before = resource.again.take();
    let Some((failure, outage)) = failed else { return };
    let since = before.as_ref().map_or(update.started, |before| before.since);
    if mode == Mode::Ci && now.since(since) >= CI_LIMIT {
        return;
    }
    let again = PendingRetry {
        cause: update.cause.clone(),
        outage,
        message: failure.message.clone(),
        since,
        attempts: before.map_or(0, |before| before.attempts.saturating_add(1)),
    };
    await_end(state, name, again, failure);
}

/// Returns the known outage of the same dependency, or else a new one: all images of a registry wait for one answer.
fn outage_of(state: &State, name: &ResourceName, unreachable: Unreachable) -> Outage {
    let cluster = state.cluster_of(name);
    let is_same = |it: &&Outage| it.cluster == cluster && it.unreachable.is_same(&unreachable);
    let known = state.outages.keys().find(is_same).cloned();
    known.unwrap_or(Outage { cluster, unreachable })
}

fn await_end(state: &mut State, name: &ResourceName, again: PendingRetry, failure: &Failure) {
    let id = state.next_sequence();
    let awaited = || OutageState {
        id,
        attempts: again.attempts,
        immediate: false,
        since: again.since,
        failure: failure.clone(),
    };
    state.outages.entry(again.outage.clone()).or_insert_with(awaited);
    let condition = again.outage.unreachable.return_condition();
    state.note(name, Level::Info, format!("It begins again by itself when {condition}"));
    if let Some(resource) = state.resources.get_mut(name) {
        resource.again = Some(Box::new(again));
    }
    state.touch_session();
    state.touch(name);
}

/// A resource waits for nothing any more. What nobody waits for is not asked for.
pub(crate) fn forget(state: &mut State, name: &ResourceName) {
    let again = state.resources.get(name).and_then(|resource| resource.again.as_ref());
    let Some(outage) = again.map(|again| again.outage.clone()) else { return };
    let waits = |resource: &ResourceState| resource.again.as_ref().is_some_and(|it| it.outage == outage);
    let awaited = state.resources.iter().any(|(other, resource)| other != name && waits(resource));
    if !awaited && state.outages.remove(&outage).is_some() {
        state.touch_session();
    }
}

/// It answers, or it is time to see for ourselves.
pub(crate) fn over(state: &mut State, id: u64) {
    let found = state.outages.iter().find(|(_, awaited)| awaited.id == id).map(|(outage, _)| outage.clone());
    let Some(outage) = found else { return };
    state.outages.remove(&outage);
    // Also those that were about to begin when another one found it away again.
    let waits = |resource: &ResourceState| resource.again.as_ref().is_some_and(|it| it.outage == outage);
    let waiting = state.resources.values().filter(|it| waits(it)).map(|it| it.spec.name.clone());
    for name in waiting.collect::<Vec<_>>() {
        state.touch(&name);
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
