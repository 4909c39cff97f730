//! What is watched, and what was saved.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use lilt_api::ObjectKind;
use lilt_model::ResourceName;
use lilt_model::Timestamp;
use lilt_model::files::{Contents, FileSet};
use serde::Serialize;

use crate::event::WatchId;
use crate::state::State;

/// Events that are remembered; older ones are forgotten.
const REMEMBERED: usize = 20;

/// The watches of `FileWatch` objects. The others are kept with their Tiltfile or resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct FileWatches {
    /// By the name of the object. One that is switched off has none.
    pub(super) objects: BTreeMap<String, FileWatch>,
}

/// A watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct FileWatch {
    files: FileSet,
    /// Grows when the files become others.
    version: u64,
    /// What the files held when they were read: one that holds something else counts as changed.
    contents: Contents,
    pub(super) events: FileEvents,
}

/// What a watch has seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct FileEvents {
    /// From when on no change is missed.
    pub(super) since: Option<Timestamp>,
    pub(super) seen: Vec<(Timestamp, Vec<PathBuf>)>,
    /// Why changes may be missed.
    pub(super) error: Option<String>,
}

static NO_EVENTS: FileEvents = FileEvents { since: None, seen: Vec::new(), error: None };

impl FileWatch {
    pub(crate) fn new(files: FileSet, version: u64) -> Self {
        Self { files, version, ..Self::default() }
    }

    pub(crate) fn files(&self) -> &FileSet {
        &self.files
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    pub(crate) fn events(&self) -> &FileEvents {
        &self.events
    }

    /// Whether no change to these files is missed.
    pub(crate) fn is_ready(&self) -> bool {
        self.events.since.is_some()
    }

    /// Watches other files from now on, and goes on remembering what was saved.
    pub(crate) fn replace_files(&mut self, files: FileSet, contents: Contents, version: u64) {
        if self.files != files {
            self.files = files;
            self.version = version.max(self.version + 1);
            self.contents = contents;
        }
    }

    /// Watches these paths, too.
    pub(crate) fn add_entries(&mut self, paths: Vec<PathBuf>) {
        let files = &mut self.files;
        let is_new = |path: &PathBuf| !files.entries.contains(path) && !files.roots.contains(path);
        let new: Vec<PathBuf> = paths.into_iter().filter(is_new).collect();
        if !new.is_empty() {
            self.version += u64::from(!files.is_empty());
            files.entries.extend(new);
        }
    }
}

impl FileEvents {
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.since.get_or_insert(now);
    }

    pub(super) fn add(&mut self, now: Timestamp, paths: Vec<PathBuf>) {
        // Always later than the one before, though a clock may be set back: who follows it must see that it is new.
        let later = self.last().map(|last| last.plus(Duration::from_micros(1)));
        self.seen.push((later.map_or(now, |later| later.max(now)), paths));
        let surplus = self.seen.len().saturating_sub(REMEMBERED);
        self.seen.drain(..surplus);
    }

    /// Whether no change is missed.
    pub(crate) fn has_begun(&self) -> bool {
        self.since.is_some()
    }

    /// The saves after a time.
    pub(crate) fn after(&self, time: Option<Timestamp>) -> impl Iterator<Item = &(Timestamp, Vec<PathBuf>)> {
        self.seen.iter().filter(move |(at, _)| time.is_none_or(|time| *at > time))
    }

    /// When one of these was last saved, as far as it is remembered.
    pub(crate) fn last_of(&self, paths: &[PathBuf]) -> Option<Timestamp> {
        let mut newest_first = self.seen.iter().rev();
        newest_first.find(|(_, seen)| seen.iter().any(|path| paths.contains(path))).map(|(at, _)| *at)
    }

    pub(crate) fn last(&self) -> Option<Timestamp> {
        self.seen.last().map(|(at, _)| *at)
    }
}

impl State {
    /// What the `FileWatch` of this name has seen, be it an object or the watch of a Tiltfile or resource.
    pub(crate) fn file_events(&self, name: &str) -> Option<&FileEvents> {
        if self.objects.get(ObjectKind::FileWatch, name).is_some() {
            return Some(self.file_watches.objects.get(name).map_or(&NO_EVENTS, |watch| &watch.events));
        }
        if let Some(tiltfile) = name.strip_prefix(WatchId::OF_TILTFILE)
            && let Some(tiltfile) = self.tiltfile_named(&ResourceName::new(tiltfile))
        {
            return Some(&tiltfile.watch.events);
        }
        let mut watches = self.resources.values().flat_map(|resource| &resource.watches);
        watches.find(|(id, _)| id.name() == name).map(|(_, watch)| &watch.events)
    }

    pub(super) fn file_watch_mut(&mut self, id: &WatchId) -> Option<&mut FileWatch> {
        match id {
            WatchId::Tiltfile(name) => Some(&mut self.tiltfile_named_mut(name)?.watch),
            WatchId::Object(name) => self.file_watches.objects.get_mut(name),
            WatchId::Local(name) | WatchId::Image(name, _) | WatchId::Deploy(name) => {
                self.resources.get_mut(name)?.watches.get_mut(id)
            }
        }
    }
}
