//! Values that must not be shown, and how to take them out of a text.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A value of a Kubernetes Secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// Of the object, so that the user can look it up.
    pub name: String,
    pub key: String,
    pub value: Vec<u8>,
    /// The value in base64.
    pub encoded: String,
}

impl Secret {
    /// Shorter values would take too much out of a text.
    pub const SHORTEST: usize = 5;

    /// What stands in its place.
    pub fn replacement(&self) -> String {
        format!("[redacted secret {}:{}]", self.name, self.key)
    }
}

/// Without the value: it must not come out by the way of a log of lilt's own.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({}:{})", self.name, self.key)
    }
}

/// Takes secrets out of texts. Made once for a set of secrets.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// What to look for and what to put there; the longest first, so that none is left in parts.
    patterns: Vec<(String, String)>,
}

impl Redactor {
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Self {
        let mut patterns = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.value.len() >= Secret::SHORTEST) {
            let mut forms = vec![secret.encoded.clone()];
            // Bytes that are no text cannot stand in a text either.
            if let Ok(text) = std::str::from_utf8(&secret.value) {
                // A value often ends with a newline that a line of output does not have.
                let trimmed = text.trim_end_matches(['\r', '\n']);
                if trimmed.len() >= Secret::SHORTEST && trimmed.len() < text.len() {
                    forms.push(trimmed.to_owned());
                }
                forms.push(text.to_owned());
            }
            patterns.extend(forms.into_iter().map(|form| (form, secret.replacement())));
        }
        patterns.sort_by(|(one, _), (other, _)| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        patterns.dedup_by(|(one, _), (other, _)| one == other);
        Self { patterns }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = Cow::Borrowed(text);
        for (form, replacement) in &self.patterns {
            if redacted.contains(form) {
                redacted = Cow::Owned(redacted.replace(form, replacement));
            }
        }
        redacted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(key: &str, value: &str, encoded: &str) -> Secret {
        Secret { name: "db".into(), key: key.into(), value: value.into(), encoded: encoded.into() }
    }

    #[test]
    fn redacts_values_and_their_base64() {
        let redactor = Redactor::new(&[secret("password", "hunter2", "aHVudGVyMg==")]);
        assert_eq!(redactor.redact("a hunter2 b"), "a [redacted secret db:password] b");
        assert_eq!(redactor.redact("x=aHVudGVyMg=="), "x=[redacted secret db:password]");
        assert!(matches!(redactor.redact("nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn leaves_short_values_and_prefers_long_ones() {
        let secrets = [
            secret("short", "abcd", "YWJjZA=="),
            secret("part", "hunter2", "aHVudGVyMg=="),
            secret("whole", "hunter2hunter2\n", "aHVudGVyMmh1bnRlcjIK"),
        ];
        let redactor = Redactor::new(&secrets);
        assert_eq!(redactor.redact("abcd YWJjZA=="), "abcd YWJjZA==");
        assert_eq!(redactor.redact("hunter2hunter2"), "[redacted secret db:whole]");
    }
}
