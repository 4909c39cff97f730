//! A task for each command, and one for its probe.

use super::state::{CommandPhase, OnExit};
use crate::owner::Owner;
use crate::plan::Plan;
use crate::state::State;
use crate::task::Task;

/// Returns the tasks of the command of one owner.
pub(crate) fn plan(state: &State, owner: &Owner) -> Plan {
    let mut plan = Plan::new();
    let Some(run) = state.commands.get(owner) else { return plan };
    let spec = &run.spec;
    let is_wanted = match &run.phase {
        CommandPhase::Starting | CommandPhase::Running { .. } => true,
        // The runner keeps the processes that it left running.
        CommandPhase::Ended { ran, .. } => ran.is_some() && spec.on_exit == OnExit::Keep,
    };
    if is_wanted {
        plan.insert(Task::Command {
            owner: owner.clone(),
            run: run.number,
            command: spec.command.clone(),
            on_exit: spec.on_exit,
            resource: spec.resource.clone(),
        });
    }
    // Only while it runs: a probe of an ended command may meet something else.
    if let (Some(probe), CommandPhase::Running { .. }) = (&spec.probe, &run.phase) {
        let (owner, resource) = (owner.clone(), spec.resource.clone());
        plan.insert(Task::Probe { owner, run: run.number, probe: probe.clone(), resource });
    }
    plan
}
