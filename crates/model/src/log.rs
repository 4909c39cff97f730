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

/// Whether a line comes from an update or from the running resource.
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

/// A line, or a part of one: output without a line end is split after a while, or when it gets too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Line {
    /// The number of the line in the session, without gaps.
    pub seq: u64,
    pub time: Timestamp,
    /// None: the line is lilt's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceName>,
    pub span: SpanId,
    pub source: Source,
    pub level: Level,
    /// Without the line end; may contain ANSI sequences.
    pub text: String,
    /// Whether this part continues the previous one of its span.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// Whether the line continues after this part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Whether this is the first line of an update. Shown at every level, so that readers see which update lines belong to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headline: bool,
}
