//! Local resources whose commands write inputs of images, such as a compiler that fills the folder of a Dockerfile.
//!
//! No Tiltfile declares them. They are detected from changes that are reported while one of them runs and
//! nothing else could have written the files. They only matter for the first build of a resource: it waits
//! for them, and is not cancelled for what they write.

use std::time::Duration;

use lilt_model::{ResourceName, Timestamp};

use crate::controllers::command::CommandPhase;
use crate::owner::Owner;
use crate::state::{BodyState, ResourceState, State};

/// The last writes of a command are reported within this time after its end.
const REPORTED_WITHIN: Duration = Duration::from_secs(2);
/// The same for a command that is not known to write inputs of the image: most changes are reported at once.
const USUALLY_REPORTED_WITHIN: Duration = Duration::from_millis(300);
/// A server writes its first output within this time, such as a compiler that goes on to watch its sources.
const SERVER_START: Duration = Duration::from_secs(10);
/// A first build waits for this long after the last change, because a command may run indefinitely.
const QUIET: Duration = Duration::from_secs(10);
/// A first build waits for at most this long after the first change, because a command may write
/// indefinitely.
const LONGEST: Duration = Duration::from_secs(60);
/// The resolution of file times.
const GRAIN: Duration = Duration::from_millis(20);

/// Records that a local resource's command has ended.
pub(crate) fn command_ended(state: &mut State, name: &ResourceName, started: Timestamp) {
    let now = state.now;
    state.commands_ended.retain(|_, (_, ended)| now.since(*ended) <= REPORTED_WITHIN);
    state.commands_ended.insert(name.clone(), (started, now));
}

/// Returns whether a first build that starts now may begin before the writes of a command that has just ended
/// are reported.
pub(super) fn follows_command(state: &State, resource: &ResourceState) -> bool {
    let Some(kubernetes) = resource.kubernetes() else { return false };
    state.commands_ended.iter().any(|(name, (_, ended))| {
        let since = state.now.since(*ended);
        if kubernetes.producers.contains(name) || resource.spec.resource_deps.contains(name) {
            return since <= REPORTED_WITHIN;
        }
        kubernetes.producers.is_empty() && since <= USUALLY_REPORTED_WITHIN
    })
}

/// Returns whether a command of the session may have written inputs of this resource's images just now.
/// Records the command if no other could have written them.
pub(super) fn note_change(state: &mut State, name: &ResourceName, written: Option<Timestamp>) -> bool {
    let writers = possible_writers(state, name, written);
    let now = state.now;
    if let [writer] = &writers[..]
        && let Some(kubernetes) = state.resources.get_mut(name).and_then(ResourceState::kubernetes_mut)
    {
        kubernetes.producers.insert(writer.clone());
        let since = *kubernetes.waits_since.get_or_insert(now);
        kubernetes.waits_until = Some(now.plus(QUIET).min(since.plus(LONGEST))).filter(|until| *until > now);
        state.produced.entry(writer.clone()).or_default().insert(name.clone());
    }
    !writers.is_empty()
}

fn possible_writers(state: &State, name: &ResourceName, written: Option<Timestamp>) -> Vec<ResourceName> {
    let is_within = |began: Timestamp, ended: Timestamp| {
        written.is_none_or(|at| at.plus(GRAIN) >= began && at <= ended.plus(GRAIN))
    };
    let known = state.resources.get(name).and_then(ResourceState::kubernetes).map(|it| &it.producers);
    let may_write = |(name, resource): (&ResourceName, &ResourceState)| {
        let BodyState::Local(_) = &resource.body else { return false };
        let updates = resource.update.as_ref().is_some_and(|update| is_within(update.started, state.now));
        let ended = state.commands_ended.get(name).is_some_and(|(began, ended)| {
            state.now.since(*ended) <= REPORTED_WITHIN && is_within(*began, *ended)
        });
        let serves = state.commands.get(&Owner::from(name)).is_some_and(|run| match run.phase() {
            CommandPhase::Starting => true,
            CommandPhase::Running { since, .. } => {
                state.now.since(*since) <= SERVER_START || known.is_some_and(|known| known.contains(name))
            }
            CommandPhase::Ended { .. } => false,
        });
        updates || ended || serves
    };
    let writers = state.resources.iter().filter(|(name, resource)| may_write((*name, *resource)));
    writers.map(|(name, _)| name.clone()).collect()
}

/// Returns the resources whose first build may wait for the command of this one.
pub(super) fn first_builds_after(state: &State, name: &ResourceName) -> Vec<ResourceName> {
    let is_first =
        |it: &&ResourceName| state.resources.get(*it).is_some_and(|resource| !resource.started_once);
    state.produced.get(name).into_iter().flatten().filter(is_first).cloned().collect()
}

/// Returns the running command that a first build waits for.
pub(super) fn running_producer<'a>(state: &State, resource: &'a ResourceState) -> Option<&'a ResourceName> {
    let kubernetes = resource.kubernetes().filter(|it| it.waits_until.is_some())?;
    let runs = |name: &&ResourceName| state.resources.get(*name).is_some_and(|it| it.update.is_some());
    kubernetes.producers.iter().find(runs)
}
