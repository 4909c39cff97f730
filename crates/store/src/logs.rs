//! The session's log: every line, by sequence number.
//!
//! Runners write bytes through a [`Span`]; lines get a number when they are complete, or have waited long enough.
//! Readers page and follow by number. Secrets are taken out before anything is kept.

mod assembler;
pub(crate) mod batch;
mod blocks;
mod claim;
mod field;
mod filter;
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

use crate::segments::segment::{Marks, Owner, SpanOwner};
use crate::segments::{Scribe, Segments, Sizes, file};
use assembler::Assembler;
use batch::Batch;
pub use field::Field;
pub use filter::Filter;
pub use pattern::{NoPattern, Pattern};
pub use reader::{Lines, LogReader};

/// What the files of a session may take if nothing else is said.
pub const DEFAULT_LIMIT: u64 = 4_000_000_000;
/// Segments that may wait for the disk before those who write lines wait, too.
const BACKLOG: usize = 8;
/// Between two attempts to write to a disk that took nothing.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// What followers are told.
#[derive(Clone, Copy, Debug, Default)]
struct Tip {
    end: u64,
    /// There are lines without end, to be shown after a while.
    partial: bool,
}

/// All that writers and readers share.
struct Shared {
    segments: Mutex<Segments>,
    /// Held while files are written, so that they are in order; never together with another lock for long.
    disk: Mutex<Disk>,
    /// Those with something to show though its line has not ended.
    waiting: Mutex<Vec<Arc<Mutex<Stream>>>>,
    redactor: Mutex<Redactor>,
    secrets: Mutex<Secrets>,
    /// Counts the changes of the redactor.
    redactors: AtomicU64,
    announce: watch::Sender<Tip>,
    clock: fn() -> Timestamp,
}

/// How writing to the disk goes.
#[derive(Default)]
struct Disk {
    /// Writing has failed: nothing is written before this time.
    retry: Option<Instant>,
}

/// How many secrets are hidden that the project no longer declares.
const EARLIER: usize = 100;

/// What is hidden.
#[derive(Default)]
struct Secrets {
    /// Of the project as it is now.
    declared: Vec<Secret>,
    /// Of the project as it was, oldest first: what was started then may still print them.
    earlier: VecDeque<Secret>,
    used: Vec<Secret>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of ours panics with a lock half way through a change; what others see is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands out spans to write to.
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
    /// Keeps all lines in files of `folder`; without one, only the recent lines. The clock is the host's.
    pub fn open(folder: Option<PathBuf>, clock: fn() -> Timestamp) -> (LogWriter, LogReader) {
        Self::open_limited(folder, DEFAULT_LIMIT, clock)
    }

    /// The same with a limit for the files, in bytes: beyond it the oldest lines are given up.
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
            redactors: AtomicU64::new(0),
            announce: watch::Sender::new(Tip::default()),
            clock,
        });
        let reader = LogReader::new(Arc::clone(&shared));
        (LogWriter { shared }, reader)
    }

    pub fn reader(&self) -> LogReader {
        LogReader::new(Arc::clone(&self.shared))
    }

    /// Begins a section of log. `resource` none means lilt itself.
    pub fn span(&self, id: SpanId, resource: Option<ResourceName>, source: Source) -> Span {
        let span = SpanOwner { id, owner: Owner { resource, source } };
        let scribe = lock(&self.shared.segments).scribe(span);
        let stream = Stream {
            scribe,
            assembler: Assembler::default(),
            redactor: Redactor::default(),
            // Another than any there is: it is fetched with the first line.
            redactors: u64::MAX,
            waits: false,
        };
        Span { shared: Arc::clone(&self.shared), stream: Arc::new(Mutex::new(stream)) }
    }

    /// Takes these secrets out of all lines from now on. Those before stay hidden, up to [`EARLIER`] of them.
    pub fn hide<'s>(&self, secrets: impl IntoIterator<Item = &'s Secret>) {
        let secrets: Vec<Secret> = secrets.into_iter().cloned().collect();
        if lock(&self.shared.secrets).declared == secrets {
            return;
        }
        self.change_secrets(|kept| {
            let before = std::mem::replace(&mut kept.declared, secrets);
            kept.earlier.retain(|secret| !kept.declared.contains(secret) && !before.contains(secret));
            kept.earlier.extend(before.into_iter().filter(|secret| !kept.declared.contains(secret)));
            let surplus = kept.earlier.len().saturating_sub(EARLIER);
            kept.earlier.drain(..surplus);
        });
    }

    /// And these, whatever else is hidden later: such as somebody used once.
    pub fn hide_also(&self, secrets: Vec<Secret>) {
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
        self.shared.redactors.fetch_add(1, Ordering::Release);
    }

    /// What takes the session's secrets out of a text.
    pub fn redactor(&self) -> Redactor {
        lock(&self.shared.redactor).clone()
    }
}

/// One writer's way into the store.
#[derive(Debug)]
struct Stream {
    scribe: Scribe,
    assembler: Assembler,
    redactor: Redactor,
    /// Which one this is.
    redactors: u64,
    /// It is among those that wait.
    waits: bool,
}

impl Stream {
    /// Makes sure that the secrets that are known now are taken out.
    fn refresh(&mut self, shared: &Shared) {
        let current = shared.redactors.load(Ordering::Acquire);
        if current != self.redactors {
            self.redactor = lock(&shared.redactor).clone();
            self.redactors = current;
        }
    }

    fn end_line(&mut self, shared: &Shared) {
        self.refresh(shared);
        let mut batch = Batch::default();
        self.assembler.end(&self.redactor, &mut batch);
        shared.append(&mut self.scribe, Level::Info, &batch);
    }
}

impl Shared {
    fn append(&self, scribe: &mut Scribe, level: Level, batch: &Batch) {
        if batch.is_empty() {
            return;
        }
        let time = (self.clock)();
        let mut segments = lock(&self.segments);
        segments.append(scribe, time, level, batch);
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

    /// Writes sealed segments to their files. Someone who is at it already does it for us, unless that takes too long.
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
                        self.tell("the log is written to disk again");
                    }
                    dropped.files.iter().for_each(|path| file::remove(path));
                    if dropped.first_time {
                        self.tell("the log has reached its limit on disk (--log-limit); from here on its oldest lines are given up");
                    }
                }
                Err(error) => {
                    file::remove(&path);
                    disk.retry = Some(Instant::now() + RETRY_PAUSE);
                    if lock(&self.segments).write_failed() {
                        let error = lilt_model::os_error::plain(&error.to_string());
                        self.tell(&format!(
                            "cannot write the log to disk ({error}); until that works again, only recent lines are kept"
                        ));
                    }
                    return;
                }
            }
        }
    }

    /// A line of the store's own.
    fn tell(&self, words: &str) {
        let mut batch = Batch::default();
        batch.push(&format!("WARNING: {words}"), Marks::default());
        let time = (self.clock)();
        let owner = Owner { resource: None, source: Source::Runtime };
        let mut segments = lock(&self.segments);
        let mut scribe = segments.scribe(SpanOwner { id: SpanId::new("log"), owner });
        segments.append(&mut scribe, time, Level::Warn, &batch);
    }

    /// Sees to it that what has waited long enough is shown.
    fn wait_with(&self, stream: &Arc<Mutex<Stream>>, state: &mut Stream) {
        if state.waits || state.assembler.due().is_none() {
            return;
        }
        state.waits = true;
        let mut waiting = lock(&self.waiting);
        waiting.push(Arc::clone(stream));
        // With the lock, so that the tip says what is so.
        self.announce.send_if_modified(|tip| !std::mem::replace(&mut tip.partial, true));
    }

    /// Shows lines without end that have waited long enough.
    fn show_due(&self) {
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        if waiting.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut still = Vec::new();
        for stream in waiting {
            let mut guard = lock(&stream);
            let state = &mut *guard;
            state.refresh(self);
            let mut batch = Batch::default();
            state.assembler.show_due(&state.redactor, now, &mut batch);
            self.append(&mut state.scribe, Level::Info, &batch);
            state.waits = state.assembler.due().is_some();
            let waits = state.waits;
            drop(guard);
            if waits {
                still.push(stream);
            }
        }
        let mut waiting = lock(&self.waiting);
        waiting.append(&mut still);
        self.announce.send_if_modified(|tip| {
            tip.partial = !waiting.is_empty();
            false
        });
    }
}

/// One section of log, written by one runner.
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
        state.refresh(&self.shared);
        let mut batch = Batch::default();
        state.assembler.write(bytes, &state.redactor, Instant::now(), &mut batch);
        self.shared.append(&mut state.scribe, Level::Info, &batch);
        self.shared.wait_with(&self.stream, state);
    }

    /// Appends one or more lines of our own: one message.
    pub fn print(&mut self, level: Level, text: &str) {
        self.put(level, text, Marks::default(), Marks::default());
    }

    pub fn info(&mut self, text: &str) {
        self.print(Level::Info, text);
    }

    /// Begins an update: an empty line and what it is about.
    pub fn headline(&mut self, text: &str) {
        self.put(Level::Info, &format!("\n{text}"), Marks::HEADLINE, Marks::HEADLINE);
    }

    /// Ends a line that was left open.
    pub fn end_line(&mut self) {
        lock(&self.stream).end_line(&self.shared);
    }

    fn put(&mut self, level: Level, text: &str, mut marks: Marks, others: Marks) {
        let mut state = lock(&self.stream);
        state.end_line(&self.shared);
        let mut batch = Batch::default();
        for line in state.redactor.redact(text).split('\n') {
            assembler::put_own(line, marks, &mut batch);
            marks = others;
        }
        self.shared.append(&mut state.scribe, level, &batch);
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.end_line();
    }
}
