//! The session's log: every line, by sequence number.
//!
//! Runners write bytes through a [`Span`]. A line gets its number when it is complete, or after a while without a line
//! end. Readers page and follow by number. Secrets are redacted before anything is stored.

mod assembler;
mod blocks;
mod field;
mod filter;
mod json_level;
mod pattern;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lilt_model::log::{Level, Source};
use lilt_model::secret::{Redactor, Secret};
use lilt_model::{ResourceName, SpanId, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::segments::batch::Batch;
use crate::segments::segment::{Marks, Owner, SpanOwner};
use crate::segments::{Segments, Sizes, SpanWriter, file};
use assembler::Assembler;
pub use field::Field;
pub use filter::Filter;
pub use pattern::{InvalidPattern, Pattern};
pub use reader::{Lines, LogReader};

/// The default limit of a session's log files, in bytes.
pub const DEFAULT_LIMIT: u64 = 4_000_000_000;
/// How many segments may wait for the disk before writers of lines wait, too.
const BACKLOG: usize = 8;
/// The pause after a failed attempt to write to disk.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// What followers of the log wait for.
#[derive(Clone, Copy, Debug, Default)]
struct Tip {
    end: u64,
    /// Whether there are lines without end, to be stored after a while.
    has_partial: bool,
}

/// The state shared by writers and readers.
struct Shared {
    segments: Mutex<Segments>,
    /// Held while files are written, so that they are written in order. Other locks are taken only briefly meanwhile.
    disk: Mutex<Disk>,
    /// Streams with an incomplete line that is to be stored after a while.
    waiting: Mutex<Vec<Arc<Mutex<Stream>>>>,
    redactor: Mutex<Redactor>,
    secrets: Mutex<Secrets>,
    /// The number of changes of the redactor.
    redactor_version: AtomicU64,
    announce: watch::Sender<Tip>,
    clock: fn() -> Timestamp,
}

/// The state of writing to disk.
#[derive(Default)]
struct Disk {
    /// Set after a failure: no attempt is made before this time.
    retry: Option<Instant>,
}

/// How many secrets are redacted that the project no longer declares.
const MAX_EARLIER_SECRETS: usize = 100;

/// The values to redact.
#[derive(Default)]
struct Secrets {
    /// Declared by the current project.
    declared: Vec<Secret>,
    /// Declared by earlier versions of the project, oldest first. What was started then may still print them.
    earlier: VecDeque<Secret>,
    used: Vec<Secret>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics in the middle of a change, so that a poisoned lock guards consistent data.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates spans to write to.
#[derive(Clone)]
pub struct LogWriter {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogWriter").finish_non_exhaustive()
    }
}

impl LogWriter {
    /// Opens a log that stores all lines in files of `folder`, or without a folder only recent lines.
    pub fn open(folder: Option<PathBuf>, clock: fn() -> Timestamp) -> (LogWriter, LogReader) {
        Self::open_limited(folder, DEFAULT_LIMIT, clock)
    }

    /// Opens a log like [`LogWriter::open`], with a limit of its files in bytes. Beyond it the oldest lines are deleted.
    pub fn open_limited(
        folder: Option<PathBuf>,
        limit: u64,
        clock: fn() -> Timestamp,
    ) -> (LogWriter, LogReader) {
        Self::open_sized(folder, Sizes::limited(limit), clock)
    }

    fn open_sized(folder: Option<PathBuf>, sizes: Sizes, clock: fn() -> Timestamp) -> (LogWriter, LogReader) {
        let shared = Arc::new(Shared {
            segments: Mutex::new(Segments::new(folder, sizes)),
            disk: Mutex::default(),
            waiting: Mutex::default(),
            redactor: Mutex::default(),
            secrets: Mutex::default(),
            redactor_version: AtomicU64::new(0),
            announce: watch::Sender::new(Tip::default()),
            clock,
        });
        let reader = LogReader::new(Arc::clone(&shared));
        (LogWriter { shared }, reader)
    }

    pub fn reader(&self) -> LogReader {
        LogReader::new(Arc::clone(&self.shared))
    }

    /// Begins a section of the log. Without a resource it is lilt's own.
    pub fn span(&self, id: SpanId, resource: Option<ResourceName>, source: Source) -> Span {
        let span = SpanOwner { id, owner: Owner { resource, source } };
        let writer = lock(&self.shared.segments).span_writer(span);
        let stream = Stream {
            writer,
            assembler: Assembler::default(),
            redactor: Redactor::default(),
            // Differs from all versions, so that the redactor is fetched with the first line.
            redactor_version: u64::MAX,
            is_waiting: false,
        };
        Span { shared: Arc::clone(&self.shared), stream: Arc::new(Mutex::new(stream)) }
    }

    /// Sets the declared secrets, which are redacted from now on. Up to [`MAX_EARLIER_SECRETS`] earlier ones still are.
    pub fn set_secrets<'s>(&self, secrets: impl IntoIterator<Item = &'s Secret>) {
        let secrets: Vec<Secret> = secrets.into_iter().cloned().collect();
        if lock(&self.shared.secrets).declared == secrets {
            return;
        }
        self.change_secrets(|kept| {
            let before = std::mem::replace(&mut kept.declared, secrets);
            kept.earlier.retain(|secret| !kept.declared.contains(secret) && !before.contains(secret));
            kept.earlier.extend(before.into_iter().filter(|secret| !kept.declared.contains(secret)));
            let surplus = kept.earlier.len().saturating_sub(MAX_EARLIER_SECRETS);
            kept.earlier.drain(..surplus);
        });
    }

    /// Adds secrets that are redacted until the end of the session, such as values that somebody entered.
    pub fn add_secrets(&self, secrets: Vec<Secret>) {
        let known = lock(&self.shared.secrets).used.clone();
        let new: Vec<Secret> = secrets.into_iter().filter(|secret| !known.contains(secret)).collect();
        if !new.is_empty() {
            self.change_secrets(|kept| kept.used.extend(new));
        }
    }

    fn change_secrets(&self, change: impl FnOnce(&mut Secrets)) {
        let mut secrets = lock(&self.shared.secrets);
        change(&mut secrets);
        *lock(&self.shared.redactor) =
            Redactor::new(secrets.declared.iter().chain(&secrets.earlier).chain(&secrets.used));
        self.shared.redactor_version.fetch_add(1, Ordering::Release);
    }

    /// Returns the redactor of the session's secrets.
    pub fn redactor(&self) -> Redactor {
        lock(&self.shared.redactor).clone()
    }
}

/// The state of a span's writer.
#[derive(Debug)]
struct Stream {
    writer: SpanWriter,
    assembler: Assembler,
    redactor: Redactor,
    /// The version of `redactor`.
    redactor_version: u64,
    /// Whether it is in `Shared::waiting`.
    is_waiting: bool,
}

impl Stream {
    /// Fetches the current redactor if it changed.
    fn refresh_redactor(&mut self, shared: &Shared) {
        let current = shared.redactor_version.load(Ordering::Acquire);
        if current != self.redactor_version {
            self.redactor = lock(&shared.redactor).clone();
            self.redactor_version = current;
        }
    }

    fn end_line(&mut self, shared: &Shared) {
        self.refresh_redactor(shared);
        let mut batch = Batch::default();
        self.assembler.end(&self.redactor, &mut batch);
        shared.append(&mut self.writer, Level::Info, &batch);
    }
}

impl Shared {
    fn append(&self, writer: &mut SpanWriter, level: Level, batch: &Batch) {
        if batch.is_empty() {
            return;
        }
        let time = (self.clock)();
        let mut segments = lock(&self.segments);
        segments.append(writer, time, level, batch);
        let mut end = segments.end();
        let backlog = segments.backlog();
        drop(segments);
        if backlog > 0 {
            self.persist(backlog >= BACKLOG);
            end = lock(&self.segments).end();
        }
        self.announce.send_if_modified(|tip| {
            let newer = tip.end < end;
            tip.end = tip.end.max(end);
            newer
        });
    }

    /// Writes sealed segments to their files.
    ///
    /// If another thread is doing that, leaves it to that thread unless `wait`.
    fn persist(&self, wait: bool) {
        let mut disk = match self.disk.try_lock() {
            Ok(guard) => guard,
            Err(_) if wait => lock(&self.disk),
            Err(_) => return,
        };
        if disk.retry.is_some_and(|retry| Instant::now() < retry) {
            return;
        }
        loop {
            let next = lock(&self.segments).next_unwritten();
            let Some((path, segment)) = next else { return };
            match file::write(&path, &segment) {
                Ok(size) => {
                    disk.retry = None;
                    let dropped = lock(&self.segments).written(segment.first, size);
                    if dropped.recovered {
                        self.warn("the log is written to disk again");
                    }
                    dropped.files.iter().for_each(|path| file::remove(path));
                    if dropped.first_time {
                        self.warn("the log has reached its limit on disk (--log-limit); from here on its oldest lines are given up");
                    }
                }
                Err(error) => {
                    file::remove(&path);
                    disk.retry = Some(Instant::now() + RETRY_PAUSE);
                    if lock(&self.segments).write_failed() {
                        let error = lilt_model::os_error::plain(&error.to_string());
                        self.warn(&format!(
                            "cannot write the log to disk ({error}); until that works again, only recent lines are kept"
                        ));
                    }
                    return;
                }
            }
        }
    }

    /// Appends a warning of the store itself.
    fn warn(&self, words: &str) {
        let mut batch = Batch::default();
        batch.push(&format!("WARNING: {words}"), Marks::default());
        let time = (self.clock)();
        let owner = Owner { resource: None, source: Source::Runtime };
        let mut segments = lock(&self.segments);
        let mut writer = segments.span_writer(SpanOwner { id: SpanId::new("log"), owner });
        segments.append(&mut writer, time, Level::Warn, &batch);
    }

    /// Adds a stream with an incomplete line to those waiting.
    fn add_waiting(&self, stream: &Arc<Mutex<Stream>>, state: &mut Stream) {
        if state.is_waiting || state.assembler.due().is_none() {
            return;
        }
        state.is_waiting = true;
        let mut waiting = lock(&self.waiting);
        waiting.push(Arc::clone(stream));
        // While holding the lock, so that the tip agrees with the list.
        self.announce.send_if_modified(|tip| !std::mem::replace(&mut tip.has_partial, true));
    }

    /// Stores incomplete lines that have waited long enough.
    fn store_due(&self) {
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        if waiting.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut still = Vec::new();
        for stream in waiting {
            let mut guard = lock(&stream);
            let state = &mut *guard;
            state.refresh_redactor(self);
            let mut batch = Batch::default();
            state.assembler.store_due(&state.redactor, now, &mut batch);
            self.append(&mut state.writer, Level::Info, &batch);
            state.is_waiting = state.assembler.due().is_some();
            let is_waiting = state.is_waiting;
            drop(guard);
            if is_waiting {
                still.push(stream);
            }
        }
        let mut waiting = lock(&self.waiting);
        waiting.append(&mut still);
        self.announce.send_if_modified(|tip| {
            tip.has_partial = !waiting.is_empty();
            false
        });
    }
}

/// A section of the log, written by one runner.
pub struct Span {
    shared: Arc<Shared>,
    stream: Arc<Mutex<Stream>>,
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Span").finish_non_exhaustive()
    }
}

impl Span {
    /// Appends raw output.
    pub fn write(&mut self, bytes: &[u8]) {
        let mut guard = lock(&self.stream);
        let state = &mut *guard;
        state.refresh_redactor(&self.shared);
        let mut batch = Batch::default();
        state.assembler.write(bytes, &state.redactor, Instant::now(), &mut batch);
        self.shared.append(&mut state.writer, Level::Info, &batch);
        self.shared.add_waiting(&self.stream, state);
    }

    /// Appends a message of lilt, which may have several lines.
    pub fn print(&mut self, level: Level, text: &str) {
        self.put(level, text, Marks::default(), Marks::default());
    }

    pub fn info(&mut self, text: &str) {
        self.print(Level::Info, text);
    }

    /// Appends the headline of an update, after an empty line.
    pub fn headline(&mut self, text: &str) {
        self.put(Level::Info, &format!("\n{text}"), Marks::HEADLINE, Marks::HEADLINE);
    }

    /// Ends an incomplete line.
    pub fn end_line(&mut self) {
        lock(&self.stream).end_line(&self.shared);
    }

    fn put(&mut self, level: Level, text: &str, mut marks: Marks, others: Marks) {
        let mut state = lock(&self.stream);
        state.end_line(&self.shared);
        let mut batch = Batch::default();
        for line in state.redactor.redact(text).split('\n') {
            assembler::put_line(line, marks, &mut batch);
            marks = others;
        }
        self.shared.append(&mut state.writer, level, &batch);
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.end_line();
    }
}
