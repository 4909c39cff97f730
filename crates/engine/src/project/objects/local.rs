//! The objects that show local resources: their commands.

use lilt_api::{Cmd, CmdSpec, CmdStateRunning, CmdStatus, Probe};
use lilt_model::resource::LocalResource;

use super::{Named, disable_source, disable_status, managed, owned, owned_with_span};
use crate::controllers::command;
use crate::event::clean_name;
use crate::owner::Owner;
use crate::state::{LocalState, ResourceState, State, UpdateCommand};

/// `ready`: its serve command is ready.
pub(super) fn objects(
    state: &State,
    resource: &ResourceState,
    spec: &LocalResource,
    local: &LocalState,
    ready: bool,
    objects: &mut Vec<Named>,
) {
    let name = &resource.spec.name;
    let disable_source = Some(disable_source(name));
    let disable_status = Some(disable_status(resource));
    if let Some(command) = &spec.update {
        let update = Cmd {
            spec: CmdSpec { disable_source: disable_source.clone(), ..CmdSpec::from(command) },
            status: CmdStatus {
                disable_status: disable_status.clone(),
                ..command_status(resource, local.command.as_ref())
            },
        };
        let own = clean_name(&format!("{name}:update"));
        objects.push(managed(&own, name, "local_resource", &update));
    }
    if let Some(command) = &spec.serve {
        let owner = Owner::from(name);
        let mut status = CmdStatus { disable_status, ..command::status(state, &owner) };
        if status.running.is_some() {
            status.ready = ready;
        }
        let readiness_probe = spec.readiness_probe.as_ref().map(Probe::from);
        let serve =
            Cmd { spec: CmdSpec { readiness_probe, disable_source, ..CmdSpec::from(command) }, status };
        let own = clean_name(&format!("{name}-serve"));
        objects.push(match state.commands.get(&owner) {
            Some(run) => {
                let span = format!("localserve:{name}:{}", run.number());
                owned_with_span(&own, name, &serve, &span)
            }
            None => owned(&own, name, &serve),
        });
    }
}

/// Returns the status of an update command according to its last run.
pub(super) fn command_status(resource: &ResourceState, last: Option<&UpdateCommand>) -> CmdStatus {
    let of_update =
        |run: &&UpdateCommand| resource.update.as_ref().is_none_or(|update| update.id == run.update);
    // The next update has begun, and its command has not.
    let Some(run) = last.filter(of_update) else { return command::waiting() };
    match &run.ended {
        None => CmdStatus {
            ready: true,
            running: Some(CmdStateRunning { pid: command::api_pid(run.pid), started_at: Some(run.since) }),
            ..CmdStatus::default()
        },
        // As under Tilt, `ready` stays as it was when the command ended: without a probe that is true once it ran.
        Some((at, exit)) => command::terminated(run.pid != 0, run.pid, run.since, *at, exit),
    }
}
