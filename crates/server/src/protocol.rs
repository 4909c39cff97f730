//! The messages of the WebSocket at `/ws`, each a JSON text.
//!
//! The page connects, gets [`ServerMessage::Hello`], then a complete `State`, then changes. It always gets the newest
//! state: changes while it was busy arrive as one. Log lines are sent only to a page that follows, from the line and with
//! the filter of its request; it reads older ones from `/api/lines`.
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

/// A page that is further behind the end of the log than this gets only the newest lines.
pub const MAX_FOLLOW_LAG: u64 = 20_000;

/// The number of lines that such a page gets.
pub const LINES_AFTER_GAP: usize = 1_000;

/// The maximum time between two messages to a page.
pub const TICK_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage {
    /// The first message of every connection.
    Hello {
        /// The version of lilt.
        version: String,
        /// Identifies the session. If it differs from that of the last connection, logs are to be forgotten.
        session_id: String,
        revision: u64,
        /// The time of the snapshot, if it is one: nothing changes, and requests are refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        snapshot: Option<Timestamp>,
    },
    State {
        /// Whether these are all resources, so that others are to be forgotten.
        complete: bool,
        /// New or changed resources, complete, in no order.
        resources: Vec<Arc<UIResource>>,
        removed: Vec<ResourceName>,
        /// Only if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        session: Option<Arc<UISession>>,
    },
    /// New lines of the followed log, in order.
    Lines {
        /// The `Follow` that these lines belong to.
        follow: u64,
        lines: Vec<Line>,
        /// The position of the page: all matching lines before this number have been sent.
        next: u64,
        /// Whether lines before these were skipped, because there were too many.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        gap: bool,
    },
    /// The extent of the session's log.
    Log {
        /// The number of the oldest stored line.
        begin: u64,
        /// The number that the next line will get.
        end: u64,
    },
    /// Buttons of the Tiltfile and of extensions, as in the object API.
    Buttons {
        /// Whether these are all buttons.
        complete: bool,
        #[cfg_attr(feature = "ts", ts(type = "Array<UIButton>"))]
        buttons: Vec<Value>,
        removed: Vec<String>,
    },
    /// A request was refused, with the reason for the user.
    Refused { message: String },
    /// Sent if there was no other message for [`TICK_INTERVAL`]. A page without messages for much longer has lost its
    /// session, although nobody closed the connection.
    Tick,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PageMessage {
    /// A request to the session.
    Ask { request: Request },
    /// Send lines from this number on, and new ones. Replaces what was followed before.
    Follow {
        /// Chosen by the page; returned with the lines.
        follow: u64,
        /// The filter, as in the query of `/api/lines`.
        query: String,
        from: u64,
    },
    /// Stop sending lines.
    Unfollow,
}
