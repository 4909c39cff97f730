//! Records which session deployed a workload last, so that sessions that deploy the same objects can name each other.
//!
//! The name is an annotation with its own field manager: it is not compared with manifests, not part of the
//! fingerprint, and an apply that changes nothing does not touch it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::api::{Patch, PatchParams};
use lilt_model::Timestamp;
use serde_json::json;

use super::ownership::FIELD_MANAGER;
use super::target::Target;

pub(crate) const DEPLOYED_BY: &str = "lilt.dev/deployed-by";
const RECORDING_MANAGER: &str = "lilt";

/// Another session that deployed an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherDeployer {
    /// The name of the session.
    pub name: String,
    /// When that session, or a later one that left no name, last changed the object.
    pub changed: Option<Timestamp>,
}

/// Returns the session that deployed an object last if it is not `own`.
pub(super) fn other(meta: &ObjectMeta, own: &str) -> Option<OtherDeployer> {
    let name = meta.annotations.as_ref()?.get(DEPLOYED_BY).filter(|name| *name != own)?;
    let entries = meta.managed_fields.as_deref().unwrap_or_default().iter();
    let is_deployers = |entry: &&ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(FIELD_MANAGER) && entry.subresource.is_none()
    };
    let changed = entries.filter(is_deployers).filter_map(|entry| entry.time.as_ref()).max();
    let changed = changed.map(|time| Timestamp(time.0.as_microsecond()));
    Some(OtherDeployer { name: name.clone(), changed })
}

impl Target<'_> {
    /// Records the deployer on a changed workload and returns the new metadata, since the generation of a Deployment
    /// changes with it.
    ///
    /// A failure is ignored: the workload runs without the record, too.
    pub(super) async fn record_deployer(&self, before: Option<&ObjectMeta>, own: &str) -> Option<ObjectMeta> {
        let recorded = before.and_then(|meta| meta.annotations.as_ref()?.get(DEPLOYED_BY));
        if recorded.is_some_and(|recorded| recorded == own) {
            return None;
        }
        let parameters =
            PatchParams { field_manager: Some(RECORDING_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(json!({"metadata": {"annotations": {DEPLOYED_BY: own}}}));
        match self.api.patch_metadata(&self.object.name, &parameters, &patch).await {
            Ok(noted) => Some(noted.metadata),
            Err(error) => {
                tracing::debug!(%error, object = %self.object, "not noted who deployed it");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(deployer: &str) -> ObjectMeta {
        let entry =
            |manager: &str, time: &str| json!({"manager": manager, "operation": "Apply", "time": time});
        let meta = json!({
            "annotations": {DEPLOYED_BY: deployer},
            "managedFields": [
                entry("tilt", "2026-01-02T03:04:05Z"),
                entry("kubectl", "2026-01-02T03:05:00Z"),
                {"manager": "tilt", "operation": "Update", "subresource": "scale", "time": "2026-01-02T04:00:00Z"},
            ],
        });
        serde_json::from_value(meta).unwrap()
    }

    #[test]
    fn other_deployer_is_named_with_its_last_change() {
        let changed = Timestamp::from_rfc3339("2026-01-02T03:04:05Z");
        let expected = OtherDeployer { name: "ann@desk:1 /a".to_owned(), changed };
        assert_eq!(other(&meta("ann@desk:1 /a"), "ben@desk:2 /b"), Some(expected));
    }

    #[test]
    fn own_or_unknown_deployer_is_no_other() {
        assert_eq!(other(&meta("ann@desk:1 /a"), "ann@desk:1 /a"), None);
        assert_eq!(other(&ObjectMeta::default(), "ann@desk:1 /a"), None);
    }
}
