//! What went wrong, and with what.

use std::fmt;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Problem {
    /// Usually a path.
    pub(crate) what: String,
    pub(crate) cause: String,
}

impl Problem {
    pub(crate) fn new(what: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { what: what.into(), cause: cause.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause.as_str() {
            "" => f.write_str(&self.what),
            cause => write!(f, "{}: {cause}", self.what),
        }
    }
}

/// Says which path an error is about.
pub(crate) trait About<T> {
    fn about(self, path: &Path) -> Result<T, Problem>;
}

impl<T, E: Into<io::Error>> About<T> for Result<T, E> {
    fn about(self, path: &Path) -> Result<T, Problem> {
        self.map_err(|error| Problem::new(path.display().to_string(), cause(&error.into())))
    }
}

/// The sentence of the system, without the number that is added to it.
pub(crate) fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
