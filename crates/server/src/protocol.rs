//! What goes over the WebSocket at `/ws`, as JSON text, one message each.
//!
//! The page connects, gets [`ServerMessage::Hello`], then a complete `State`, then changes and log lines as they
//! come. The state is always the newest one: changes that happened while the page was busy arrive as one. A page that
//! comes back asks for `/ws?session=ID&from=SEQ` and gets only the log lines it lacks, if it is still the same session
//! and they are not too many; lines that do not continue what the page has mean that it starts its log anew.
//!
//! TypeScript sees these types in `web/src/generated/protocol.ts`, written by the test `bindings`.

use std::sync::Arc;

use lilt_model::ResourceName;
use lilt_model::api::{UIResource, UISession};
use lilt_model::log::Line;
use serde::{Deserialize, Serialize};

/// The most lines in one `Logs` message.
pub const LINES_PER_MESSAGE: usize = 2_000;

/// How many lines a page gets at first.
pub const LINES_AT_START: u64 = 5_000;

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
    /// New lines, in order.
    Logs {
        lines: Vec<Line>,
        /// The number of the line after these.
        end: u64,
    },
    /// The answer to `Earlier`: lines just before those asked about, in order; none if nothing older is kept.
    EarlierLogs { lines: Vec<Line>, before: u64 },
    /// A request that was not carried out, and why, in words for the user.
    Refused { message: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PageMessage {
    /// Update this resource now.
    Trigger { resource: ResourceName },
    /// Send lines from before this number.
    Earlier { before: u64 },
}
