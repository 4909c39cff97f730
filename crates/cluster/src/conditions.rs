//! Reads the conditions of objects.

use lilt_model::Failure;
use lilt_model::cluster::ObjectCondition;
use lilt_model::kubernetes::ObjectRef;
use serde_json::Value;

use crate::connect::Cluster;

/// The state of an object in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectState {
    pub conditions: Vec<ObjectCondition>,
    /// It was deleted, and finalizers or its grace period keep it.
    pub is_deleting: bool,
}

impl Cluster {
    /// Reads the conditions of an object; none if it does not exist.
    ///
    /// Of kinds without a status only the metadata is read, so that no content of a Secret is transferred. A user
    /// without that permission gets an empty state.
    pub async fn object_state(&self, object: &ObjectRef) -> Result<Option<ObjectState>, Failure> {
        let refused = |error: &kube::Error| match crate::error::code(error) {
            Some(403) => self.forbidden(&format!("to read {object}"), error),
            _ => self.failure(&format!("reading {object}"), error),
        };
        let kind =
            self.kinds.find(&object.api_version, &object.kind).await.map_err(|error| refused(&error))?;
        let Some(kind) = kind else { return Ok(None) };
        let namespace = if object.namespace.is_empty() { self.namespace() } else { &object.namespace };
        let api = kind.api(self.client.clone(), namespace);
        let found = if kind.has_status {
            let found = api.get_opt(&object.name).await;
            found.map(|found| found.map(|found| (found.metadata, conditions(&found.data))))
        } else {
            let found = api.get_metadata_opt(&object.name).await;
            found.map(|found| found.map(|found| (found.metadata, Vec::new())))
        };
        match found {
            Ok(found) => Ok(found.map(|(metadata, conditions)| ObjectState {
                conditions,
                is_deleting: metadata.deletion_timestamp.is_some(),
            })),
            Err(error) if !kind.has_status && crate::error::code(&error) == Some(403) => {
                Ok(Some(ObjectState::default()))
            }
            // The kind was deleted.
            Err(error) if crate::error::is_not_found(&error) => {
                self.kinds.forget(&kind);
                Ok(None)
            }
            Err(error) => Err(refused(&error)),
        }
    }
}

/// Returns the conditions that follow the Kubernetes conventions; other content of that field is ignored.
fn conditions(object: &Value) -> Vec<ObjectCondition> {
    let list = object.pointer("/status/conditions").and_then(Value::as_array);
    let list = list.into_iter().flatten();
    list.filter_map(|it| serde_json::from_value(it.clone()).ok())
        .filter(|it: &ObjectCondition| !it.kind.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn malformed_conditions_are_ignored() {
        let found = conditions(&json!({"status": {"conditions": [
            {"type": "Ready", "status": "False", "reason": "Waiting", "message": "for \u{1f431}", "more": 1,
             "lastTransitionTime": "2026-01-02T03:04:05Z"},
            "Ready",
            {"status": "True"},
            {"type": 7, "status": "True"},
            {"type": "Synced", "status": "True", "lastTransitionTime": null},
        ]}}));
        let words: Vec<_> = found.iter().map(|it| (it.kind.as_str(), it.message.as_str())).collect();
        assert_eq!(words, [("Ready", "for \u{1f431}"), ("Synced", "")]);
        for none in
            [json!({}), json!({"status": {"conditions": {"Ready": "True"}}}), json!({"status": "fine"})]
        {
            assert_eq!(conditions(&none), []);
        }
    }
}
