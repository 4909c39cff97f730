//! `Cmd`: a command that runs as long as its object says so.

use std::path::PathBuf;

use lilt_model::api::{Object, ObjectKey};
use lilt_model::command::Command;
use lilt_model::{Failure, ResourceName, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Made, RESOURCE, Run, click, disable, time};
use crate::event::ServeExit;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{TaskId, TaskSpec};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct CommandRun {
    /// Every start has its own number; 0: it has not started.
    run: u64,
    /// What is run; none while it waits or is switched off.
    command: Option<Command>,
    /// The part of the specification that it was started with.
    started_with: Option<Value>,
    /// Variables that a click brought.
    variables: Vec<(String, String)>,
    stage: Stage,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
enum Stage {
    #[default]
    Waiting,
    Starting,
    Running {
        pid: u32,
        since: Timestamp,
    },
    Ended {
        pid: u32,
        since: Timestamp,
        at: Timestamp,
        exit: ServeExit,
    },
}

/// What makes it another command.
fn recipe(object: &Object) -> Value {
    let field = |name: &str| object.get(&format!("/spec/{name}")).cloned().unwrap_or_default();
    json!([field("args"), field("dir"), field("env"), field("readinessProbe")])
}

fn waits_for_click(object: &Object) -> bool {
    !object.texts("/spec/startOn/uiButtons").is_empty()
}

/// Starts it, starts it anew or ends it, as its specification asks.
pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let Some(made) = state.objects.made.get(key) else { return };
    let disabled = disable::is_disabled(state, made);
    let recipe = recipe(&made.object);
    let waits = waits_for_click(&made.object);
    let Some(Made { run: Run::Command(run), .. }) = state.objects.made.get_mut(key) else { return };
    if disabled {
        // As if it had never run.
        **run = CommandRun { run: run.run, ..CommandRun::default() };
        return;
    }
    if run.started_with.as_ref() == Some(&recipe) {
        return;
    }
    if waits {
        run.command = None;
        run.stage = Stage::Waiting;
        run.started_with = Some(recipe);
        return;
    }
    start(state, key);
}

/// Something asks for it to be started anew: a click, a saved file.
pub(super) fn triggered(state: &mut State, key: &ObjectKey, button: Option<&str>, at: Timestamp) {
    let Some(made) = state.objects.made.get(key) else { return };
    if disable::is_disabled(state, made) {
        return;
    }
    let earliest = Timestamp::from_rfc3339(made.object.text("/spec/startOn/startAfter"));
    if button.is_some() && earliest.is_some_and(|earliest| at < earliest) {
        return;
    }
    let pressed = button.and_then(|name| state.objects.get("UIButton", name));
    let variables = pressed.map(|pressed| click::variables(&pressed.object)).unwrap_or_default();
    if let Some(Made { run: Run::Command(run), .. }) = state.objects.made.get_mut(key) {
        run.variables = variables;
    }
    start(state, key);
}

fn start(state: &mut State, key: &ObjectKey) {
    let number = state.next_sequence();
    let folder = state.options.tiltfile.parent().map(PathBuf::from).unwrap_or_default();
    let Some(Made { object, run: Run::Command(run), .. }) = state.objects.made.get_mut(key) else { return };
    let dir = match object.text("/spec/dir") {
        "" => folder,
        dir => folder.join(dir),
    };
    let pairs = object.texts("/spec/env");
    let pairs = pairs.iter().map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut env: Vec<(String, String)> =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    env.extend(run.variables.clone());
    run.run = number;
    run.command = Some(Command { argv: object.texts("/spec/args"), dir, env, unset: Vec::new() });
    run.started_with = Some(recipe(object));
    run.stage = Stage::Starting;
    state.objects.touch(key);
}

pub(crate) fn started(state: &mut State, name: &str, number: u64, pid: u32) {
    let now = state.now;
    set(state, name, number, |_| Stage::Running { pid, since: now });
}

pub(crate) fn ended(state: &mut State, name: &str, number: u64, exit: ServeExit) {
    let now = state.now;
    set(state, name, number, |stage| match stage {
        Stage::Running { pid, since } => Stage::Ended { pid: *pid, since: *since, at: now, exit },
        _ => Stage::Ended { pid: 0, since: now, at: now, exit },
    });
}

/// Its runner broke: a bug of ours.
pub(crate) fn broke(state: &mut State, name: &str, failure: Failure) {
    let made = state.objects.get("Cmd", name);
    if let Some(Made { run: Run::Command(run), .. }) = made {
        let number = run.run;
        ended(state, name, number, ServeExit::Failed(failure));
    }
}

fn set(state: &mut State, name: &str, number: u64, next: impl FnOnce(&Stage) -> Stage) {
    let key = ObjectKey::new("Cmd", name);
    if let Some(Made { run: Run::Command(run), .. }) = state.objects.made.get_mut(&key)
        && run.run == number
    {
        run.stage = next(&run.stage);
        state.objects.touch(&key);
    }
}

pub(super) fn plan(key: &ObjectKey, made: &Made, run: &CommandRun) -> Plan {
    let Some(command) = run.command.as_ref().filter(|_| !matches!(run.stage, Stage::Ended { .. })) else {
        return Plan::new();
    };
    let resource = made.object.annotation(RESOURCE).map(ResourceName::new);
    let spec = TaskSpec::Command { run: run.run, command: command.clone(), resource };
    Plan::from([(TaskId::Command(key.name.clone()), spec)])
}

pub(super) fn status(state: &State, made: &Made, run: &CommandRun) -> Value {
    let mut status = Map::new();
    let mut put = |name: &str, value: Value| status.insert(name.to_owned(), value);
    put("disableStatus", disable::status(state, made));
    match &run.stage {
        Stage::Waiting if waits_for_click(&made.object) => {
            put("waiting", json!({"reason": "waiting for a click"}))
        }
        Stage::Waiting | Stage::Starting => put("waiting", json!({})),
        Stage::Running { pid, since } => {
            put("ready", json!(true));
            put("running", json!({"pid": pid, "startedAt": time(*since)}))
        }
        Stage::Ended { pid, since, at, exit } => put("terminated", terminated(*pid, *since, *at, exit)),
    };
    Value::Object(status)
}

fn terminated(pid: u32, since: Timestamp, at: Timestamp, exit: &ServeExit) -> Value {
    let (code, reason) = exit.code_and_reason();
    let mut state = json!({"pid": pid, "startedAt": time(since), "finishedAt": time(at), "exitCode": code});
    if !reason.is_empty() {
        state["reason"] = json!(reason);
    }
    state
}
