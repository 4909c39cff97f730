//! Resolves the owners of pods, up to the object that was applied.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, join_all};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use lilt_model::Uid;

use crate::connect::Cluster;
use crate::pod::{OwnerChain, nearest_owner, timestamp};

/// Longer chains are cycles.
const DEEPEST: usize = 8;
const RETRY_DELAY: Duration = Duration::from_millis(250);

pub(super) type Ancestors = Shared<BoxFuture<'static, OwnerChain>>;

/// Caches, per direct owner of a pod, that owner and all its owners. An owner's owners do not change.
pub(super) struct Owners {
    cluster: Cluster,
    namespace: String,
    asked: OwnerCache<Ancestors>,
}

/// Resolved owners by uid. Those of deleted pods are evicted now and then.
struct OwnerCache<V> {
    known: HashMap<String, V>,
    /// The owners of each existing pod.
    pods: HashMap<String, Vec<String>>,
    /// Owners without pods are evicted when the cache has this many entries.
    limit: usize,
}

/// Below this size nothing is evicted.
const FEW: usize = 256;

impl<V> OwnerCache<V> {
    fn new() -> Self {
        Self { known: HashMap::new(), pods: HashMap::new(), limit: FEW }
    }

    fn add_pod(&mut self, pod: String, owners: impl Iterator<Item = String>) {
        self.pods.insert(pod, owners.collect());
    }

    fn forget_pod(&mut self, pod: &str) {
        self.pods.remove(pod);
    }

    /// Returns the entry of an owner; calls `ask` if there is none.
    fn get(&mut self, owner: &str, ask: impl FnOnce() -> V) -> &V {
        if self.known.len() >= self.limit && !self.known.contains_key(owner) {
            let with_pods: HashSet<&String> = self.pods.values().flatten().collect();
            self.known.retain(|owner, _| with_pods.contains(owner));
            self.limit = FEW.max(2 * self.known.len());
        }
        self.known.entry(owner.to_owned()).or_insert_with(ask)
    }
}

fn uid(pod: &Pod) -> String {
    pod.metadata.uid.clone().unwrap_or_default()
}

impl Owners {
    pub(super) fn new(cluster: Cluster, namespace: &str) -> Self {
        Self { cluster, namespace: namespace.to_owned(), asked: OwnerCache::new() }
    }

    /// Removes a deleted pod; owners without other pods may be evicted.
    pub(super) fn remove_pod(&mut self, pod: &Pod) {
        self.asked.forget_pod(&uid(pod));
    }

    /// Removes all pods, because a new list follows.
    pub(super) fn clear_pods(&mut self) {
        self.asked.pods.clear();
    }

    /// Returns the owners if they are resolved already.
    pub(super) fn resolved(&mut self, pod: &Pod) -> Option<OwnerChain> {
        self.resolve_pod(pod).now_or_never()
    }

    pub(super) fn resolve_pod(&mut self, pod: &Pod) -> impl Future<Output = OwnerChain> + Send + use<> {
        let references = pod.metadata.owner_references.as_deref().unwrap_or_default();
        self.asked.add_pod(uid(pod), references.iter().map(|reference| reference.uid.clone()));
        let lines: Vec<Ancestors> =
            references.iter().map(|reference| self.resolve_object(reference)).collect();
        let nearest = nearest_owner(pod).map(|owner| owner.uid.clone());
        let nearest = references.iter().position(|reference| Some(&reference.uid) == nearest.as_ref());
        join_all(lines).map(move |lines| OwnerChain {
            created: nearest.and_then(|place| lines.get(place)?.created),
            uids: nearest_first(lines),
        })
    }

    /// Returns an owner and all its owners.
    pub(super) fn resolve_object(&mut self, reference: &OwnerReference) -> Ancestors {
        let (cluster, namespace) = (&self.cluster, &self.namespace);
        let ask = || resolve(cluster.clone(), namespace.clone(), reference.clone(), 0).shared();
        self.asked.get(&reference.uid, ask).clone()
    }
}

/// Merges chains: direct owners before indirect ones, each once.
fn nearest_first(lines: Vec<OwnerChain>) -> Vec<Uid> {
    let lines: Vec<Vec<Uid>> = lines.into_iter().map(|line| line.uids).collect();
    let mut all: Vec<Uid> = Vec::new();
    for depth in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
        for uid in lines.iter().filter_map(|line| line.get(depth)) {
            if !all.contains(uid) {
                all.push(uid.clone());
            }
        }
    }
    all
}

/// Resolves an owner and all its owners.
fn resolve(
    cluster: Cluster,
    namespace: String,
    owner: OwnerReference,
    depth: usize,
) -> BoxFuture<'static, OwnerChain> {
    async move {
        let found = if depth < DEEPEST { metadata_of(&cluster, &namespace, &owner).await } else { None };
        let found = found.unwrap_or_default();
        let above = found.owner_references.unwrap_or_default();
        let lines =
            above.into_iter().map(|next| resolve(cluster.clone(), namespace.clone(), next, depth + 1));
        let mut uids = vec![Uid::new(&owner.uid)];
        uids.extend(nearest_first(join_all(lines).await));
        OwnerChain { uids, created: found.creation_timestamp.as_ref().map(timestamp) }
    }
    .boxed()
}

/// Reads the metadata of an owner; none if it is deleted or may not be read. Retries until there is a response.
async fn metadata_of(cluster: &Cluster, namespace: &str, owner: &OwnerReference) -> Option<ObjectMeta> {
    loop {
        let error = match cluster.kinds.find(&owner.api_version, &owner.kind).await {
            Ok(None) => return None,
            Ok(Some(kind)) => {
                match kind.api(cluster.client.clone(), namespace).get_metadata_opt(&owner.name).await {
                    Ok(Some(found)) if found.metadata.uid.as_deref() == Some(&owner.uid) => {
                        return Some(found.metadata);
                    }
                    Ok(_) => return None,
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        if crate::error::code(&error) == Some(403) {
            tracing::warn!(kind = owner.kind, name = owner.name, "not allowed to read the owner of a pod");
            return None;
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_of_deleted_pods_are_evicted() {
        let mut asked = OwnerCache::new();
        let owners = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>().into_iter();
        asked.add_pod("stays".to_owned(), owners(&["set"]));
        asked.get("set", || 0);
        for number in 1..10 * FEW {
            let owner = format!("job-{number}");
            asked.add_pod(owner.clone(), owners(&[&owner]));
            asked.get(&owner, || number);
            asked.forget_pod(&owner);
            assert!(asked.known.len() <= FEW);
        }
        assert_eq!(*asked.get("set", || 1), 0);
        assert_eq!(asked.pods.len(), 1);
    }

    #[test]
    fn owners_come_nearest_first_and_once() {
        let uids = |names: &[&str]| names.iter().map(Uid::new).collect::<Vec<Uid>>();
        let line = |names: &[&str]| OwnerChain { uids: uids(names), created: None };
        assert_eq!(
            nearest_first(vec![line(&["a", "c"]), line(&["b", "c", "d"])]),
            uids(&["a", "b", "c", "d"])
        );
        assert_eq!(nearest_first(Vec::new()), Vec::new());
    }
}
