//! What readers see of commands: the status of a `Cmd`.

use lilt_api::fields::Fields;
use lilt_model::Timestamp;
use serde_json::{Map, Value, json};

use super::state::{CommandPhase, Readiness};
use crate::event::CommandExit;
use crate::owner::Owner;
use crate::state::State;

/// The status of a command; of one that was not started it says that it waits.
pub(crate) fn status(state: &State, owner: &Owner) -> Map<String, Value> {
    let status = match state.commands.get(owner).map(|run| &run.phase) {
        None | Some(CommandPhase::Starting) => json!({"waiting": {}}),
        Some(CommandPhase::Running { pid, since, readiness }) => {
            let mut status = json!({"running": {"pid": pid, "startedAt": since}});
            if *readiness == Readiness::Ready {
                status["ready"] = json!(true);
            }
            status
        }
        Some(CommandPhase::Ended { exit, at, ran }) => {
            let (ready, pid, since) =
                ran.as_ref().map_or((false, 0, *at), |ran| (ran.ready, ran.pid, ran.since));
            terminated(ready, pid, since, *at, exit)
        }
    };
    match status {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The status of a command that has ended.
pub(crate) fn terminated(
    ready: bool,
    pid: u32,
    started: Timestamp,
    finished: Timestamp,
    exit: &CommandExit,
) -> Value {
    let (code, reason) = exit.code_and_reason();
    let ended = Fields::new()
        .put("pid", pid)
        .put("startedAt", json!(started))
        .put("finishedAt", json!(finished))
        .put("exitCode", code)
        .put_unless_empty("reason", reason);
    Fields::new().put_unless_empty("ready", ready).put("terminated", ended.finish()).value()
}
