//! Kinds that do nothing yet when they are made from outside, and say so.

use serde_json::{Map, Value, json};

/// What an object that lilt cannot serve says; none of kinds that only hold values for others.
pub(super) fn status(kind: &str) -> Option<Map<String, Value>> {
    let status = match kind {
        "DockerComposeService" => json!({"applyError": "not supported yet: Docker Compose"}),
        "DockerComposeLogStream" => json!({"error": "not supported yet: Docker Compose"}),
        _ => return None,
    };
    status.as_object().cloned()
}
