//! What a running session has deployed and would delete after loading the current Tiltfile.

use lilt_cluster::Cluster;
use lilt_model::kubernetes::{KubernetesResource, ObjectRef};
use lilt_model::resource::{Body, Resource};
use lilt_model::{ClusterName, Failure, ResourceName};
use serde_json::Value;

use crate::down;

/// What one resource of a running session has deployed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeployedResource {
    pub resource: ResourceName,
    /// The cluster's name in the session's API.
    pub cluster: String,
    pub objects: Vec<Value>,
    /// The command that deletes it, if it is deployed by a command.
    pub delete: Option<String>,
}

/// What the session would delete of one resource.
#[derive(Debug, Default, PartialEq)]
pub struct Removal {
    pub resource: ResourceName,
    pub cluster: String,
    pub objects: Vec<ObjectRef>,
    pub runs: Vec<String>,
    /// Objects that are only created and never updated.
    pub(super) create_once: Vec<Value>,
}

impl Removal {
    /// Removes objects that a deletion would keep because somebody has filled them in since.
    pub(super) async fn remove_kept(&mut self, cluster: &Cluster) -> Result<(), Failure> {
        let kept = cluster.kept(&self.create_once).await?;
        self.objects.retain(|object| !kept.iter().any(|kept| object.means(&kept.object)));
        Ok(())
    }

    /// Returns the cluster's name in the Tiltfile.
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

/// Compares what is deployed with `resources`: all of the Tiltfile, including disabled ones.
pub(super) fn removals(deployed: Vec<DeployedResource>, resources: &[Resource]) -> Vec<Removal> {
    let wanted: Vec<(&ResourceName, &KubernetesResource)> = resources
        .iter()
        .filter_map(|resource| match &resource.body {
            Body::Kubernetes(spec) => Some((&resource.name, spec)),
            _ => None,
        })
        .collect();
    let removals = deployed.into_iter().map(|resource| {
        let DeployedResource { resource, cluster, objects, delete } = resource;
        let in_cluster = || wanted.iter().filter(|(_, spec)| spec.cluster.object_name() == cluster);
        let by_command = in_cluster().any(|(name, spec)| **name == resource && spec.custom_deploy.is_some());
        let named: Vec<ObjectRef> =
            in_cluster().flat_map(|(_, spec)| &spec.objects).filter_map(ObjectRef::of).collect();
        let is_dropped = |object: &ObjectRef| !by_command && !named.iter().any(|named| named.means(object));
        let is_deleted = |object: &Value| {
            delete.is_none()
                && !down::is_kept(object)
                && ObjectRef::of(object).is_some_and(|it| is_dropped(&it))
        };
        let objects: Vec<Value> = objects.into_iter().filter(is_deleted).collect();
        let runs = delete.clone().filter(|_| !by_command).into_iter().collect();
        let references = objects.iter().filter_map(ObjectRef::of).collect();
        let create_once = objects.into_iter().filter(lilt_cluster::is_create_once).collect();
        Removal { resource, cluster, objects: references, runs, create_once }
    });
    removals.filter(|removal| !removal.is_empty()).collect()
}
