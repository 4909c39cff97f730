//! `FileWatch`: tells of saved files; commands may start anew with them.

use std::path::PathBuf;
use std::time::Duration;

use lilt_api::{Content, FileEvent, FileWatchStatus, ObjectKey, ObjectKind};
use lilt_model::Timestamp;
use lilt_model::files::{Contents, FileSet, Manner};
use serde::Serialize;

use super::references;
use super::{ObjectRecord, Run, disable};
use crate::event::WatchId;
use crate::plan::{Plan, manner_of};
use crate::state::State;
use crate::task::Task;

/// Events that are remembered; older ones go.
const REMEMBERED: usize = 20;
/// Paths that an object names, but for those of the newest event: all of them are told again with every save, and a burst may have
/// thousands.
const TOLD: usize = 2_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct FilesRun {
    /// What is watched, with the number that tells one set from the next; none while it is switched off.
    watched: Option<(u64, FileSet)>,
    pub(super) events: FileEvents,
}

/// What a watch has seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct FileEvents {
    since: Option<Timestamp>,
    seen: Vec<(Timestamp, Vec<PathBuf>)>,
    /// Why changes may be missed.
    error: Option<String>,
}

impl FileEvents {
    /// Nothing is missed from now on.
    pub(super) fn has_begun(&self) -> bool {
        self.since.is_some()
    }

    pub(crate) fn trouble(&mut self, error: String) {
        self.error = Some(error);
    }

    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.since.get_or_insert(now);
    }

    pub(crate) fn note(&mut self, now: Timestamp, paths: Vec<PathBuf>) {
        // Always later than the one before, though a clock may be put back: who follows it must see that it is new.
        let later = self.last().map(|last| last.plus(Duration::from_micros(1)));
        self.seen.push((later.map_or(now, |later| later.max(now)), paths));
        let surplus = self.seen.len().saturating_sub(REMEMBERED);
        self.seen.drain(..surplus);
    }

    /// Those after a time.
    pub(super) fn after(&self, time: Option<Timestamp>) -> impl Iterator<Item = &(Timestamp, Vec<PathBuf>)> {
        self.seen.iter().filter(move |(at, _)| time.is_none_or(|time| *at > time))
    }

    /// When one of these was last saved, as far as it is remembered.
    pub(crate) fn last_of(&self, paths: &[PathBuf]) -> Option<Timestamp> {
        let newest_first = self.seen.iter().rev();
        newest_first
            .filter(|(_, seen)| seen.iter().any(|path| paths.contains(path)))
            .map(|(at, _)| *at)
            .next()
    }

    pub(crate) fn last(&self) -> Option<Timestamp> {
        self.seen.last().map(|(at, _)| *at)
    }

    /// The status of the `FileWatch`.
    pub(crate) fn status(&self) -> FileWatchStatus {
        let event = |(at, paths): &(Timestamp, Vec<PathBuf>)| FileEvent {
            seen_files: paths.iter().map(|path| path.display().to_string()).collect(),
            time: Some(*at),
        };
        FileWatchStatus {
            disable_status: None,
            error: self.error.clone().unwrap_or_default(),
            file_events: self.told().iter().map(event).collect(),
            last_event_time: self.last(),
            monitor_start_time: self.since,
        }
    }

    fn told(&self) -> &[(Timestamp, Vec<PathBuf>)] {
        let mut named = 0;
        let fits = |(_, paths): &&(Timestamp, Vec<PathBuf>)| {
            named += paths.len();
            named <= TOLD
        };
        let count = self.seen.iter().rev().take_while(fits).count();
        &self.seen[self.seen.len().saturating_sub(count.max(1))..]
    }
}

/// What a watch of this name has seen, whoever keeps it.
pub(super) fn events<'s>(state: &'s State, name: &str) -> Option<&'s FileEvents> {
    match state.objects.get(ObjectKind::FileWatch, name).map(|made| &made.run) {
        Some(Run::Files(run)) => Some(&run.events),
        Some(_) => None,
        None => state.file_events(name),
    }
}

pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let Some(Content::FileWatch(watch)) = state.objects.made.get(key).map(|made| &made.content) else {
        return;
    };
    let files = watch.spec.files(state.folder());
    let disable_source = watch.spec.disable_source.clone();
    let is_off = disable::is_off(state, key, disable_source.as_ref());
    let version = state.next_sequence();
    let Some(ObjectRecord { run: Run::Files(run), .. }) = state.objects.made.get_mut(key) else { return };
    if is_off {
        *run = FilesRun::default();
    } else if run.watched.as_ref().is_none_or(|(_, watched)| *watched != files) {
        *run = FilesRun { watched: Some((version, files)), ..FilesRun::default() };
    }
}

pub(crate) fn watching(state: &mut State, name: &str, version: u64) {
    let now = state.now;
    let key = ObjectKey::new(ObjectKind::FileWatch, name);
    if let Some(ObjectRecord { run: Run::Files(run), .. }) = state.objects.made.get_mut(&key)
        && run.watched.as_ref().is_some_and(|(current, _)| *current == version)
    {
        run.events.begin(now);
        state.objects.touch(&key);
        references::changed(state, &key);
    }
}

pub(crate) fn troubled(state: &mut State, name: &str, error: String) {
    let key = ObjectKey::new(ObjectKind::FileWatch, name);
    if let Some(ObjectRecord { run: Run::Files(run), .. }) = state.objects.made.get_mut(&key) {
        run.events.trouble(error);
        state.objects.touch(&key);
    }
}

/// Files were saved; what starts anew with them does.
pub(crate) fn changed(state: &mut State, name: &str, paths: Vec<PathBuf>) {
    let now = state.now;
    let key = ObjectKey::new(ObjectKind::FileWatch, name);
    let Some(ObjectRecord { run: Run::Files(run), .. }) = state.objects.made.get_mut(&key) else { return };
    run.events.note(now, paths);
    state.objects.touch(&key);
    references::changed(state, &key);
}

pub(super) fn plan(state: &State, key: &ObjectKey, run: &FilesRun) -> Plan {
    let Some((version, files)) = &run.watched else { return Plan::new() };
    Plan::from([Task::Watch {
        watch: WatchId::Object(key.name.clone()),
        version: *version,
        files: files.clone(),
        contents: Contents::default(),
        manner: manner(state, key),
    }])
}

/// As the live updates need it that copy what changes; of the first that has several sources, all are told together.
fn manner(state: &State, key: &ObjectKey) -> Manner {
    let made = |key: &ObjectKey| match &state.objects.made.get(key)?.content {
        Content::LiveUpdate(update) => Some((key.clone(), &update.spec)),
        _ => None,
    };
    let updates: Vec<_> = references::live_updates_of(state, key).filter_map(made).collect();
    let has_several = |key: &ObjectKey| references::watches_of(state, key).nth(1).is_some();
    let group =
        updates.iter().find(|(key, _)| has_several(key)).map(|(key, _)| format!("LiveUpdate/{}", key.name));
    let updates: Vec<_> = updates.iter().map(|(_, spec)| spec.live_update(state.folder())).collect();
    manner_of(updates.iter(), group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_told_whole_and_older_ones_as_far_as_there_is_room() {
        let told = |sizes: &[usize]| {
            let mut events = FileEvents::default();
            for size in sizes {
                events.note(Timestamp::ZERO, vec![PathBuf::from("/a"); *size]);
            }
            events.status().file_events.iter().map(|event| event.seen_files.len()).collect::<Vec<_>>()
        };
        assert_eq!(told(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(told(&[1, 1_500, 500]), [1_500, 500]);
        assert_eq!(told(&[1, TOLD + 1]), [TOLD + 1]);
    }
}
