//! Caches the fingerprints of all objects of a kind, so that checking many objects takes one request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use kube::api::ListParams;
use lilt_model::Uid;
use tokio::time::Instant;

use crate::connect::Cluster;
use crate::fingerprint::fingerprint;
use crate::inject::MANAGED_BY;
use crate::kinds::Kind;
use crate::shared::Shared;

/// How old a list may be: the time in which a session starts.
const MAX_AGE: Duration = Duration::from_secs(10);

/// The uids and fingerprints of objects of one kind in one namespace, by name. Concurrent callers wait for one request.
type List = future::Shared<BoxFuture<'static, Arc<HashMap<String, (Uid, String)>>>>;

/// Lists by kind and namespace, with the time of the request.
pub(crate) type ListCache = Shared<HashMap<(String, String), (Instant, List)>>;

impl Cluster {
    /// Returns uid and fingerprint of an object from a recent list of its kind.
    ///
    /// None if it lacks our label, does not exist, or if the kind may not be listed.
    pub(crate) async fn listed(&self, kind: &Kind, namespace: &str, name: &str) -> Option<(Uid, String)> {
        let key = (format!("{}/{}", kind.resource.api_version, kind.resource.plural), namespace.to_owned());
        let list = self.lists.update(|lists| match lists.get(&key) {
            Some((requested, list)) if requested.elapsed() < MAX_AGE => list.clone(),
            _ => {
                let list = list(self.clone(), kind.clone(), namespace.to_owned()).boxed().shared();
                lists.insert(key, (Instant::now(), list.clone()));
                list
            }
        });
        list.await.get(name).cloned()
    }
}

async fn list(cluster: Cluster, kind: Kind, namespace: String) -> Arc<HashMap<String, (Uid, String)>> {
    let api = kind.api(cluster.client.clone(), &namespace);
    let parameters = ListParams::default().labels(&format!("{MANAGED_BY}=tilt"));
    let listed = api.list_metadata(&parameters).await;
    // If the list is forbidden, the caller reads each object.
    let items = listed.map(|list| list.items).unwrap_or_default();
    let known = items.into_iter().filter_map(|object| {
        let uid = Uid::from(object.metadata.uid.clone()?);
        Some((object.metadata.name.clone()?, (uid, fingerprint(&object.metadata))))
    });
    Arc::new(known.collect())
}
