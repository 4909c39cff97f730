//! Why a command failed, in the words that Kubernetes' users know.

use std::fmt;

use lilt_model::Failure;
use serde_json::Value;

#[derive(Debug)]
pub(crate) enum Problem {
    /// The session said no.
    Refused(Box<Refusal>),
    /// What was typed, or what is wrong with a file.
    Words(String),
    /// No session, no network, a bug.
    Failed(Failure),
    /// Nobody reads what is printed.
    Output(anyhow::Error),
    Several(Vec<Problem>),
}

impl Problem {
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Problem::Words(lilt_model::os_error::plain(&text.into()))
    }

    /// One problem of many, nothing of none.
    pub(crate) fn all(mut problems: Vec<Problem>) -> Result<(), Problem> {
        match problems.len() {
            0 => Ok(()),
            1 => Err(problems.remove(0)),
            _ => Err(Problem::Several(problems)),
        }
    }

    /// Whether the object is not there.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Problem::Refused(refusal) if refusal.reason == "NotFound")
    }

    pub(crate) fn is_refusal(&self, reason: &str) -> bool {
        matches!(self, Problem::Refused(refusal) if refusal.reason == reason)
    }

    /// Says what was being done: `error when creating "x.yaml"`.
    #[must_use]
    pub(crate) fn when(mut self, doing: &str) -> Self {
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

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Refused(refusal) => refusal.fmt(f),
            Problem::Words(words) => write!(f, "error: {words}"),
            Problem::Failed(failure) => write!(f, "Error: {failure}"),
            Problem::Output(error) => write!(f, "Error: {error:#}"),
            Problem::Several(problems) => {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
        }
    }
}

/// A `Status` object that is none of success.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) message: String,
    details: Value,
}

impl Refusal {
    pub(crate) fn read(code: u16, body: &[u8]) -> Self {
        let status: Value = serde_json::from_slice(body).unwrap_or_default();
        let said = |field: &str| status.get(field).and_then(Value::as_str).map(str::to_owned);
        let text = || String::from_utf8_lossy(body).trim().to_owned();
        Self {
            reason: said("reason").unwrap_or_else(|| format!("status {code}")),
            message: said("message").unwrap_or_else(text),
            details: status.get("details").cloned().unwrap_or_default(),
        }
    }

    /// Each wrong field with what is wrong with it.
    fn causes(&self) -> Vec<String> {
        let causes = self.details.get("causes").and_then(Value::as_array);
        let told = |cause: &Value| {
            let part = |name: &str| cause.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            format!("{}: {}", part("field"), part("message"))
        };
        causes.into_iter().flatten().map(told).collect()
    }

    fn invalid(&self) -> String {
        let part = |name: &str| self.details.get(name).and_then(Value::as_str).unwrap_or_default();
        let head = format!("The {} {:?} is invalid", part("kind"), part("name"));
        match self.causes().as_slice() {
            [] => self.message.clone(),
            [one] => format!("{head}: {one}"),
            many => format!("{head}: \n* {}", many.join("\n* ")),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason.as_str() {
            "Invalid" => f.write_str(&self.invalid()),
            "Unauthorized" => f.write_str("error: You must be logged in to the server (Unauthorized)"),
            reason => write!(f, "Error from server ({reason}): {}", self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_as_kubectl_tells_them() {
        let body = br#"{"reason": "NotFound", "message": "cmds.tilt.dev \"x\" not found"}"#;
        let missing = Problem::Refused(Box::new(Refusal::read(404, body)));
        assert!(missing.is_missing());
        let told = missing.when("error when patching \"f.yaml\"").to_string();
        assert_eq!(
            told,
            "Error from server (NotFound): error when patching \"f.yaml\": cmds.tilt.dev \"x\" not found"
        );
        let body =
            br#"{"reason": "Invalid", "message": "m", "details": {"kind": "Cmd", "name": "x", "causes": [
            {"field": "spec.args", "message": "Required value: why"}]}}"#;
        let invalid = Refusal::read(422, body).to_string();
        assert_eq!(invalid, "The Cmd \"x\" is invalid: spec.args: Required value: why");
        assert_eq!(
            Refusal::read(502, b"bad gateway").to_string(),
            "Error from server (status 502): bad gateway"
        );
    }
}
