//! The objects and logs that readers see.
//!
//! The daemon is the only writer; page, terminal and API read. Readers ask for what changed since a revision they
//! know, so that a change costs what it touches and a slow reader costs nothing. This is the only crate that may
//! lock; no lock is held while waiting.
#![expect(clippy::disallowed_types, reason = "the store is where locks may be")]

mod api;
mod logs;
mod objects;
mod segments;
mod timeline;
mod writes;

pub use api::{
    ApiReader, ApiWriter, Change, Draft, Expired, Happening, Key, Snapshot, new_uid, open as open_api,
};
pub use logs::{DEFAULT_LIMIT, Field, Filter, Lines, LogReader, LogWriter, NoPattern, Pattern, Span};
pub use objects::{Changes, Commit, Inspection, Reader, Wanted, Writer, open};
pub use segments::segment::LineRef;
pub use writes::{Action, Refusal, WriteRequest};
