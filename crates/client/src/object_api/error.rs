//! Why the object API gave no answer, or not the wanted one.

use std::fmt;

use lilt_model::Failure;
use serde_json::Value;

#[derive(Debug)]
pub enum ApiError {
    /// The session refused the request.
    Refused(Box<Refusal>),
    /// A path that is none, or an answer that cannot be read.
    Malformed(String),
    /// No session, no network, a bug.
    Failed(Failure),
}

impl ApiError {
    /// Returns whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.is_refusal("NotFound")
    }

    /// Returns whether the session refused with a reason such as `Conflict`.
    pub fn is_refusal(&self, reason: &str) -> bool {
        matches!(self, ApiError::Refused(refusal) if refusal.reason == reason)
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        ApiError::Failed(failure)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApiError::Refused(refusal) => refusal.fmt(f),
            ApiError::Malformed(text) => write!(f, "error: {text}"),
            ApiError::Failed(failure) => write!(f, "Error: {failure}"),
        }
    }
}

impl std::error::Error for ApiError {}

/// A `Status` object that is none of success.
#[derive(Debug)]
pub struct Refusal {
    pub reason: String,
    pub message: String,
    details: Value,
}

impl Refusal {
    pub fn read(code: u16, body: &[u8]) -> Self {
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
    fn refusals_are_printed_like_kubectl() {
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
