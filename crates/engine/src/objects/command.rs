//! `Cmd`: a command that runs as long as its object says so.

use std::path::Path;

use lilt_api::probe_text as probe;
use lilt_api::{Object, ObjectKey, reading};
use lilt_model::command::Command;
use lilt_model::log::Level;
use lilt_model::probe::Probe;
use lilt_model::{Failure, ResourceName, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::trigger::{self, Triggers};
use super::{Made, RESOURCE, Run, disable, time};
use crate::event::{ProgramId, ServeExit};
use crate::plan::Plan;
use crate::state::State;
use crate::task::Task;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct CommandRun {
    /// Every start has its own number; 0: it has not started.
    run: u64,
    /// What is run; none while it waits or is switched off.
    command: Option<Command>,
    /// None: it is ready as soon as it runs.
    probe: Option<Probe>,
    /// The part of the specification that it was started with.
    started_with: Option<Value>,
    /// What has asked for it to start, as far as it has followed.
    followed: Triggers,
    /// Stays as it is when the command ends.
    ready: bool,
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

/// Starts it, starts it anew or ends it, as its specification and what it names ask.
pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let is_off = disable::is_off(state, key);
    let Some(made) = state.objects.made.get(key) else { return };
    let asked = Triggers::of(state, &made.object);
    let recipe = recipe(&made.object);
    let waits = waits_for_click(&made.object);
    let Some(Made { run: Run::Command(run), .. }) = state.objects.made.get_mut(key) else { return };
    let is_other = run.started_with.as_ref() != Some(&recipe);
    if is_off || (is_other && waits && !asked.start_is_newer(&run.followed)) {
        // One that is switched off is as if it had never run.
        let followed = if is_off { Triggers::default() } else { run.followed.clone() };
        let waiting = CommandRun { run: run.run, followed, ..CommandRun::default() };
        if **run != waiting {
            **run = waiting;
            state.objects.touch(key);
        }
    } else if is_other || asked.is_newer(&run.followed) {
        begin(state, key, asked);
    }
}

fn begin(state: &mut State, key: &ObjectKey, asked: Triggers) {
    let number = state.next_sequence();
    let now = state.now;
    let Some(made) = state.objects.made.get(key) else { return };
    let object = &made.object;
    let button = match &made.run {
        Run::Command(run) => asked.button(&run.followed),
        _ => None,
    };
    let variables = button.map(|button| trigger::variables(state, button)).unwrap_or_default();
    let probe = object.get("/spec/readinessProbe").filter(|probe| !probe.is_null()).map(probe::read);
    let mut next = CommandRun {
        run: number,
        command: Some(command(object, state.folder(), variables)),
        probe: None,
        started_with: Some(recipe(object)),
        followed: asked,
        ready: false,
        stage: Stage::Starting,
    };
    match probe.transpose() {
        Ok(probe) => next.probe = probe,
        Err(why) => {
            let words = format!("Invalid readiness probe: {why}");
            if let Some(resource) = resource(made) {
                state.note(&resource, Level::Error, format!("ERROR: {words}"));
            }
            next.command = None;
            let exit = ServeExit::Failed(Failure::user(words));
            next.stage = Stage::Ended { pid: 0, since: now, at: now, exit };
        }
    }
    if let Some(Made { run: Run::Command(run), .. }) = state.objects.made.get_mut(key) {
        **run = next;
        state.objects.touch(key);
    }
}

fn command(object: &Object, folder: &Path, variables: Vec<(String, String)>) -> Command {
    let mut command = reading::command(object.get("/spec").unwrap_or(&Value::Null), folder);
    command.env.extend(variables);
    command
}

fn resource(made: &Made) -> Option<ResourceName> {
    made.object.annotation(RESOURCE).map(ResourceName::new)
}

pub(crate) fn started(state: &mut State, name: &str, number: u64, pid: u32) {
    let now = state.now;
    set(state, name, number, |run| {
        run.ready = run.probe.is_none();
        run.stage = Stage::Running { pid, since: now };
    });
}

pub(crate) fn ended(state: &mut State, name: &str, number: u64, exit: ServeExit) {
    let now = state.now;
    set(state, name, number, |run| {
        let (pid, since) = match run.stage {
            Stage::Running { pid, since } => (pid, since),
            _ => (0, now),
        };
        run.stage = Stage::Ended { pid, since, at: now, exit };
    });
}

/// What its probe has found. Of one that has ended meanwhile it means nothing any more.
pub(crate) fn probed(state: &mut State, name: &str, number: u64, ready: bool) {
    set(state, name, number, |run| {
        if matches!(run.stage, Stage::Running { .. }) {
            run.ready = ready;
        }
    });
}

/// Its runner, or that of its probe, broke: a bug of ours.
pub(crate) fn broke(state: &mut State, program: &str, failure: Failure) {
    let made = state.objects.get("Cmd", program);
    if let Some(Made { run: Run::Command(run), .. }) = made {
        let number = run.run;
        ended(state, program, number, ServeExit::Failed(failure));
    }
}

fn set(state: &mut State, name: &str, number: u64, change: impl FnOnce(&mut CommandRun)) {
    let key = ObjectKey::new("Cmd", name);
    if let Some(Made { run: Run::Command(run), .. }) = state.objects.made.get_mut(&key)
        && run.run == number
    {
        change(run);
        state.objects.touch(&key);
    }
}

pub(super) fn plan(key: &ObjectKey, made: &Made, run: &CommandRun) -> Plan {
    let mut plan = Plan::new();
    // Of one that has ended, what it left is kept until its object goes, or it runs again.
    let never_ran = matches!(run.stage, Stage::Ended { pid: 0, .. });
    let Some(command) = run.command.as_ref().filter(|_| !never_ran) else {
        return plan;
    };
    let resource = resource(made);
    let (name, command) = (key.name.clone(), command.clone());
    plan.insert(Task::Command { name: name.clone(), run: run.run, command, resource: resource.clone() });
    if let (Some(probe), Stage::Running { .. }) = (&run.probe, &run.stage) {
        let (program, probe) = (ProgramId::Command(name), probe.clone());
        plan.insert(Task::Probe { program, generation: run.run, probe, resource });
    }
    plan
}

pub(super) fn tell(run: &CommandRun, object: &Object, status: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| status.insert(name.to_owned(), value);
    if run.ready {
        put("ready", json!(true));
    }
    match &run.stage {
        Stage::Waiting if waits_for_click(object) => {
            put("waiting", json!({"reason": "cmd StartOn has not been triggered"}))
        }
        Stage::Waiting | Stage::Starting => put("waiting", json!({})),
        Stage::Running { pid, since } => put("running", json!({"pid": pid, "startedAt": time(*since)})),
        Stage::Ended { pid, since, at, exit } => put("terminated", terminated(*pid, *since, *at, exit)),
    };
}

fn terminated(pid: u32, since: Timestamp, at: Timestamp, exit: &ServeExit) -> Value {
    let (code, reason) = exit.code_and_reason();
    let mut state = json!({"pid": pid, "startedAt": time(since), "finishedAt": time(at), "exitCode": code});
    if !reason.is_empty() {
        state["reason"] = json!(reason);
    }
    state
}
