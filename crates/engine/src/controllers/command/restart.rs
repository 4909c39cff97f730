//! Restarts servers that exited, with increasing delays, if `local_resource(restart=True)` requests it.

use std::time::Duration;

use lilt_model::Timestamp;
use lilt_model::resource::Body;

use super::state::{CommandPhase, CommandRun};
use crate::owner::Owner;
use crate::state::{Mode, State};

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// Returns when the command of an owner is to be restarted.
pub(crate) fn restart_at(state: &State, owner: &Owner) -> Option<Timestamp> {
    // `ci` reports the exit instead.
    if state.options.mode == Mode::Ci || !wants_restart(state, owner) {
        return None;
    }
    let run = state.commands.get(owner)?;
    match run.phase {
        CommandPhase::Ended { at, .. } => Some(at.plus(delay(run.restarts))),
        CommandPhase::Starting | CommandPhase::Running { .. } => None,
    }
}

/// Returns whether a resource requests restarts. Not during an update, which starts the command itself.
fn wants_restart(state: &State, owner: &Owner) -> bool {
    let Owner::Resource(name) = owner else { return false };
    let Some(resource) = state.resources.get(name) else { return false };
    matches!(&resource.spec.body, Body::Local(local) if local.restart) && resource.update.is_none()
}

fn delay(restarts: u32) -> Duration {
    FIRST_DELAY.saturating_mul(2u32.saturating_pow(restarts.min(10))).min(LONGEST_DELAY)
}

pub(crate) fn restart_if_due(state: &mut State, owner: &Owner) {
    if restart_at(state, owner).is_none_or(|at| state.now < at) {
        return;
    }
    let number = state.next_sequence();
    if let Some(run) = state.commands.runs.get_mut(owner) {
        // The count restarts if the command ran for long.
        let restarts = if run.ran_for_long() { 0 } else { run.restarts };
        run.number = number;
        run.restarts = restarts.saturating_add(1);
        run.phase = CommandPhase::Starting;
        state.touch_owner(owner);
    }
}

impl CommandRun {
    fn ran_for_long(&self) -> bool {
        match &self.phase {
            CommandPhase::Ended { at, ran: Some(ran), .. } => at.since(ran.since) > LONGEST_DELAY,
            _ => false,
        }
    }
}
