//! What a load reports while it runs.

use std::fmt;
use std::sync::Arc;

use crate::progress::Progress;
use crate::source::Source;

/// A text that the Tiltfile printed, a warning (by `warn()` or of the load itself), or a progress report, in order.
/// `Display` formats them as Tilt does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMessage<'t> {
    Line(&'t str),
    Warning(&'t str),
    /// What a slow load is doing.
    Progress(&'t Progress),
}

impl fmt::Display for LoadMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Warning(warning) => write!(f, "WARNING: {warning}"),
            Self::Progress(progress) => progress.fmt(f),
        }
    }
}

/// A message of the thread that evaluates.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Line(String),
    Warning(String),
    /// A file begins to run.
    File(Arc<Source>),
    /// A command begins to run (its text) or has ended (none).
    Command(Option<String>),
}
