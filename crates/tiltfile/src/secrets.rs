//! The values of the Secrets that a Tiltfile declares, which are redacted in all output.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lilt_model::Failure;
use lilt_model::project::Project;
use lilt_model::secret::{Redactor, Secret};
use serde_json::Value;

use crate::declarations::ObjectDeclaration;

/// The secrets found so far; every object is scanned once.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    scanned: usize,
    found: Vec<Secret>,
    redactor: Redactor,
}

impl Secrets {
    /// Scans the objects that were added since the last call.
    pub(crate) fn scan(&mut self, objects: &[ObjectDeclaration]) {
        let mut changed = false;
        for object in objects.get(self.scanned..).unwrap_or_default() {
            for secret in values(&object.value) {
                // The same value twice: the last Secret names it.
                self.found.retain(|found| found.value != secret.value);
                self.found.push(secret);
                changed = true;
            }
        }
        self.scanned = objects.len();
        if changed {
            self.redactor = Redactor::new(&self.found);
        }
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        self.redactor.redact(text).into_owned()
    }

    /// Redacts the result of a load.
    pub(crate) fn redact_outcome(self, outcome: Result<Project, Failure>) -> Result<Project, Failure> {
        let redact = |text: String| self.redact(&text);
        match outcome {
            Ok(project) => {
                let warnings = project.warnings.into_iter().map(redact).collect();
                Ok(Project { warnings, secrets: self.found, ..project })
            }
            Err(mut failure) => {
                self.redactor.redact_failure(&mut failure);
                Err(failure)
            }
        }
    }
}

/// Returns the values of a Secret; none of other objects.
fn values(object: &Value) -> Vec<Secret> {
    let is = |field: &str, expected: &str| object.get(field).and_then(Value::as_str) == Some(expected);
    if !is("kind", "Secret") || !is("apiVersion", "v1") {
        return Vec::new();
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let texts = |field: &str| {
        let fields = object.get(field).and_then(Value::as_object).into_iter().flatten();
        fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect::<Vec<_>>()
    };
    let encoded = texts("data").into_iter().map(|(key, text)| {
        let packed: String = text.chars().filter(|character| !character.is_whitespace()).collect();
        // A value that is not base64 is redacted as it is.
        (key, STANDARD.decode(packed).unwrap_or_else(|_| text.into_bytes()))
    });
    let plain = texts("stringData").into_iter().map(|(key, text)| (key, text.into_bytes()));
    encoded
        .chain(plain)
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| Secret { name: name.to_owned(), key, encoded: STANDARD.encode(&value), value })
        .collect()
}
