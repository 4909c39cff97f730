//! Deleting objects: finalizers, and what is deleted with an object.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::Response;
use lilt_store::{Action, Snapshot};
use serde_json::{Value, json};

use super::read::ListQuery;
use super::status_error::{StatusError, json_response};
use super::write::{ATTEMPTS, Write, read_body};

/// Finalizers that do not block a deletion. They choose what happens to dependents.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

impl Write<'_> {
    pub(crate) async fn delete(&self, name: &str, body: &Bytes) -> Result<Response, StatusError> {
        let options = if body.is_empty() { Value::Null } else { read_body(body)? };
        let dry_run = self.is_dry_run()? || options.get("dryRun").is_some_and(|dry| !dry.is_null());
        let details = self.delete_one(name, &options, dry_run).await?;
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
        });
        Ok(json_response(StatusCode::OK, status.to_string()))
    }

    async fn delete_one(&self, name: &str, options: &Value, dry_run: bool) -> Result<Value, StatusError> {
        let keep_owned = self.keeps_owned(options)?;
        for _ in 0..ATTEMPTS {
            let current = self.current(name).ok_or_else(|| StatusError::not_found(self.kind, name))?;
            self.check_preconditions(name, &current, options)?;
            let details =
                json!({"name": name, "group": "tilt.dev", "kind": self.kind.plural, "uid": &*current.uid()});
            if dry_run {
                return Ok(details);
            }
            match self.send(name, self.deletion(&current, keep_owned)).await {
                Ok(_) => return Ok(details),
                Err(failure) if failure.reason == "Conflict" => {}
                Err(failure) => return Err(failure),
            }
        }
        Err(StatusError::outdated(self.kind, name))
    }

    /// Returns whether dependents are kept. Otherwise they are deleted in the same step, so that background and foreground
    /// deletion are the same.
    fn keeps_owned(&self, options: &Value) -> Result<bool, StatusError> {
        let policy = options.get("propagationPolicy").and_then(Value::as_str);
        let deprecated = options.get("orphanDependents").and_then(Value::as_bool);
        match policy.or(self.query.propagation_policy.as_deref()) {
            None | Some("") => Ok(deprecated.unwrap_or(false)),
            Some("Orphan") => Ok(true),
            Some("Background" | "Foreground") => Ok(false),
            Some(other) => Err(StatusError::bad_request(format!(
                "propagationPolicy: {other:?} is none of Background, Foreground and Orphan"
            ))),
        }
    }

    /// Returns the action that deletes an object, or marks it for deletion while it has finalizers.
    fn deletion(&self, current: &Snapshot, keep_owned: bool) -> Action {
        let mut object: Value = serde_json::from_str(current.text()).unwrap_or_default();
        let keep_owned = keep_owned || finalizers(&object).any(|it| it == ORPHAN);
        if !finalizers(&object).any(blocks_deletion) {
            return Action::Delete { version: current.version, keep_owned };
        }
        if keep_owned
            && !finalizers(&object).any(|it| it == ORPHAN)
            && let Some(Value::Array(finalizers)) = object.pointer_mut("/metadata/finalizers")
        {
            finalizers.push(json!(ORPHAN));
        }
        if object["metadata"].get("deletionTimestamp").is_none() {
            object["metadata"]["deletionTimestamp"] = json!((self.api.clock)().whole_seconds());
        }
        Action::Replace { version: current.version, object }
    }

    fn check_preconditions(
        &self,
        name: &str,
        current: &Snapshot,
        options: &Value,
    ) -> Result<(), StatusError> {
        let wanted =
            |field: &str| options.pointer(&format!("/preconditions/{field}")).and_then(Value::as_str);
        if wanted("uid").is_some_and(|uid| *uid != *current.uid()) {
            let why = "the UID in the precondition is not that of the object";
            return Err(StatusError::conflict(self.kind, name, why));
        }
        match wanted("resourceVersion") {
            Some(version) if version != current.version.to_string() => {
                Err(StatusError::outdated(self.kind, name))
            }
            _ => Ok(()),
        }
    }

    pub(crate) async fn delete_collection(
        &self,
        list: &ListQuery,
        body: &Bytes,
    ) -> Result<Response, StatusError> {
        let options = if body.is_empty() { Value::Null } else { read_body(body)? };
        let selector = list.selector()?;
        let dry_run = self.is_dry_run()? || options.get("dryRun").is_some_and(|dry| !dry.is_null());
        let (version, found) = self.api.reader.list(self.kind.kind, None, usize::MAX);
        let mut items = Vec::new();
        for object in found.into_iter().filter(|object| selector.matches_text(object.text())) {
            match self.delete_one(&object.key.name, &options, dry_run).await {
                Ok(_) => items.push(Arc::clone(object.text())),
                // Deleted by somebody else meanwhile.
                Err(failure) if failure.code == StatusCode::NOT_FOUND => {}
                Err(failure) => return Err(failure),
            }
        }
        let items = items.join(",");
        let text = format!(
            "{{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"{}List\",\"metadata\":{{\"resourceVersion\":\"{version}\"}},\
             \"items\":[{items}]}}",
            self.kind.name
        );
        Ok(json_response(StatusCode::OK, text))
    }
}

fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.into_iter().flatten().filter_map(Value::as_str)
}

fn blocks_deletion(finalizer: &str) -> bool {
    finalizer != ORPHAN && finalizer != FOREGROUND
}

/// Returns whether dependents are kept, if the object is marked for deletion and no finalizer blocks that.
pub(super) fn keep_owned_when_finalized(object: &Value) -> Option<bool> {
    let marked = object.pointer("/metadata/deletionTimestamp").is_some();
    (marked && !finalizers(object).any(blocks_deletion)).then(|| finalizers(object).any(|it| it == ORPHAN))
}
