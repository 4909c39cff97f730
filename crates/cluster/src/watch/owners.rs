//! Who owns a pod, up to the object that somebody applied.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, join_all};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use lilt_model::Uid;

use crate::connect::Cluster;

/// Deeper chains are circles.
const DEEPEST: usize = 8;
const RETRY_DELAY: Duration = Duration::from_millis(250);

pub(super) type Ancestors = Shared<BoxFuture<'static, Vec<Uid>>>;

/// Remembers, per direct owner of a pod, that owner and all above it. An owner's owners do not change.
pub(super) struct Owners {
    cluster: Cluster,
    namespace: String,
    asked: HashMap<String, Ancestors>,
}

impl Owners {
    pub(super) fn new(cluster: Cluster, namespace: &str) -> Self {
        Self { cluster, namespace: namespace.to_owned(), asked: HashMap::new() }
    }

    /// The answer, if nobody has to be asked.
    pub(super) fn known(&mut self, pod: &Pod) -> Option<Vec<Uid>> {
        self.of(pod).now_or_never()
    }

    pub(super) fn of(&mut self, pod: &Pod) -> impl Future<Output = Vec<Uid>> + Send + use<> {
        let references = pod.metadata.owner_references.as_deref().unwrap_or_default();
        let lines: Vec<Ancestors> = references.iter().map(|reference| self.line_of(reference)).collect();
        join_all(lines).map(nearest_first)
    }

    /// An owner itself and all above it.
    pub(super) fn line_of(&mut self, reference: &OwnerReference) -> Ancestors {
        let (cluster, namespace) = (&self.cluster, &self.namespace);
        self.asked
            .entry(reference.uid.clone())
            .or_insert_with(|| line(cluster.clone(), namespace.clone(), reference.clone(), 0).shared())
            .clone()
    }
}

/// Direct owners before theirs; each once.
fn nearest_first(lines: Vec<Vec<Uid>>) -> Vec<Uid> {
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

/// The owner itself and all above it.
fn line(
    cluster: Cluster,
    namespace: String,
    owner: OwnerReference,
    depth: usize,
) -> BoxFuture<'static, Vec<Uid>> {
    async move {
        let above = if depth < DEEPEST { owners_of(&cluster, &namespace, &owner).await } else { Vec::new() };
        let lines = above.into_iter().map(|next| line(cluster.clone(), namespace.clone(), next, depth + 1));
        let mut all = vec![Uid::new(&owner.uid)];
        all.extend(nearest_first(join_all(lines).await));
        all
    }
    .boxed()
}

/// The owner references of an owner; none if it is gone or may not be read. Asks until there is an answer.
async fn owners_of(cluster: &Cluster, namespace: &str, owner: &OwnerReference) -> Vec<OwnerReference> {
    loop {
        let error = match cluster.kinds.find(&owner.api_version, &owner.kind).await {
            Ok(None) => return Vec::new(),
            Ok(Some(kind)) => {
                match kind.api(cluster.client.clone(), namespace).get_metadata_opt(&owner.name).await {
                    Ok(Some(found)) if found.metadata.uid.as_deref() == Some(&owner.uid) => {
                        return found.metadata.owner_references.unwrap_or_default();
                    }
                    Ok(_) => return Vec::new(),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        if crate::error::code(&error) == Some(403) {
            tracing::warn!(kind = owner.kind, name = owner.name, "not allowed to read the owner of a pod");
            return Vec::new();
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_come_nearest_first_and_once() {
        let line = |names: &[&str]| names.iter().map(Uid::new).collect::<Vec<Uid>>();
        assert_eq!(
            nearest_first(vec![line(&["a", "c"]), line(&["b", "c", "d"])]),
            line(&["a", "b", "c", "d"])
        );
        assert_eq!(nearest_first(Vec::new()), Vec::new());
    }
}
