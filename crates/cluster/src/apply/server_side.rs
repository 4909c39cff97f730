//! Server-side apply.
//!
//! A conflict never stops an update: fields of earlier tools are taken over, other conflicts are forced, and what
//! people edited in ConfigMaps and Secrets is kept unless they ask to overwrite it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::Remark;
use super::ownership::{self, Conflict, FIELD_MANAGER};
use super::target::{Target, WriteOptions};
use crate::error::{code, status};

impl Target<'_> {
    pub(super) async fn write_server_side(
        &self,
        body: &Value,
        before: Option<&ObjectMeta>,
        options: WriteOptions,
        remarks: &mut Vec<Remark>,
    ) -> kube::Result<DynamicObject> {
        let keeps = !options.overwrite && matches!(self.object.kind.as_str(), "ConfigMap" | "Secret");
        // An apply with another tool counts as an edit.
        let edited = keeps && before.is_some_and(ownership::is_applied_over);
        if let Some(takeover) = before.filter(|_| !edited).and_then(ownership::takeover) {
            if options.dry {
                // A dry run cannot combine takeover and apply; client-side apply has the same result.
                return self.write_client_side(body, options, remarks).await;
            }
            self.take_over(takeover, remarks).await?;
        }
        let mut body = acceptable(body);
        let error = match self.patch(&body, options.dry, false).await {
            Err(error) if code(&error) == Some(409) => error,
            result => return result,
        };
        let conflicts = status(&error).map(ownership::conflicts).unwrap_or_default();
        if conflicts.is_empty() {
            return Err(error);
        }
        let applied_before = before.is_some_and(ownership::was_applied);
        let is_edited = |conflict: &Conflict| {
            conflict.data_key().is_some() && (applied_before || conflict.is_manual_edit())
        };
        let (kept, taken): (Vec<Conflict>, Vec<Conflict>) =
            conflicts.into_iter().partition(|conflict| keeps && is_edited(conflict));
        for (list, key) in kept.iter().filter_map(Conflict::data_key) {
            body.get_mut(list).and_then(Value::as_object_mut).map(|data| data.remove(key));
        }
        if !kept.is_empty() {
            remarks.push(Remark::warning(format!(
                "{}: kept what was changed in the cluster by {}; trigger the resource to overwrite it",
                self.object,
                ownership::describe_owners(&kept)
            )));
        }
        if !taken.is_empty() {
            let owners = ownership::describe_owners(&taken);
            remarks.push(Remark::note(format!("{}: took fields from {owners}", self.object)));
        }
        self.patch(&body, options.dry, true).await
    }

    pub(super) async fn patch(&self, body: &Value, dry: bool, force: bool) -> kube::Result<DynamicObject> {
        let parameters = PatchParams {
            dry_run: dry,
            force,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.api.patch(&self.object.name, &parameters, &Patch::Apply(body)).await
    }

    /// If somebody changes the object meanwhile, the next apply takes over.
    async fn take_over(&self, takeover: ownership::Takeover, remarks: &mut Vec<Remark>) -> kube::Result<()> {
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = json!({"metadata": {"managedFields": takeover.entries}});
        self.api.patch_metadata(&self.object.name, &parameters, &Patch::Merge(patch)).await?;
        if !takeover.from.is_empty() {
            let owners = takeover.from.join(", ");
            remarks.push(Remark::note(format!("{}: took over what {owners} had applied", self.object)));
        }
        Ok(())
    }
}

/// Returns the object in the form that server-side apply accepts.
///
/// Removes `managedFields` of exported objects. Converts `stringData` of Secrets to `data`: the API server tracks
/// owners only of the latter, and returns nothing else.
pub(super) fn acceptable(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(meta) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
    }
    if body["kind"] == "Secret"
        && body["apiVersion"] == "v1"
        && let Some(Value::Object(texts)) =
            body.as_object_mut().and_then(|fields| fields.remove("stringData"))
    {
        if !body["data"].is_object() {
            body["data"] = json!({});
        }
        for (key, text) in texts {
            let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
            body["data"][key] = STANDARD.encode(text).into();
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_data_of_secret_becomes_data() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"managedFields": []},
            "data": {"a": "eA=="}, "stringData": {"b": "x"}});
        let expected =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": {"a": "eA==", "b": "eA=="}});
        assert_eq!(acceptable(&secret), expected);
    }
}
