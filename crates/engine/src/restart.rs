//! Servers that end are started again, each time later, if the session is to do so.

use std::time::Duration;

use lilt_model::{ResourceName, Timestamp};

use crate::state::{BodyState, Mode, ResourceState, Serve, ServeState, State};

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// When the server of a resource is to be started again.
pub(crate) fn next(state: &State, resource: &ResourceState) -> Option<Timestamp> {
    // `ci` wants to know that it ended.
    if !state.options.restart_servers || state.options.mode == Mode::Ci || resource.update.is_some() {
        return None;
    }
    let BodyState::Local(local) = &resource.body else { return None };
    let serve = local.serve.as_ref()?;
    match serve.state {
        ServeState::Ended { at, .. } => Some(at.plus(delay(serve.restarts))),
        _ => None,
    }
}

fn delay(restarts: u32) -> Duration {
    FIRST_DELAY.saturating_mul(2u32.saturating_pow(restarts.min(10))).min(LONGEST_DELAY)
}

pub(crate) fn restart_if_due(state: &mut State, name: &ResourceName) {
    let Some(resource) = state.resources.get(name) else { return };
    if next(state, resource).is_none_or(|at| state.now < at) {
        return;
    }
    let generation = state.next_sequence();
    if let Some(resource) = state.resources.get_mut(name)
        && let BodyState::Local(local) = &mut resource.body
        && let Some(serve) = &mut local.serve
    {
        // One that ran for long begins to count anew.
        let restarts = if serve.ran_for_long() { 0 } else { serve.restarts };
        serve.generation = generation;
        serve.restarts = restarts.saturating_add(1);
        serve.started = None;
        serve.pid = 0;
        serve.was_ready = false;
        serve.state = ServeState::Starting;
        state.touch(name);
    }
}

impl Serve {
    fn ran_for_long(&self) -> bool {
        match (&self.state, self.started) {
            (ServeState::Ended { at, .. }, Some(started)) => at.since(started) > LONGEST_DELAY,
            _ => false,
        }
    }
}
