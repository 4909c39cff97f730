//! Starts and stops commands, and handles the events of their runners.

use lilt_model::Failure;

use super::state::{CommandPhase, CommandRun, CommandSpec, Ran, Readiness};
use crate::event::CommandExit;
use crate::owner::Owner;
use crate::state::State;

/// Starts a command. A running one of the same owner ends first.
pub(crate) fn start(state: &mut State, owner: &Owner, spec: CommandSpec) {
    begin(state, owner, spec, CommandPhase::Starting);
}

/// Records a command that cannot be started.
pub(crate) fn refuse(state: &mut State, owner: &Owner, spec: CommandSpec, failure: Failure) {
    let phase = CommandPhase::Ended { exit: CommandExit::Failed(failure), at: state.now, ran: None };
    begin(state, owner, spec, phase);
}

fn begin(state: &mut State, owner: &Owner, spec: CommandSpec, phase: CommandPhase) {
    let number = state.next_sequence();
    let run = CommandRun { number, spec, restarts: 0, phase };
    state.commands.runs.insert(owner.clone(), Box::new(run));
    state.touch_owner(owner);
}

/// Stops the command of an owner and forgets its state.
pub(crate) fn stop(state: &mut State, owner: &Owner) {
    if state.commands.runs.remove(owner).is_some() {
        state.touch_owner(owner);
    }
}

pub(crate) fn started(state: &mut State, owner: &Owner, number: u64, pid: u32) {
    let since = state.now;
    change(state, owner, number, |run| {
        let readiness = if run.has_probe() { Readiness::NotReady(None) } else { Readiness::Ready };
        run.phase = CommandPhase::Running { pid, since, readiness };
    });
}

pub(crate) fn ended(state: &mut State, owner: &Owner, number: u64, exit: CommandExit) {
    let at = state.now;
    change(state, owner, number, |run| {
        let ran = match &run.phase {
            CommandPhase::Starting => None,
            CommandPhase::Running { pid, since, readiness } => {
                Some(Ran { pid: *pid, since: *since, ready: *readiness == Readiness::Ready })
            }
            CommandPhase::Ended { ran, .. } => ran.clone(),
        };
        run.phase = CommandPhase::Ended { exit, at, ran };
    });
}

/// Records the result of a probe. Ignored if the command has ended meanwhile.
pub(crate) fn probed(state: &mut State, owner: &Owner, number: u64, ready: bool, cause: Option<String>) {
    change(state, owner, number, |run| {
        if let CommandPhase::Running { readiness, .. } = &mut run.phase {
            *readiness = if ready { Readiness::Ready } else { Readiness::NotReady(cause) };
        }
    });
}

/// Handles a panic of the runner of a command.
pub(crate) fn broke(state: &mut State, owner: &Owner, failure: Failure) {
    if let Some(number) = state.commands.get(owner).map(CommandRun::number) {
        ended(state, owner, number, CommandExit::Failed(failure));
    }
}

/// Handles a panic of the runner of a probe.
pub(crate) fn probe_broke(state: &mut State, owner: &Owner, failure: Failure) {
    if let Some(number) = state.commands.get(owner).map(CommandRun::number) {
        probed(state, owner, number, false, Some(failure.message));
    }
}

/// Changes a run, unless another one has replaced it.
fn change(state: &mut State, owner: &Owner, number: u64, change: impl FnOnce(&mut CommandRun)) {
    let run = state.commands.runs.get_mut(owner).filter(|run| run.number == number);
    if let Some(run) = run {
        change(run);
        state.touch_owner(owner);
    }
}
