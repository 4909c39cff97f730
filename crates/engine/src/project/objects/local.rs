//! The objects that tell of local resources: their commands.

use lilt_api::fields::Fields;
use lilt_api::probe_text as probe;
use lilt_model::Timestamp;
use lilt_model::command::Command;
use lilt_model::resource::LocalResource;
use serde_json::{Value, json};

use super::{Named, disable_source, disable_status, managed, owned, owned_with_span};
use crate::event::{ServeExit, clean_name};
use crate::state::{CommandRun, LocalState, ResourceState, ServeState};

/// `ready` is whether its server is.
pub(super) fn objects(
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
        let mut content = json!({"spec": written, "status": serve_command(local, ready)});
        content["status"]["disableStatus"] = disable_status(resource);
        let own = clean_name(&format!("{name}-serve"));
        objects.push(match &local.serve {
            Some(serve) => {
                let span = format!("localserve:{name}:{}", serve.generation);
                owned_with_span("Cmd", &own, name, content, &span)
            }
            None => owned("Cmd", &own, name, content),
        });
    }
}

/// Of a command of updates, by its last run.
pub(super) fn command_status(resource: &ResourceState, last: Option<&CommandRun>) -> Value {
    let of_update = |run: &&CommandRun| resource.update.as_ref().is_none_or(|update| update.id == run.update);
    // The next update has begun, and its command has not.
    let Some(run) = last.filter(of_update) else { return json!({"waiting": {}}) };
    match &run.ended {
        None => json!({"ready": true, "running": {"pid": run.pid, "startedAt": run.since}}),
        // As under Tilt, `ready` stays as it was when the command ended: without a probe that is true once it ran.
        Some((at, exit)) => terminated(run.pid != 0, run.pid, run.since, *at, exit),
    }
}

fn serve_command(local: &LocalState, ready: bool) -> Value {
    match local.serve.as_ref().map(|serve| &serve.state) {
        None | Some(ServeState::Starting) => json!({"waiting": {}}),
        Some(ServeState::Running { pid, since, .. }) => {
            json!({"ready": ready, "running": {"pid": pid, "startedAt": since}})
        }
        Some(ServeState::Ended { exit, at }) => {
            let (pid, started) = local.serve.as_ref().map_or((0, None), |serve| (serve.pid, serve.started));
            let was_ready = local.serve.as_ref().is_some_and(|serve| serve.was_ready);
            terminated(was_ready, pid, started.unwrap_or(*at), *at, exit)
        }
    }
}

fn terminated(ready: bool, pid: u32, started: Timestamp, finished: Timestamp, exit: &ServeExit) -> Value {
    let (code, reason) = exit.code_and_reason();
    let ended = Fields::new()
        .put("pid", pid)
        .put("startedAt", json!(started))
        .put("finishedAt", json!(finished))
        .put("exitCode", code)
        .put_unless_empty("reason", reason);
    Fields::new().put_unless_empty("ready", ready).put("terminated", ended.finish()).value()
}
