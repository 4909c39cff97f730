//! What a load says while it goes on.

use std::fmt;
use std::sync::Arc;

use crate::progress::Progress;
use crate::source::Source;

/// A text that the Tiltfile printed, or a warning: its own, by `warn()`, or one of the load. They come in the order in
/// which they were said. Shown with `Display`, as Tilt shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'t> {
    Line(&'t str),
    Warning(&'t str),
    /// The load takes long, and does this.
    Progress(&'t Progress),
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Warning(warning) => write!(f, "WARNING: {warning}"),
            Self::Progress(progress) => progress.fmt(f),
        }
    }
}

/// On its way from the thread that evaluates.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Line(String),
    Warning(String),
    /// A file whose statements run from now on.
    File(Arc<Source>),
    /// The command that runs from now on, or none.
    Command(Option<String>),
}
