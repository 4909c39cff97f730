//! Checks whether a container still runs.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::Api;
use lilt_model::cluster::PodRef;
use lilt_model::{ContainerId, Failure};

use crate::connect::Cluster;

impl Cluster {
    /// Whether this container runs in a pod that is not being deleted. A restarted container is another one.
    pub async fn runs(&self, pod: &PodRef, container: &ContainerId) -> Result<bool, Failure> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let found = match pods.get_opt(&pod.name).await {
            Ok(found) => found.filter(|pod| pod.metadata.deletion_timestamp.is_none()),
            Err(error) => return Err(self.failure(&format!("reading pod {}", pod.name), &error)),
        };
        let statuses = found.and_then(|pod| pod.status).and_then(|status| status.container_statuses);
        let is_it = |status: &ContainerStatus| {
            let running = status.state.as_ref().is_some_and(|state| state.running.is_some());
            running && status.container_id.as_deref() == Some(container.as_str())
        };
        Ok(statuses.unwrap_or_default().iter().any(is_it))
    }
}
