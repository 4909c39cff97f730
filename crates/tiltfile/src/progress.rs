//! What a slow load is doing.
//!
//! The thread that evaluates stores each statement in one atomic. The thread that supervises it reads that, also while
//! a single statement takes long. Everything else comes with the messages of the load.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lilt_model::Location;

use crate::source::Source;

/// When a load is first reported as slow.
const FIRST_REPORT: Duration = Duration::from_secs(1);
/// The longest time between two reports; before that, each comes after three times the time of the one before.
const MAX_REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// How much of a command is shown.
const MAX_COMMAND_LENGTH: usize = 120;

/// What a slow load is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Since the load began.
    pub elapsed: Duration,
    /// The statement that runs.
    pub location: Option<Location>,
    /// The command that runs, unless it is hidden.
    pub command: Option<String>,
    /// The Tiltfile and the files it has loaded so far.
    pub files: Vec<PathBuf>,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Still loading after {}s: {}", self.elapsed.as_secs(), self.activity())
    }
}

impl Progress {
    /// The line and the command that run.
    pub fn activity(&self) -> String {
        let location = self.location.as_ref().map(|at| format!("{}:{}", at.path.display(), at.line));
        match (location, &self.command) {
            (Some(location), Some(command)) => format!("{location} is running {command}"),
            (Some(location), None) => location,
            (None, Some(command)) => format!("running {command}"),
            (None, None) => "reading the Tiltfile".to_owned(),
        }
    }
}

/// The statement that runs. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Position(Arc<AtomicU64>);

impl Position {
    /// `file` counts from one, in the order in which the files were announced. `offset` is that of the rewritten text.
    pub(crate) fn set(&self, file: u32, offset: u32) {
        self.0.store(u64::from(file) << 32 | u64::from(offset), Ordering::Relaxed);
    }

    fn get(&self) -> (usize, usize) {
        let both = self.0.load(Ordering::Relaxed);
        ((both >> 32) as usize, (both & u64::from(u32::MAX)) as usize)
    }
}

/// What the thread that supervises a load needs of its state.
#[derive(Debug)]
pub(crate) struct Observer {
    position: Position,
    /// In the order in which they were announced.
    files: Vec<Arc<Source>>,
    command: Option<String>,
    next: Duration,
}

impl Observer {
    pub(crate) fn new(position: Position) -> Self {
        Self { position, files: Vec::new(), command: None, next: FIRST_REPORT }
    }

    pub(crate) fn add_file(&mut self, source: Arc<Source>) {
        self.files.push(source);
    }

    pub(crate) fn set_command(&mut self, command: Option<String>) {
        self.command = command;
    }

    /// Returns a report of a load that has run for this time, if one is due.
    pub(crate) fn report(&mut self, elapsed: Duration) -> Option<Progress> {
        if elapsed < self.next {
            return None;
        }
        self.next = elapsed + (elapsed * 2).min(MAX_REPORT_INTERVAL);
        let (file, offset) = self.position.get();
        let source = file.checked_sub(1).and_then(|index| self.files.get(index));
        let location = source.map(|source| {
            let (start, _) = source.original_range(offset, offset + 1);
            let (line, _) = source.line_and_column(start);
            Location { path: source.path().to_owned(), line, column: None }
        });
        let files = self.files.iter().map(|source| source.path().to_owned()).collect();
        Some(Progress { elapsed, location, command: self.command.clone(), files })
    }
}

/// Returns the beginning of a command, on one line.
pub(crate) fn shorten(command: &str) -> String {
    let first: String =
        command.trim().lines().next().unwrap_or_default().chars().take(MAX_COMMAND_LENGTH).collect();
    if first.len() == command.trim().len() { first } else { first + "…" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn slow_load_is_reported_after_a_second_and_then_less_often() {
        let mut observer = Observer::new(Position::default());
        let reported: Vec<u64> =
            (0..300).filter(|second| observer.report(seconds(*second)).is_some()).collect();
        assert_eq!(reported, [1, 3, 9, 27, 81, 141, 201, 261]);
    }

    #[test]
    fn progress_shows_the_line_of_the_users_text() {
        let position = Position::default();
        let mut observer = Observer::new(position.clone());
        let source = Source::new("/p/Tiltfile", "x = 1\nwhile True:\n\tlocal('a')\n".to_owned());
        let offset = source.rewritten().find("local").expect("it is copied");
        observer.add_file(Arc::new(source));
        position.set(1, u32::try_from(offset).expect("it is short"));
        let progress = observer.report(seconds(4)).expect("it is slow");
        assert_eq!(progress.to_string(), "Still loading after 4s: /p/Tiltfile:3");
        observer.set_command(Some(shorten("sleep 1000\necho done")));
        let progress = observer.report(seconds(90)).expect("it is slow");
        assert_eq!(progress.to_string(), "Still loading after 90s: /p/Tiltfile:3 is running sleep 1000…");
        assert_eq!(progress.files, [PathBuf::from("/p/Tiltfile")]);
    }
}
