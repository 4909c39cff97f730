//! Client-side apply, as in kubectl and Tilt.
//!
//! An annotation records what was applied, so that fields removed from the manifest can be distinguished from fields
//! added by others.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::ownership::{FIELD_MANAGER, LAST_APPLIED};
use super::server_side::acceptable;
use super::target::{Target, WriteOptions};
use super::{Remark, merge};
use crate::error::code;

/// The object may change between our read and write.
const ATTEMPTS: usize = 5;
/// The limit of all annotations together; a larger object is applied without the record.
const LARGEST: usize = 256 * 1024;

impl Target<'_> {
    pub(super) async fn write_client_side(
        &self,
        body: &Value,
        options: WriteOptions,
        remarks: &mut Vec<Remark>,
    ) -> kube::Result<DynamicObject> {
        let wanted = acceptable(&annotated(body));
        let mut attempt = 1;
        loop {
            let current = self.api.get_opt(&self.object.name).await?;
            let result = match &current {
                None => self.create(&wanted, options).await,
                Some(current) => self.merge(&wanted, current, options, remarks).await,
            };
            match result {
                // It was created, deleted or changed meanwhile.
                Err(error) if attempt < ATTEMPTS && is_race(&error, current.is_some()) => attempt += 1,
                result => return result,
            }
        }
    }

    async fn create(&self, wanted: &Value, options: WriteOptions) -> kube::Result<DynamicObject> {
        let parameters = PostParams { dry_run: options.dry, field_manager: Some(FIELD_MANAGER.to_owned()) };
        let object = serde_json::from_value(wanted.clone()).map_err(kube::Error::SerdeError)?;
        self.api.create(&parameters, &object).await
    }

    async fn merge(
        &self,
        wanted: &Value,
        current: &DynamicObject,
        options: WriteOptions,
        remarks: &mut Vec<Remark>,
    ) -> kube::Result<DynamicObject> {
        let now = serde_json::to_value(current).map_err(kube::Error::SerdeError)?;
        let before = last_applied(&now);
        let mut wanted = wanted.clone();
        if !options.overwrite && matches!(self.object.kind.as_str(), "ConfigMap" | "Secret") {
            let kept = keep_edited(&before, &now, &mut wanted);
            if !kept.is_empty() {
                let fields = kept.join(", ");
                remarks.push(Remark::warning(format!(
                    "{}: kept what was changed in the cluster ({fields}); trigger the resource to overwrite it",
                    self.object
                )));
            }
        }
        let merged = merge::three_way(&before, &wanted, &now);
        let Some(mut patch) = merge::patch(&now, &merged) else { return Ok(current.clone()) };
        // The API server rejects the patch if the object has changed since.
        patch["metadata"]["resourceVersion"] = json!(current.metadata.resource_version);
        let parameters = PatchParams {
            dry_run: options.dry,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.api.patch(&self.object.name, &parameters, &Patch::Merge(patch)).await
    }
}

fn is_race(error: &kube::Error, existed: bool) -> bool {
    match code(error) {
        Some(409) => true,
        Some(404) => existed,
        _ => false,
    }
}

/// Returns the object with a copy of itself in the annotation, if that fits.
fn annotated(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(notes) = body.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        notes.remove(LAST_APPLIED);
    }
    let copy = format!("{body}\n");
    let others = body.pointer("/metadata/annotations").map_or(0, |notes| notes.to_string().len());
    if copy.len() + others + LAST_APPLIED.len() > LARGEST {
        return body;
    }
    if !body["metadata"]["annotations"].is_object() {
        body["metadata"]["annotations"] = json!({});
    }
    body["metadata"]["annotations"][LAST_APPLIED] = copy.into();
    body
}

/// Returns what was applied before, according to the annotation.
fn last_applied(now: &Value) -> Value {
    let notes = now.pointer("/metadata/annotations");
    let text = notes.and_then(|notes| notes.get(LAST_APPLIED)).and_then(Value::as_str);
    // Other tools record their input unchanged.
    text.and_then(|text| serde_json::from_str(text).ok()).map(|it| acceptable(&it)).unwrap_or_default()
}

/// Replaces wanted values with those that somebody edited since the last apply, and returns their fields.
fn keep_edited(before: &Value, now: &Value, wanted: &mut Value) -> Vec<String> {
    let mut kept = Vec::new();
    for list in ["data", "binaryData"] {
        let entries = wanted.get_mut(list).and_then(Value::as_object_mut);
        for (key, value) in entries.into_iter().flatten() {
            let (was, is) = (&before[list][key], &now[list][key]);
            if !was.is_null() && !is.is_null() && is != was && is != value {
                *value = is.clone();
                kept.push(format!("{list}.{key}"));
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_applied_is_recorded_unless_too_large() {
        let small = json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        assert_eq!(last_applied(&annotated(&small)), small);
        let large =
            json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v".repeat(LARGEST)}});
        assert_eq!(annotated(&large), large);
    }

    #[test]
    fn edited_entries_are_kept() {
        let before = json!({"data": {"a": "1", "b": "1", "c": "1"}});
        let mut wanted = json!({"data": {"a": "2", "b": "2", "new": "n"}});
        let now = json!({"data": {"a": "1", "b": "edited", "c": "1"}});
        assert_eq!(keep_edited(&before, &now, &mut wanted), ["data.b"]);
        assert_eq!(wanted, json!({"data": {"a": "2", "b": "edited", "new": "n"}}));
    }
}
