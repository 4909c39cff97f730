//! Warns of a cluster that has the name of a local one but a public address.
//!
//! Contexts of local clusters need no `allow_k8s_contexts`, and the name is all that makes a cluster local.

use std::net::IpAddr;
use std::time::Duration;

use lilt_cluster::Cluster;
use lilt_model::cluster::{Product, Reach, is_public};

/// A slow DNS server must not delay the connection.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the warning, if there is one.
pub(crate) async fn warning(cluster: &Cluster) -> Option<String> {
    warning_of(cluster.name(), cluster.product(), cluster.server()).await
}

async fn warning_of(name: &str, product: Product, server: &str) -> Option<String> {
    if !product.is_local() {
        return None;
    }
    let is_elsewhere = match Reach::of_server(server) {
        Reach::Local => false,
        Reach::Public => true,
        Reach::Name(host) => {
            let found = tokio::time::timeout(TIMEOUT, tokio::net::lookup_host((host, 443))).await;
            // A name that cannot be resolved is reached through a proxy, and so not local.
            let addresses = found.map(|found| found.map(Iterator::collect::<Vec<_>>).unwrap_or_default());
            is_any_public(addresses.unwrap_or_default().iter().map(std::net::SocketAddr::ip))
        }
    };
    is_elsewhere.then(|| {
        format!(
            "the cluster {name} counts as a local {} cluster because of its name, but its server {server} has a public \
             address. If it is not yours alone, stop lilt and rename it, so that it needs allow_k8s_contexts()",
            product.name()
        )
    })
}

/// Returns whether a name has a public address, or none that this machine can resolve.
fn is_any_public(mut addresses: impl ExactSizeIterator<Item = IpAddr>) -> bool {
    addresses.len() == 0 || addresses.any(is_public)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn warning_at(cluster: &str, server: &str) -> Option<String> {
        warning_of(cluster, Product::of_cluster(cluster), server).await
    }

    #[tokio::test]
    async fn local_cluster_name_with_a_public_address_warns() {
        for (cluster, server, warns) in [
            ("kind-dev", "https://203.0.113.7:6443", true),
            ("minikube", "https://[2001:db8::1]:8443", true),
            ("kind-dev", "https://127.0.0.1:6443", false),
            ("minikube", "https://192.168.49.2:8443", false),
            ("docker-desktop", "https://kubernetes.docker.internal:6443", false),
            ("gke_project_zone_name", "https://203.0.113.7", false),
            ("mine", "https://203.0.113.7", false),
        ] {
            let found = warning_at(cluster, server).await;
            assert_eq!(found.is_some(), warns, "{cluster} at {server}: {found:?}");
        }
        let text = warning_at("k3d-x", "https://203.0.113.7:6443").await.unwrap();
        assert!(text.contains("k3d-x") && text.contains("https://203.0.113.7:6443"), "{text}");
    }

    #[test]
    fn name_is_remote_unless_all_its_addresses_are_local() {
        let addresses = |list: &[&str]| {
            let parsed: Vec<IpAddr> = list.iter().map(|it| it.parse().unwrap()).collect();
            is_any_public(parsed.into_iter())
        };
        assert!(!addresses(&["10.0.0.1", "::1"]));
        assert!(addresses(&["10.0.0.1", "8.8.8.8"]));
        assert!(addresses(&[]));
    }
}
