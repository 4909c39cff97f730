//! What a running session has deployed and would delete once it loads the Tiltfile as it is now.

use lilt_cluster::Cluster;
use lilt_model::kubernetes::{KubernetesResource, ObjectRef};
use lilt_model::resource::{Body, Resource};
use lilt_model::{ClusterName, Failure, ResourceName};
use serde_json::Value;

use crate::down;

/// What one resource of a running session has deployed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    pub resource: ResourceName,
    /// What the session's API calls its cluster.
    pub cluster: String,
    pub objects: Vec<Value>,
    /// The command that deletes it, where one does.
    pub delete: Option<String>,
}

/// What of it goes.
#[derive(Debug, Default, PartialEq)]
pub struct Leaving {
    pub resource: ResourceName,
    pub cluster: String,
    pub objects: Vec<ObjectRef>,
    pub runs: Vec<String>,
    /// Those of the objects that were made once, as the Tiltfile said.
    pub(super) made_once: Vec<Value>,
}

impl Leaving {
    /// A deletion leaves alone what somebody filled in since it was made.
    pub(super) async fn spare(&mut self, cluster: &Cluster) -> Result<(), Failure> {
        let kept = cluster.kept(&self.made_once).await?;
        self.objects.retain(|object| !kept.iter().any(|kept| object.means(&kept.object)));
        Ok(())
    }

    /// Whose cluster this is.
    pub(super) fn cluster_name(&self) -> ClusterName {
        match self.cluster.as_str() {
            "default" => ClusterName::default(),
            context => ClusterName::from(context),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.runs.is_empty()
    }
}

/// `resources` are all that the Tiltfile has, also those that are not enabled.
pub(super) fn leaving(standing: Vec<Standing>, resources: &[Resource]) -> Vec<Leaving> {
    let deployed: Vec<(&ResourceName, &KubernetesResource)> = resources
        .iter()
        .filter_map(|resource| match &resource.body {
            Body::Kubernetes(spec) => Some((&resource.name, spec)),
            _ => None,
        })
        .collect();
    let leaving = standing.into_iter().map(|stands| {
        let Standing { resource, cluster, objects, delete } = stands;
        let there = || deployed.iter().filter(|(_, spec)| spec.cluster.object_name() == cluster);
        let by_command = there().any(|(name, spec)| **name == resource && spec.custom_deploy.is_some());
        let named: Vec<ObjectRef> =
            there().flat_map(|(_, spec)| &spec.objects).filter_map(ObjectRef::of).collect();
        let goes = |object: &ObjectRef| !by_command && !named.iter().any(|named| named.means(object));
        let leaves = |object: &Value| {
            delete.is_none() && !down::is_kept(object) && ObjectRef::of(object).is_some_and(|it| goes(&it))
        };
        let objects: Vec<Value> = objects.into_iter().filter(leaves).collect();
        let runs = delete.clone().filter(|_| !by_command).into_iter().collect();
        let references = objects.iter().filter_map(ObjectRef::of).collect();
        let made_once = objects.into_iter().filter(lilt_cluster::is_create_once).collect();
        Leaving { resource, cluster, objects: references, runs, made_once }
    });
    leaving.filter(|leaving| !leaving.is_empty()).collect()
}
