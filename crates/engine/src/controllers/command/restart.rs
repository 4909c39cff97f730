//! Commands that should not have exited are restarted, each time later, if the session says so.

use std::time::Duration;

use lilt_model::Timestamp;

use super::state::{CommandPhase, CommandRun, OnExit};
use crate::owner::Owner;
use crate::state::{Mode, State};

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// When the command of an owner is to be restarted.
pub(crate) fn restart_at(state: &State, owner: &Owner) -> Option<Timestamp> {
    // `ci` wants to know that it exited.
    if !state.options.restart_servers || state.options.mode == Mode::Ci || is_updating(state, owner) {
        return None;
    }
    let run = state.commands.get(owner).filter(|run| run.spec.on_exit == OnExit::Fail)?;
    match run.phase {
        CommandPhase::Ended { at, .. } => Some(at.plus(delay(run.restarts))),
        CommandPhase::Starting | CommandPhase::Running { .. } => None,
    }
}

/// The update of a resource starts its command itself.
fn is_updating(state: &State, owner: &Owner) -> bool {
    match owner {
        Owner::Resource(name) => state.resources.get(name).is_some_and(|resource| resource.update.is_some()),
        Owner::Object(_) => false,
    }
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
        // One that ran for long counts from the beginning.
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
