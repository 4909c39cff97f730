//! What a load says while it goes on.

use std::fmt;

/// A text that the Tiltfile printed, or a warning: its own, by `warn()`, or one of the load. They come in the order in
/// which they were said. Shown with `Display`, as Tilt shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'t> {
    Line(&'t str),
    Warning(&'t str),
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Warning(warning) => write!(f, "WARNING: {warning}"),
        }
    }
}

/// On its way from the thread that evaluates.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Line(String),
    Warning(String),
}

impl Message {
    pub(crate) fn as_said(&self) -> Said<'_> {
        match self {
            Self::Line(line) => Said::Line(line),
            Self::Warning(warning) => Said::Warning(warning),
        }
    }
}
