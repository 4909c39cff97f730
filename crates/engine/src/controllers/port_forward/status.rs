//! The status of port forwards.

use lilt_api::ForwardStatus;
use lilt_model::kubernetes::Forward;

use super::reconcile::slots;
use crate::event::ForwardState;
use crate::owner::Owner;
use crate::state::State;

/// Returns the `forwardStatuses` of a `PortForward`, one for each of these forwards. A forward may contain
/// the chosen container port.
///
/// `trouble`: the reason why none of them can work.
pub(crate) fn statuses(
    state: &State,
    owner: &Owner,
    forwards: Vec<Forward>,
    trouble: Option<&str>,
) -> Vec<ForwardStatus> {
    let one = |(slot, asked): (_, Forward)| {
        let run = state.port_forwards.get(owner, &slot);
        let error = trouble.map(str::to_owned).or_else(|| match run.map(|run| &run.state) {
            Some(ForwardState::Failed(failure)) => Some(failure.to_string()),
            _ => None,
        });
        let listening = run.filter(|run| run.state == ForwardState::Listening);
        let host = if asked.host.is_empty() { "localhost" } else { asked.host.as_str() };
        // The free port that was chosen if none was requested.
        let local_port = run.map(|run| run.local_port).filter(|_| asked.local_port == 0);
        ForwardStatus {
            local_port: local_port.unwrap_or(asked.local_port).into(),
            container_port: asked.container_port.into(),
            addresses: listening.map(|_| host.to_owned()).into_iter().collect(),
            started_at: listening.map(|run| run.since),
            error: error.unwrap_or_default(),
        }
    };
    slots(owner, forwards).map(one).collect()
}

/// Returns the failures of an owner's forwards.
pub(crate) fn failures(state: &State, owner: &Owner) -> Vec<String> {
    let runs = state.port_forwards.runs.get(owner).into_iter().flat_map(|runs| runs.values());
    runs.filter_map(|run| match &run.state {
        ForwardState::Failed(failure) => Some(failure.message.clone()),
        ForwardState::Listening => None,
    })
    .collect()
}
