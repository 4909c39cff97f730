//! `Cmd`: a command that runs as its object and what that names say.
//!
//! This decides when it starts and stops; how far it is, is known to the controller of commands.

use lilt_api::probe_text as probe;
use lilt_api::{Object, ObjectKey, reading};
use lilt_model::log::Level;
use lilt_model::probe::Probe;
use lilt_model::{Failure, ResourceName};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::trigger::{self, Triggers};
use super::{ANNOTATION_RESOURCE, ObjectRecord, Run, disable};
use crate::controllers::command::{self, CommandSpec, OnExit};
use crate::owner::Owner;
use crate::state::State;

/// What a `Cmd` was started for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct CommandStart {
    /// The part of the specification that it was started with; none: it was not, or was stopped.
    recipe: Option<Value>,
    /// What has asked for it to start, as far as it has followed.
    followed: Triggers,
}

/// What makes it another command.
fn recipe(object: &Object) -> Value {
    let field = |name: &str| object.get(&format!("/spec/{name}")).cloned().unwrap_or_default();
    json!([field("args"), field("dir"), field("env"), field("readinessProbe")])
}

fn waits_for_click(object: &Object) -> bool {
    !object.texts("/spec/startOn/uiButtons").is_empty()
}

/// Starts, restarts or ends it, as its specification and what it names ask.
pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let is_off = disable::is_off(state, key);
    let Some(made) = state.objects.made.get(key) else { return };
    let Run::Command(known) = &made.run else { return };
    let asked = Triggers::of(state, &made.object);
    let recipe = recipe(&made.object);
    let is_other = known.recipe.as_ref() != Some(&recipe);
    if is_off || (is_other && waits_for_click(&made.object) && !asked.start_is_newer(&known.followed)) {
        // One that is switched off is as if it had never run.
        let followed = if is_off { Triggers::default() } else { known.followed.clone() };
        record(state, key, CommandStart { recipe: None, followed });
        command::stop(state, &Owner::from(key));
    } else if is_other || asked.is_newer(&known.followed) {
        start(state, key, CommandStart { recipe: Some(recipe), followed: asked });
    }
}

fn record(state: &mut State, key: &ObjectKey, start: CommandStart) {
    if let Some(ObjectRecord { run: Run::Command(known), .. }) = state.objects.made.get_mut(key) {
        **known = start;
    }
}

fn start(state: &mut State, key: &ObjectKey, start: CommandStart) {
    let Some(made) = state.objects.made.get(key) else { return };
    let Run::Command(known) = &made.run else { return };
    let object = &made.object;
    let button = start.followed.button(&known.followed);
    let resource = object.annotation(ANNOTATION_RESOURCE).map(ResourceName::new);
    let mut command = reading::command(object.get("/spec").unwrap_or(&Value::Null), state.folder());
    command.env.extend(button.map(|button| trigger::variables(state, button)).unwrap_or_default());
    let probe = probe_of(object);
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

fn probe_of(object: &Object) -> Result<Option<Probe>, String> {
    let written = object.get("/spec/readinessProbe").filter(|probe| !probe.is_null());
    written.map(probe::read).transpose()
}

pub(super) fn tell(state: &State, key: &ObjectKey, object: &Object, status: &mut Map<String, Value>) {
    let owner = Owner::from(key);
    status.extend(command::status(state, &owner));
    if waits_for_click(object) && state.commands.get(&owner).is_none() {
        status.insert("waiting".to_owned(), json!({"reason": "cmd StartOn has not been triggered"}));
    }
}
