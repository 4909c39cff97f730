//! Writes the session's events to a file, so that they can be replayed.

use std::io::Write;
use std::path::Path;

use lilt_engine::{Entry, Event, Options, Recorder};
use lilt_model::{Failure, Timestamp};

pub(crate) struct Recording {
    recorder: Recorder,
    file: Box<dyn Write + Send>,
    /// Something was written since the last turn.
    dirty: bool,
}

impl Recording {
    pub(crate) fn begin(path: &Path, options: &Options) -> Result<Self, Failure> {
        let file = lilt_host::files::create_private(path).map_err(|error| {
            Failure::environment(format!("{} cannot be written: {error}", path.display()))
                .hint("--record names the file to which the session is recorded")
        })?;
        let mut recording = Self { recorder: Recorder::default(), file: Box::new(file), dirty: false };
        recording.write(Entry::Session { options: options.clone() });
        Ok(recording)
    }

    pub(crate) fn event(&mut self, at: Timestamp, event: &Event) {
        self.write(Entry::Event { at, fact: Box::new(event.clone()) });
    }

    pub(crate) fn turn(&mut self) {
        if std::mem::take(&mut self.dirty) {
            self.write(Entry::Turn);
            self.dirty = false;
            if let Err(error) = self.file.flush() {
                tracing::warn!(%error, "the recording cannot be written");
            }
        }
    }

    fn write(&mut self, entry: Entry) {
        self.dirty = true;
        let line = self.recorder.line(entry);
        if let Err(error) = writeln!(self.file, "{line}") {
            tracing::warn!(%error, "the recording cannot be written");
        }
    }
}
