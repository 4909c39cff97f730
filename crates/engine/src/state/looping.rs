//! Detects updates that cause themselves: a command that writes files its resource watches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::hold::Hold;

/// The number of updates in a row that may each be caused by writes of the one before.
const ROUNDS: u32 = 8;
/// The maximum number of files that are recorded.
const REMEMBERED: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Looping {
    rounds: u32,
    /// Files written in each of these rounds.
    files: BTreeSet<PathBuf>,
    /// Files written while the update ran, or just after.
    own: BTreeSet<PathBuf>,
    /// Something changed while nothing ran: the user is editing.
    edited: bool,
}

impl Looping {
    /// Records changed files; `own` if the running update, or the last one, has written them.
    pub(crate) fn note_changes<'a>(
        &mut self,
        own: bool,
        running: bool,
        paths: impl Iterator<Item = &'a PathBuf>,
    ) {
        self.edited |= !own;
        for path in paths {
            // While a resource is held, none of its updates can have written another file.
            self.edited |= !running && self.rounds >= ROUNDS && !self.files.contains(path);
            if own && self.own.len() < REMEMBERED {
                self.own.insert(path.clone());
            }
        }
    }

    /// Records the start of an update. Only an update caused by changed files alone continues a row.
    pub(crate) fn note_start(&mut self, by_files: bool) {
        let own = std::mem::take(&mut self.own);
        let edited = std::mem::take(&mut self.edited);
        if !by_files || edited || own.is_empty() {
            self.rounds = 0;
            self.files.clear();
            return;
        }
        let common: BTreeSet<PathBuf> = self.files.intersection(&own).cloned().collect();
        if self.rounds > 0 && !common.is_empty() {
            self.rounds += 1;
            self.files = common;
        } else {
            self.rounds = 1;
            self.files = own;
        }
    }

    /// Returns whether the next update would exceed the limit.
    pub(crate) fn is_runaway(&self) -> bool {
        self.rounds >= ROUNDS && !self.edited && self.own.iter().any(|path| self.files.contains(path))
    }

    pub(crate) fn hold(&self, shown: impl Fn(&Path) -> String) -> Hold {
        Hold::Loop { updates: self.rounds, files: self.files.iter().map(|path| shown(path)).collect() }
    }
}
