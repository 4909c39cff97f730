//! Log lines as data.

use serde::{Deserialize, Serialize};

use crate::names::{ResourceName, SpanId};
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    #[default]
    Info,
    Warn,
    Error,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::Info, Level::Warn, Level::Error];

    pub fn as_str(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// Which half of a resource's life a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Build,
    Runtime,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Build => "build",
            Source::Runtime => "runtime",
        }
    }
}

/// One line, or a piece of one: output that has no line end for a while, or none for very long, comes in pieces.
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
    /// This piece goes on where the last one of its span ended.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continues: bool,
    /// The line has not ended with this piece.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
    /// Where an update begins; shown whatever level is asked for, so that one sees which update the others are of.
    #[serde(default, skip_serializing_if = "is_false")]
    pub headline: bool,
}

fn is_false(value: &bool) -> bool {
    !*value
}
