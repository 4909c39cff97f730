//! Guards against deploying to the wrong cluster.

use lilt_model::Failure;

use super::Problems;
use crate::declare::Declarations;
use crate::outside::KubeContext;

/// Objects go to a context that is known as a local cluster or that the Tiltfile allows, or nowhere.
pub(super) fn guard(declared: &Declarations, context: Option<&KubeContext>, problems: &mut Problems) {
    let objects = declared.objects.iter().map(|object| &object.place);
    let deploys = declared.custom_deploys.iter().map(|deploy| &deploy.place);
    let (Some(place), Some(context)) = (objects.chain(deploys).next(), context) else { return };
    if is_local(&context.cluster) || declared.allowed_contexts.contains(&context.name) {
        return;
    }
    let name = &context.name;
    let failure = Failure::user(format!("Stop! {name} might be production"));
    let allow = format!("if you are sure that you want to deploy there, add: allow_k8s_contexts('{name}')");
    problems.add(place, failure.hint(format!("{allow}\notherwise switch to another context")));
}

/// Local clusters by the names that their makers give them.
fn is_local(cluster: &str) -> bool {
    const PREFIXES: [&str; 10] = [
        "minikube",
        "docker-for-desktop-cluster",
        "docker-desktop",
        "kind-",
        "microk8s",
        "api-crc-testing",
        "krucible-",
        "k3d-",
        "rancher-desktop",
        "colima",
    ];
    matches!(cluster, "kind" | "orbstack") || PREFIXES.iter().any(|prefix| cluster.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn local_clusters_are_known() {
        for cluster in [
            "kind",
            "kind-dev",
            "k3d-x",
            "docker-desktop",
            "minikube",
            "microk8s-cluster",
            "orbstack",
            "colima-x",
        ] {
            assert!(is_local(cluster), "{cluster}");
        }
        for cluster in ["", "gke_kind-dev", "prod", "orbstack2", "arn:aws:eks:x"] {
            assert!(!is_local(cluster), "{cluster}");
        }
    }
}
