//! The objects that tell of local resources: their commands.

use lilt_api::probe_text as probe;
use lilt_model::command::Command;
use lilt_model::resource::LocalResource;
use serde_json::{Value, json};

use super::{Named, disable_source, disable_status, managed, owned, owned_with_span};
use crate::controllers::command;
use crate::event::clean_name;
use crate::owner::Owner;
use crate::state::{LocalState, ResourceState, State, UpdateCommand};

/// `ready` is whether its server is.
pub(super) fn objects(
    state: &State,
    resource: &ResourceState,
    spec: &LocalResource,
    local: &LocalState,
    ready: bool,
    objects: &mut Vec<Named>,
) {
    let name = &resource.spec.name;
    let written = |command: &Command| {
        let env: Vec<String> = command.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        json!({"args": command.argv, "dir": command.dir, "env": env, "disableSource": disable_source(name)})
    };
    if let Some(command) = &spec.update {
        let mut content =
            json!({"spec": written(command), "status": command_status(resource, local.command.as_ref())});
        content["status"]["disableStatus"] = disable_status(resource);
        let own = clean_name(&format!("{name}:update"));
        objects.push(managed("Cmd", &own, name, "local_resource", content));
    }
    if let Some(command) = &spec.serve {
        let mut written = written(command);
        if let Some(probe) = &spec.readiness_probe {
            written["readinessProbe"] = probe::written(probe).value();
        }
        let owner = Owner::from(name);
        let mut content = json!({"spec": written, "status": command::status(state, &owner)});
        if content["status"].get("running").is_some() {
            content["status"]["ready"] = json!(ready);
        }
        content["status"]["disableStatus"] = disable_status(resource);
        let own = clean_name(&format!("{name}-serve"));
        objects.push(match state.commands.get(&owner) {
            Some(run) => {
                let span = format!("localserve:{name}:{}", run.number());
                owned_with_span("Cmd", &own, name, content, &span)
            }
            None => owned("Cmd", &own, name, content),
        });
    }
}

/// Of a command of updates, by its last run.
pub(super) fn command_status(resource: &ResourceState, last: Option<&UpdateCommand>) -> Value {
    let of_update =
        |run: &&UpdateCommand| resource.update.as_ref().is_none_or(|update| update.id == run.update);
    // The next update has begun, and its command has not.
    let Some(run) = last.filter(of_update) else { return json!({"waiting": {}}) };
    match &run.ended {
        None => json!({"ready": true, "running": {"pid": run.pid, "startedAt": run.since}}),
        // As under Tilt, `ready` stays as it was when the command ended: without a probe that is true once it ran.
        Some((at, exit)) => command::terminated(run.pid != 0, run.pid, run.since, *at, exit),
    }
}
