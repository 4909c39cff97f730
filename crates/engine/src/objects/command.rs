//! `Cmd`: a command that runs as specified by its object and by the objects that it names.
//!
//! This module decides when it starts and stops. The command controller has its state.

use lilt_api::{CmdSpec, CmdStateWaiting, CmdStatus, Content, ObjectKey};
use lilt_model::log::Level;
use lilt_model::probe::Probe;
use lilt_model::{Failure, ResourceName};
use serde::Serialize;

use super::trigger::{self, Triggers};
use super::{ANNOTATION_RESOURCE, ObjectRecord, Run, disable};
use crate::controllers::command::{self, CommandSpec, OnExit};
use crate::owner::Owner;
use crate::state::State;

/// The specification and the triggers that a `Cmd` was started for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct CommandStart {
    /// The part of the specification that it was started with; none: not started, or stopped.
    recipe: Option<CmdSpec>,
    /// The triggers that were handled.
    followed: Triggers,
}

/// Returns the part of a specification that requires a restart when it changes.
fn recipe(spec: &CmdSpec) -> CmdSpec {
    CmdSpec { restart_on: None, start_on: None, disable_source: None, ..spec.clone() }
}

fn waits_for_click(spec: &CmdSpec) -> bool {
    spec.start_on.as_ref().is_some_and(|start_on| !start_on.ui_buttons.is_empty())
}

/// Starts, restarts or stops the command according to its specification and to the objects that it names.
pub(super) fn reconcile(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { content: Content::Cmd(cmd), .. }) = state.objects.records.get(key) else {
        return;
    };
    let spec = cmd.spec.clone();
    let is_off = disable::is_off(state, key, spec.disable_source.as_ref());
    let asked = Triggers::new(state, spec.start_on.as_ref(), spec.restart_on.as_ref());
    let Some(ObjectRecord { run: Run::Command(known), .. }) = state.objects.records.get(key) else { return };
    let recipe = recipe(&spec);
    let is_other = known.recipe.as_ref() != Some(&recipe);
    if is_off || (is_other && waits_for_click(&spec) && !asked.start_is_newer(&known.followed)) {
        // A disabled command has no state from earlier runs.
        let followed = if is_off { Triggers::default() } else { known.followed.clone() };
        record(state, key, CommandStart { recipe: None, followed });
        command::stop(state, &Owner::from(key));
    } else if is_other || asked.is_newer(&known.followed) {
        start(state, key, CommandStart { recipe: Some(recipe), followed: asked });
    }
}

fn record(state: &mut State, key: &ObjectKey, start: CommandStart) {
    if let Some(ObjectRecord { run: Run::Command(known), .. }) = state.objects.records.get_mut(key) {
        **known = start;
    }
}

fn start(state: &mut State, key: &ObjectKey, start: CommandStart) {
    let Some(ObjectRecord { object, content: Content::Cmd(cmd), run: Run::Command(known), .. }) =
        state.objects.records.get(key)
    else {
        return;
    };
    let button = start.followed.button(&known.followed);
    let resource = object.annotation(ANNOTATION_RESOURCE).map(ResourceName::new);
    let mut command = cmd.spec.command(state.folder());
    command.env.extend(button.map(|button| trigger::variables(state, button)).unwrap_or_default());
    let probe = cmd.spec.readiness_probe.as_ref().map(Probe::try_from).transpose();
    record(state, key, start);
    let owner = Owner::from(key);
    match probe {
        Ok(probe) => {
            command::start(state, &owner, CommandSpec { command, probe, on_exit: OnExit::Keep, resource });
        }
        Err(why) => {
            let message = format!("Invalid readiness probe: {why}");
            if let Some(resource) = &resource {
                state.note(resource, Level::Error, format!("ERROR: {message}"));
            }
            let spec = CommandSpec { command, probe: None, on_exit: OnExit::Keep, resource };
            command::refuse(state, &owner, spec, Failure::user(message));
        }
    }
}

pub(super) fn status(state: &State, key: &ObjectKey) -> CmdStatus {
    let owner = Owner::from(key);
    let status = command::status(state, &owner);
    let content = state.objects.records.get(key).map(|record| &record.content);
    let waits = matches!(content, Some(Content::Cmd(cmd)) if waits_for_click(&cmd.spec));
    if waits && state.commands.get(&owner).is_none() {
        let reason = "cmd StartOn has not been triggered".to_owned();
        return CmdStatus { waiting: Some(CmdStateWaiting { reason }), ..status };
    }
    status
}
