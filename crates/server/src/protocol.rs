//! What goes over the WebSocket at `/ws`, as JSON text, one message each.
//!
//! The page connects, gets [`ServerMessage::Hello`], then a complete `State`, then changes as they come. The state is
//! always the newest one: changes that happened while the page was busy arrive as one. Log lines come only to a page that
//! follows some, from the place and with the filter that it names; older ones it asks for at `/api/lines`.
//!
//! TypeScript sees these types in `web/src/generated/protocol.ts`, written by the test `bindings`.

use std::sync::Arc;
use std::time::Duration;

use lilt_api::{UIResource, UISession};
use lilt_model::log::Line;
use lilt_model::request::Request;
use lilt_model::{ResourceName, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A page that is further behind the end than this is given the newest lines in place of all.
pub const FOLLOWED_BEHIND: u64 = 20_000;

/// How many those are.
pub const LINES_AFTER_GAP: usize = 1_000;

/// How long a session says nothing to a page at most.
pub const QUIET: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage {
    /// First on every connection.
    Hello {
        /// Of lilt.
        version: String,
        /// Another one than before: another session, forget its logs.
        session_id: String,
        revision: u64,
        /// It is a snapshot, made then: nothing changes, and nothing can be asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        snapshot: Option<Timestamp>,
    },
    State {
        /// These are all resources there are: forget what you know.
        complete: bool,
        /// New or changed, whole, in no order.
        resources: Vec<Arc<UIResource>>,
        removed: Vec<ResourceName>,
        /// Only when changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        session: Option<Arc<UISession>>,
    },
    /// New lines of the log that is followed, in order.
    Lines {
        /// Which `Follow` this answers.
        follow: u64,
        lines: Vec<Line>,
        /// Where the page is now: all wanted lines before this number have been sent.
        next: u64,
        /// Lines before these were passed over, because there were too many.
        #[serde(default, skip_serializing_if = "is_false")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        gap: bool,
    },
    /// How far the log of the session reaches.
    Log {
        /// The number of the oldest line that is kept.
        begin: u64,
        /// The number that the next line will get.
        end: u64,
    },
    /// Buttons of the Tiltfile and of extensions, as the object API shows them.
    Buttons {
        /// These are all there are.
        complete: bool,
        #[cfg_attr(feature = "ts", ts(type = "Array<UIButton>"))]
        buttons: Vec<Value>,
        removed: Vec<String>,
    },
    /// A request that was not carried out, and why, in words for the user.
    Refused { message: String },
    /// Somebody is there: sent when there was nothing else to say for [`QUIET`]. A page that hears nothing for much longer
    /// has lost its session, though nobody closed the connection.
    Tick,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PageMessage {
    /// What people may ask of a session.
    Ask { request: Request },
    /// Send lines from this number on, and what comes. Ends what was followed before.
    Follow {
        /// Chosen by the page; comes back with the lines.
        follow: u64,
        /// Which lines, as in the query of `/api/lines`.
        query: String,
        from: u64,
    },
    /// No more lines.
    Unfollow,
}

fn is_false(value: &bool) -> bool {
    !*value
}
