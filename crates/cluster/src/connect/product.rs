//! Who made the cluster of a context, by all that kubeconfig tells.

use std::path::Path;

use kube::config::Kubeconfig;
use lilt_model::cluster::Product;

/// The name of a context's cluster, and who made it. `origin` is the file that has the context.
pub(super) fn cluster_of(
    kubeconfig: &Kubeconfig,
    context: &str,
    origin: Option<&Path>,
    home: Option<&Path>,
) -> (String, Product) {
    let named = kubeconfig.contexts.iter().find(|known| known.name == context);
    let name = named.and_then(|it| it.context.as_ref()).map(|it| it.cluster.clone()).unwrap_or_default();
    let product = match Product::of_cluster(&name) {
        Product::Unknown => {
            let entry = kubeconfig.clusters.iter().find(|known| known.name == name);
            let authority = entry.and_then(|it| it.cluster.as_ref()?.certificate_authority.as_deref());
            Product::of_files(authority.map(Path::new), origin, home)
        }
        product => product,
    };
    (name, product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cluster: &str, authority: &str, origin: &str) -> Product {
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: {cluster}\n  cluster: {{server: 'https://x', \
             certificate-authority: {authority}}}\ncontexts:\n- name: mine\n  context: {{cluster: {cluster}}}\n"
        );
        let config = Kubeconfig::from_yaml(&text).unwrap();
        let (name, product) =
            cluster_of(&config, "mine", Some(Path::new(origin)), Some(Path::new("/home/me")));
        assert_eq!(name, cluster);
        product
    }

    #[test]
    fn names_come_before_files() {
        assert_eq!(found("k3d-x", "/home/me/.minikube/ca.crt", "/c"), Product::K3d);
        assert_eq!(found("mine", "/home/me/.minikube/ca.crt", "/c"), Product::Minikube);
        assert_eq!(found("mine", "/ca.crt", "/home/me/.config/k3d/kubeconfig.yaml"), Product::K3d);
        assert_eq!(found("mine", "/ca.crt", "/tmp/kind-config-mine"), Product::Kind);
        assert_eq!(found("mine", "/ca.crt", "/home/you/.config/k3d/kubeconfig.yaml"), Product::Unknown);
    }
}
