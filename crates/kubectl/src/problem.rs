//! Errors of commands, with kubectl's messages.

use std::fmt;

use lilt_client::object_api::{ApiError, Refusal};
use lilt_model::Failure;

#[derive(Debug)]
pub enum Problem {
    /// The session refused the request.
    Refused(Box<Refusal>),
    /// Wrong arguments, or an invalid file.
    Words(String),
    /// No session, no connection, or a bug.
    Failed(Failure),
    /// The output cannot be written.
    Output(std::io::Error),
    Several(Vec<Problem>),
}

impl Problem {
    pub fn message(text: impl Into<String>) -> Self {
        Problem::Words(lilt_model::os_error::plain(&text.into()))
    }

    /// Combines problems into one error; `Ok` if there are none.
    pub fn all(mut problems: Vec<Problem>) -> Result<(), Problem> {
        match problems.len() {
            0 => Ok(()),
            1 => Err(problems.remove(0)),
            _ => Err(Problem::Several(problems)),
        }
    }

    /// Returns whether the object does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Problem::Refused(refusal) if refusal.reason == "NotFound")
    }

    pub fn is_refusal(&self, reason: &str) -> bool {
        matches!(self, Problem::Refused(refusal) if refusal.reason == reason)
    }

    /// Adds what failed, such as `error when creating "x.yaml"`.
    #[must_use]
    pub fn when(mut self, doing: &str) -> Self {
        if let Problem::Refused(refusal) = &mut self
            && refusal.reason != "Invalid"
        {
            refusal.message = format!("{doing}: {}", refusal.message);
        }
        self
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Problem::Failed(failure)
    }
}

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Refused(refusal) => Problem::Refused(refusal),
            ApiError::Malformed(text) => Problem::message(text),
            ApiError::Failed(failure) => Problem::Failed(failure),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Refused(refusal) => refusal.fmt(f),
            Problem::Words(words) => write!(f, "error: {words}"),
            Problem::Failed(failure) => write!(f, "Error: {failure}"),
            Problem::Output(error) => write!(f, "Error: {error}"),
            Problem::Several(problems) => {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_failed_action() {
        let body = br#"{"reason": "NotFound", "message": "cmds.tilt.dev \"x\" not found"}"#;
        let missing = Problem::Refused(Box::new(Refusal::read(404, body)));
        assert!(missing.is_missing());
        let told = missing.when("error when patching \"f.yaml\"").to_string();
        assert_eq!(
            told,
            "Error from server (NotFound): error when patching \"f.yaml\": cmds.tilt.dev \"x\" not found"
        );
    }
}
