//! Deletes crashed pods that would otherwise wait for their back-off, because what they need may be available now.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::Api;
use kube::api::{DeleteParams, Preconditions};
use lilt_model::Failure;
use lilt_model::cluster::PodRef;

use crate::connect::Cluster;
use crate::error::is_not_found;

impl Cluster {
    /// Deletes pods with a crashed container that is not restarted yet, so that their owner replaces them at once.
    /// Returns the deleted pods.
    ///
    /// If the workload was `changed`, its owner replaces most pods anyway: only those that it would wait for are
    /// deleted.
    pub async fn replace_crashed(&self, pods: &[PodRef], changed: bool) -> Result<Vec<PodRef>, Failure> {
        let mut replaced = Vec::new();
        for pod in pods {
            let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
            let found = match api.get_opt(&pod.name).await {
                Ok(found) => found,
                Err(error) => return Err(self.failure(&format!("reading pod {}", pod.name), &error)),
            };
            let is_due = |pod: &Pod| has_crashed(pod) && (!changed || holds_up_its_owner(pod));
            let Some(found) = found.filter(is_due) else { continue };
            // Do not delete another pod of the same name.
            let preconditions = Some(Preconditions { uid: found.metadata.uid, resource_version: None });
            match api.delete(&pod.name, &DeleteParams { preconditions, ..DeleteParams::default() }).await {
                Ok(_) => replaced.push(pod.clone()),
                Err(error) if is_not_found(&error) => {}
                Err(error) => return Err(self.failure(&format!("deleting pod {}", pod.name), &error)),
            }
        }
        Ok(replaced)
    }
}

fn has_crashed(pod: &Pod) -> bool {
    let stays = pod.metadata.deletion_timestamp.is_none();
    let status = pod.status.as_ref();
    let own = status.and_then(|status| status.container_statuses.as_ref());
    let first = status.and_then(|status| status.init_container_statuses.as_ref());
    stays && own.into_iter().chain(first).flatten().any(is_down)
}

/// A StatefulSet waits for this pod to become ready before it replaces the next one, which will never happen.
fn holds_up_its_owner(pod: &Pod) -> bool {
    super::nearest_owner(pod).is_some_and(|owner| owner.kind == "StatefulSet")
}

fn is_down(container: &ContainerStatus) -> bool {
    let Some(state) = &container.state else { return false };
    let waits = |reason: &Option<String>| reason.as_deref() == Some("CrashLoopBackOff");
    state.waiting.as_ref().is_some_and(|waiting| waits(&waiting.reason))
        || state.terminated.as_ref().is_some_and(|terminated| terminated.exit_code != 0)
}
