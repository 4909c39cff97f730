//! The objects that tell of local resources: their commands.

use lilt_model::api::probe;
use lilt_model::command::Command;
use lilt_model::resource::LocalResource;
use serde_json::{Value, json};

use super::{Named, disable_source, disable_status, owned};
use crate::event::clean_name;
use crate::state::{LocalState, ResourceState, ServeState};

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
        let mut content = json!({"spec": written(command), "status": update_command(resource)});
        content["status"]["disableStatus"] = disable_status(resource);
        objects.push(owned("Cmd", &clean_name(&format!("{name}:update")), name, content));
    }
    if let Some(command) = &spec.serve {
        let mut written = written(command);
        if let Some(probe) = &spec.readiness_probe {
            written["readinessProbe"] = probe::written(probe).value();
        }
        let mut content = json!({"spec": written, "status": serve_command(local, ready)});
        content["status"]["disableStatus"] = disable_status(resource);
        objects.push(owned("Cmd", &clean_name(&format!("{name}-serve")), name, content));
    }
}

fn update_command(resource: &ResourceState) -> Value {
    if let Some(update) = &resource.update {
        return json!({"running": {"pid": 0, "startedAt": update.started}});
    }
    let Some(last) = resource.history.back() else { return json!({"waiting": {}}) };
    let failed = last.failure.as_ref().map(ToString::to_string);
    json!({"terminated": {
        "pid": 0, "startedAt": last.started, "finishedAt": last.finished,
        "exitCode": i32::from(failed.is_some()), "reason": failed.unwrap_or_default(),
    }})
}

fn serve_command(local: &LocalState, ready: bool) -> Value {
    match local.serve.as_ref().map(|serve| &serve.state) {
        None | Some(ServeState::Starting) => json!({"waiting": {}}),
        Some(ServeState::Running { pid, since, .. }) => {
            json!({"ready": ready, "running": {"pid": pid, "startedAt": since}})
        }
        Some(ServeState::Ended { exit, at }) => {
            let (code, reason) = exit.code_and_reason();
            json!({"terminated": {"pid": 0, "startedAt": at, "finishedAt": at, "exitCode": code, "reason": reason}})
        }
    }
}
