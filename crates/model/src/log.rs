//! Log lines as data.

use serde::{Deserialize, Serialize};

use crate::names::{ResourceName, SpanId};
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    #[default]
    Info,
    Warn,
    Error,
}

/// Which half of a resource's life a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Build,
    Runtime,
}

/// One complete line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Line {
    /// Counts all lines of the session, without gaps.
    pub seq: u64,
    pub time: Timestamp,
    /// None: lilt itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceName>,
    pub span: SpanId,
    pub source: Source,
    pub level: Level,
    /// Without the line end; may contain ANSI sequences.
    pub text: String,
}
