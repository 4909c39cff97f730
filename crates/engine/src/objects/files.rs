//! `FileWatch`: tells of saved files; commands may start anew with them.

use std::path::PathBuf;

use lilt_model::Timestamp;
use lilt_model::api::{Object, ObjectKey};
use lilt_model::files::{Contents, FileSet, IgnoreRule};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Made, Run, command, disable, time};
use crate::event::WatchId;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{TaskId, TaskSpec};

/// Events that are remembered; older ones go.
const REMEMBERED: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct FilesRun {
    /// What is watched, with the number that tells one set from the next; none while it is switched off.
    watched: Option<(u64, FileSet)>,
    since: Option<Timestamp>,
    events: Vec<(Timestamp, Vec<PathBuf>)>,
}

pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let Some(made) = state.objects.made.get(key) else { return };
    let disabled = disable::is_disabled(state, made);
    let files = files(&made.object, &state.options.tiltfile.parent().map(PathBuf::from).unwrap_or_default());
    let version = state.next_sequence();
    let Some(Made { run: Run::Files(run), .. }) = state.objects.made.get_mut(key) else { return };
    if disabled {
        *run = FilesRun::default();
        return;
    }
    if run.watched.as_ref().is_none_or(|(_, watched)| *watched != files) {
        *run = FilesRun { watched: Some((version, files)), ..FilesRun::default() };
    }
}

fn files(object: &Object, folder: &std::path::Path) -> FileSet {
    let absolute = |path: &str| folder.join(path);
    let roots = object.texts("/spec/watchedPaths").iter().map(|path| absolute(path)).collect();
    let mut files = FileSet { roots, ignores: Vec::new() };
    let ignores = object.get("/spec/ignores").and_then(Value::as_array);
    for ignore in ignores.into_iter().flatten() {
        let patterns: Vec<String> = ignore["patterns"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let base = absolute(ignore["basePath"].as_str().unwrap_or_default());
        files.ignores.push(IgnoreRule { base, patterns });
    }
    files
}

pub(crate) fn watching(state: &mut State, name: &str, version: u64) {
    let now = state.now;
    let key = ObjectKey::new("FileWatch", name);
    if let Some(Made { run: Run::Files(run), .. }) = state.objects.made.get_mut(&key)
        && run.watched.as_ref().is_some_and(|(current, _)| *current == version)
    {
        run.since = Some(now);
        state.objects.touch(&key);
    }
}

/// Files were saved; what starts anew with them does.
pub(crate) fn changed(state: &mut State, name: &str, paths: Vec<PathBuf>) {
    let now = state.now;
    let key = ObjectKey::new("FileWatch", name);
    let Some(Made { run: Run::Files(run), .. }) = state.objects.made.get_mut(&key) else { return };
    run.events.push((now, paths));
    let surplus = run.events.len().saturating_sub(REMEMBERED);
    run.events.drain(..surplus);
    state.objects.touch(&key);
    let follows =
        |made: &Made| made.object.texts("/spec/restartOn/fileWatches").iter().any(|watch| watch == name);
    let commands: Vec<ObjectKey> =
        state.objects.of_kind("Cmd").filter(|(_, made)| follows(made)).map(|(key, _)| key.clone()).collect();
    for key in commands {
        command::triggered(state, &key, None, now);
    }
}

pub(super) fn plan(key: &ObjectKey, run: &FilesRun) -> Plan {
    let Some((version, files)) = &run.watched else { return Plan::new() };
    let spec = TaskSpec::Watch { version: *version, files: files.clone(), contents: Contents::default() };
    Plan::from([(TaskId::Watch(WatchId::Object(key.name.clone())), spec)])
}

pub(super) fn status(state: &State, made: &Made, run: &FilesRun) -> Value {
    let mut status = Map::new();
    let mut put = |name: &str, value: Value| status.insert(name.to_owned(), value);
    put("disableStatus", disable::status(state, made));
    if let Some(since) = run.since {
        put("monitorStartTime", time(since));
    }
    if let Some((at, _)) = run.events.last() {
        put("lastEventTime", time(*at));
        let events = run.events.iter().map(|(at, paths)| json!({"time": time(*at), "seenFiles": paths}));
        put("fileEvents", Value::Array(events.collect()));
    }
    Value::Object(status)
}
