//! What readers see of forwards.

use lilt_api::fields::Fields;
use lilt_model::kubernetes::Forward;
use serde_json::{Value, json};

use super::reconcile::slots;
use crate::event::ForwardState;
use crate::owner::Owner;
use crate::state::State;

/// The `forwardStatuses` of a `PortForward`: one for each of these forwards, which may name the container port that was
/// chosen.
///
/// `trouble` is why none of them can work.
pub(crate) fn status(state: &State, owner: &Owner, forwards: Vec<Forward>, trouble: Option<&str>) -> Value {
    let one = |(slot, asked): (_, Forward)| {
        let run = state.port_forwards.get(owner, &slot);
        let error = trouble.map(str::to_owned).or_else(|| match run.map(|run| &run.state) {
            Some(ForwardState::Failed(failure)) => Some(failure.to_string()),
            _ => None,
        });
        let listening = run.filter(|run| run.state == ForwardState::Listening);
        let host = if asked.host.is_empty() { "localhost" } else { &asked.host };
        // The port that was found where none was asked for.
        let local_port = run.map(|run| run.local_port).filter(|_| asked.local_port == 0);
        let mut status = Fields::new()
            .put("localPort", local_port.unwrap_or(asked.local_port))
            .put("containerPort", asked.container_port)
            .put("addresses", listening.map(|_| host).into_iter().collect::<Vec<_>>())
            .put_unless_empty("error", error.unwrap_or_default())
            .value();
        if let Some(run) = listening {
            status["startedAt"] = json!(run.since);
        }
        status
    };
    slots(owner, forwards).map(one).collect()
}

/// Why forwards of an owner do not work.
pub(crate) fn failures(state: &State, owner: &Owner) -> Vec<String> {
    let runs = state.port_forwards.runs.get(owner).into_iter().flat_map(|runs| runs.values());
    runs.filter_map(|run| match &run.state {
        ForwardState::Failed(failure) => Some(failure.message.clone()),
        ForwardState::Listening => None,
    })
    .collect()
}
