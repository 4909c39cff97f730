//! The objects and logs that readers see.
//!
//! The daemon is the only writer; page, terminal and API read. Readers ask for the changes since a revision, so that the
//! cost of a change depends on what changed and a slow reader costs nothing. This is the only crate with locks. No lock
//! is held while waiting, or while an object is written as JSON.
#![expect(clippy::disallowed_types, reason = "the store is where locks may be")]

mod change_index;
mod fragments;
mod history;
mod interner;
mod logs;
mod object;
mod query;
mod reader;
mod segments;
mod table;
mod template;
mod timeline;
mod typed;
mod writer;
mod writes;

use std::sync::{Arc, RwLock};

use tokio::sync::watch;

pub use history::{Expired, WatchEvent, WatchEventType};
pub use logs::{DEFAULT_LIMIT, Field, Filter, InvalidPattern, Lines, LogReader, LogWriter, Pattern, Span};
pub use object::{Draft, Key, Snapshot, new_uid};
pub use query::{QuerySubject, SessionQueries, SessionQuery};
pub use reader::Reader;
pub use segments::segment::LineRef;
pub use table::Changes;
pub use writer::Writer;
pub use writes::{Action, Refusal, WriteRequest};

/// Creates an empty store, with its only writer and the receiver of queries.
pub fn open(logs: LogReader) -> (Writer, SessionQueries, Reader) {
    let contents = Arc::new(RwLock::default());
    let (announce, announced) = watch::channel(0);
    let (sender, queries) = query::channel();
    let writer = Writer::new(Arc::clone(&contents), announce);
    (writer, queries, Reader::new(contents, announced, sender, logs))
}
