//! Why a command failed, in the words that Kubernetes' users know.

use std::fmt;

use lilt_client::object_api::{ApiError, Refusal};
use lilt_model::Failure;

#[derive(Debug)]
pub enum Problem {
    /// The session said no.
    Refused(Box<Refusal>),
    /// What was typed, or what is wrong with a file.
    Words(String),
    /// No session, no network, a bug.
    Failed(Failure),
    /// Nobody reads what is printed.
    Output(std::io::Error),
    Several(Vec<Problem>),
}

impl Problem {
    pub fn words(text: impl Into<String>) -> Self {
        Problem::Words(lilt_model::os_error::plain(&text.into()))
    }

    /// One problem of many, nothing of none.
    pub fn all(mut problems: Vec<Problem>) -> Result<(), Problem> {
        match problems.len() {
            0 => Ok(()),
            1 => Err(problems.remove(0)),
            _ => Err(Problem::Several(problems)),
        }
    }

    /// Whether the object is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Problem::Refused(refusal) if refusal.reason == "NotFound")
    }

    pub fn is_refusal(&self, reason: &str) -> bool {
        matches!(self, Problem::Refused(refusal) if refusal.reason == reason)
    }

    /// Says what was being done: `error when creating "x.yaml"`.
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
            ApiError::Malformed(text) => Problem::words(text),
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
    fn refusals_say_what_was_being_done() {
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
