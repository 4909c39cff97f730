//! The error type of the agent.

use std::fmt;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(crate) struct AgentError {
    /// What the error is about, usually a path.
    pub(crate) subject: String,
    pub(crate) cause: String,
}

impl AgentError {
    pub(crate) fn new(subject: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { subject: subject.into(), cause: cause.into() }
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause.as_str() {
            "" => f.write_str(&self.subject),
            cause => write!(f, "{}: {cause}", self.subject),
        }
    }
}

/// Adds the path that an error is about.
pub(crate) trait WithPath<T> {
    fn with_path(self, path: &Path) -> Result<T, AgentError>;
}

impl<T, E: Into<io::Error>> WithPath<T> for Result<T, E> {
    fn with_path(self, path: &Path) -> Result<T, AgentError> {
        self.map_err(|error| AgentError::new(path.display().to_string(), cause(&error.into())))
    }
}

/// Returns the message of an IO error without the error number.
pub(crate) fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
