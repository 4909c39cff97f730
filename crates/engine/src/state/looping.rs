//! Notices updates that cause themselves: a command that writes what its resource watches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::hold::Hold;

/// So many updates in a row may each be caused by what the one before it wrote.
const ROUNDS: u32 = 8;
/// More files than these explain nothing better.
const REMEMBERED: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Looping {
    rounds: u32,
    /// Written in each of these rounds.
    files: BTreeSet<PathBuf>,
    /// Written while the update ran, or just after.
    own: BTreeSet<PathBuf>,
    /// Something changed while nothing ran: somebody is at work.
    edited: bool,
}

impl Looping {
    /// Files changed; `own` if the update that runs, or the last one, has written them.
    pub(crate) fn note_changes<'a>(
        &mut self,
        own: bool,
        running: bool,
        paths: impl Iterator<Item = &'a PathBuf>,
    ) {
        self.edited |= !own;
        for path in paths {
            // Of one that is held nothing runs that could have written another file.
            self.edited |= !running && self.rounds >= ROUNDS && !self.files.contains(path);
            if own && self.own.len() < REMEMBERED {
                self.own.insert(path.clone());
            }
        }
    }

    /// An update starts. Only one that changed files alone have caused goes on with a row.
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

    /// The next update would be one too many.
    pub(crate) fn is_runaway(&self) -> bool {
        self.rounds >= ROUNDS && !self.edited && self.own.iter().any(|path| self.files.contains(path))
    }

    pub(crate) fn hold(&self, shown: impl Fn(&Path) -> String) -> Hold {
        Hold::Loop { updates: self.rounds, files: self.files.iter().map(|path| shown(path)).collect() }
    }
}
