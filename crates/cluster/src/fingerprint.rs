//! Fingerprints of objects, which tell from the metadata alone whether somebody changed them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::api::ListParams;
use lilt_model::Uid;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::apply::DEPLOYED_BY;
use crate::connect::Cluster;
use crate::inject::{MANAGED_BY, write_sorted};
use crate::kinds::Kind;

/// How old a listing may be that many objects are looked up in: the time in which a session starts.
const FRESH: Duration = Duration::from_secs(10);
/// Annotations that are not part of the desired state.
const NOTES: &[&str] = &["deployment.kubernetes.io/revision", DEPLOYED_BY];

/// Returns a string that stays the same as long as nobody changes the desired state: status and server-side
/// bookkeeping do not count.
pub(crate) fn fingerprint(meta: &ObjectMeta) -> String {
    let state = match meta.generation.filter(|generation| *generation > 0) {
        Some(generation) => format!("g{generation}"),
        None => version(meta),
    };
    let mut noted = meta.annotations.clone().unwrap_or_default();
    noted.retain(|key, _| !NOTES.contains(&key.as_str()));
    let said = serde_json::json!({"labels": meta.labels, "annotations": noted,
        "deleting": meta.deletion_timestamp.is_some()});
    format!("{}:{state}:{}", meta.uid.as_deref().unwrap_or_default(), digest(&said))
}

/// Identifies the version of an object whose kind has no generations.
///
/// If a controller writes its status, as with autoscalers every few seconds, the field managers are used instead of
/// the resource version.
fn version(meta: &ObjectMeta) -> String {
    let entries = meta.managed_fields.as_deref().unwrap_or_default();
    let is_status = |entry: &ManagedFieldsEntry| entry.subresource.as_deref() == Some("status");
    if !entries.iter().any(is_status) {
        return format!("v{}", meta.resource_version.as_deref().unwrap_or_default());
    }
    let others: Vec<&ManagedFieldsEntry> = entries.iter().filter(|entry| !is_status(entry)).collect();
    format!("m{}", digest(&serde_json::json!(others)))
}

/// Returns a digest of a manifest that does not depend on the order of keys.
pub fn digest(manifest: &Value) -> String {
    let mut text = String::new();
    write_sorted(manifest, &mut text);
    Sha256::digest(text.as_bytes()).iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// An object that was applied before: if both values are the same, it does not have to be applied again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownObject {
    pub manifest: String,
    pub fingerprint: String,
}

/// The objects of one kind in one namespace, by name.
type Listing = Shared<BoxFuture<'static, Arc<HashMap<String, (Uid, String)>>>>;

/// By kind and namespace, with the time of the question.
type Asked = HashMap<(String, String), (Instant, Listing)>;

/// One question for many objects, while it is fresh.
#[derive(Clone)]
pub(crate) struct Listings {
    /// A watch channel as the latest value: readers never wait, writers replace one entry.
    asked: Arc<watch::Sender<Asked>>,
}

impl Listings {
    pub(crate) fn new() -> Self {
        Self { asked: Arc::new(watch::Sender::new(HashMap::new())) }
    }
}

impl Cluster {
    /// Uid and fingerprint of an object as a recent listing of its like has it. None if it is not among those that carry our
    /// label, or if they may not be listed.
    pub(crate) async fn listed(&self, kind: &Kind, namespace: &str, name: &str) -> Option<(Uid, String)> {
        let key = (format!("{}/{}", kind.resource.api_version, kind.resource.plural), namespace.to_owned());
        let mut listing: Option<Listing> = None;
        self.listings.asked.send_if_modified(|asked| {
            if let Some((_, known)) = asked.get(&key).filter(|(at, _)| at.elapsed() < FRESH) {
                listing = Some(known.clone());
                return false;
            }
            let fresh = list(self.clone(), kind.clone(), namespace.to_owned()).boxed().shared();
            listing = Some(fresh.clone());
            asked.insert(key, (Instant::now(), fresh));
            true
        });
        listing?.await.get(name).cloned()
    }
}

async fn list(cluster: Cluster, kind: Kind, namespace: String) -> Arc<HashMap<String, (Uid, String)>> {
    let api = kind.api(cluster.client.clone(), &namespace);
    let parameters = ListParams::default().labels(&format!("{MANAGED_BY}=tilt"));
    let listed = api.list_metadata(&parameters).await;
    // Who may not list is asked for each object on its own.
    let items = listed.map(|list| list.items).unwrap_or_default();
    let known = items.into_iter().filter_map(|object| {
        let uid = Uid::from(object.metadata.uid.clone()?);
        Some((object.metadata.name.clone()?, (uid, fingerprint(&object.metadata))))
    });
    Arc::new(known.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(value: Value) -> ObjectMeta {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_mark_stays_while_only_the_status_changes() {
        let before = meta(json!({"uid": "u", "generation": 2, "resourceVersion": "5", "labels": {"a": "b"}}));
        let status = meta(json!({"uid": "u", "generation": 2, "resourceVersion": "6", "labels": {"a": "b"},
            "annotations": {"deployment.kubernetes.io/revision": "2"}}));
        assert_eq!(fingerprint(&before), fingerprint(&status));
        for other in [
            json!({"uid": "u", "generation": 3, "labels": {"a": "b"}}),
            json!({"uid": "u", "generation": 2, "labels": {"a": "c"}}),
            json!({"uid": "v", "generation": 2, "labels": {"a": "b"}}),
        ] {
            assert_ne!(fingerprint(&before), fingerprint(&meta(other)));
        }
        let versioned = |version: &str| fingerprint(&meta(json!({"uid": "u", "resourceVersion": version})));
        assert_ne!(versioned("1"), versioned("2"));
        let scaler = |version: &str, time: &str| {
            fingerprint(&meta(json!({"uid": "u", "resourceVersion": version, "managedFields": [
                {"manager": "tilt", "operation": "Apply", "time": time},
                {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}]})))
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
        assert_eq!(scaler("1", early), scaler("2", early));
        assert_ne!(scaler("1", early), scaler("1", late));
    }
}
