//! How an image that was built on this machine gets to the cluster.

use serde::{Deserialize, Serialize};

use super::{ClusterInfo, Product, Runtime};
use crate::registry::Registry;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It is pushed to the registry in its name.
    #[default]
    Push,
    /// Nothing to do: the cluster runs the images of the engine that built it.
    Shared,
    /// It is loaded into the cluster's nodes.
    Load(Nodes),
}

/// How images are loaded into the nodes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nodes {
    /// By commands of the user that run `ctr` on a node, one for each node.
    Commands(Vec<String>),
    /// Through the engine, if the nodes are its containers, or else by the program `kind`. Has kind's name of the cluster.
    Kind(String),
    /// The same with `k3d`.
    K3d(String),
    /// The same with `minikube`. Through the engine only if the nodes' runtime is containerd.
    Minikube { profile: String, containerd: bool },
    /// By `microk8s ctr`.
    Microk8s,
}

impl Delivery {
    /// Chooses how images are delivered.
    ///
    /// The order is Tilt's: a shared engine, a registry that the cluster announces, `kind load`, then `default_registry`.
    /// Unlike under Tilt, images are loaded into the nodes of other local clusters without a registry, too. Node commands
    /// come first, since the user set them for this purpose.
    pub fn choose(info: &ClusterInfo, default_registry: Option<&Registry>) -> Delivery {
        if !info.node_commands.is_empty() {
            return Delivery::Load(Nodes::Commands(info.node_commands.clone()));
        }
        if info.shares_engine {
            return Delivery::Shared;
        }
        // A registry that has another name in the cluster is set up for it, even if the cluster does not announce it.
        let has_other_name = |registry: &Registry| {
            registry.host_from_cluster.as_ref().is_some_and(|host| !host.is_empty() && *host != registry.host)
        };
        if info.registry.is_some() || default_registry.is_some_and(has_other_name) {
            return Delivery::Push;
        }
        let name = info.cluster.as_str();
        let without = |prefix: &str| name.strip_prefix(prefix).unwrap_or(name).to_owned();
        match info.product {
            Product::Kind => Delivery::Load(Nodes::Kind(without("kind-"))),
            _ if default_registry.is_some() => Delivery::Push,
            Product::K3d => Delivery::Load(Nodes::K3d(without("k3d-"))),
            Product::Minikube => Delivery::Load(Nodes::Minikube {
                profile: name.to_owned(),
                containerd: info.runtime == Runtime::Containerd,
            }),
            Product::Microk8s => Delivery::Load(Nodes::Microk8s),
            _ => Delivery::Push,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(cluster: &str) -> ClusterInfo {
        ClusterInfo {
            cluster: cluster.to_owned(),
            product: Product::of_cluster(cluster),
            ..ClusterInfo::default()
        }
    }

    fn registry(host: &str, inside: Option<&str>) -> Registry {
        Registry {
            host: host.to_owned(),
            host_from_cluster: inside.map(str::to_owned),
            ..Registry::default()
        }
    }

    #[test]
    fn without_registry_images_go_into_local_nodes() {
        for (cluster, nodes) in [
            ("kind-dev", Nodes::Kind("dev".into())),
            ("kind", Nodes::Kind("kind".into())),
            ("k3d-dev", Nodes::K3d("dev".into())),
            ("minikube", Nodes::Minikube { profile: "minikube".into(), containerd: false }),
            ("microk8s-cluster", Nodes::Microk8s),
        ] {
            assert_eq!(Delivery::choose(&info(cluster), None), Delivery::Load(nodes), "{cluster}");
        }
        for cluster in ["docker-desktop", "prod", "gke_a_b_c", "rancher-desktop", "orbstack"] {
            assert_eq!(Delivery::choose(&info(cluster), None), Delivery::Push, "{cluster}");
        }
    }

    #[test]
    fn with_a_registry_they_are_pushed_but_for_kind_as_under_tilt() {
        let default = registry("registry.example.com/team", None);
        for cluster in ["k3d-dev", "minikube", "microk8s-cluster", "prod"] {
            assert_eq!(Delivery::choose(&info(cluster), Some(&default)), Delivery::Push, "{cluster}");
        }
        let load = Delivery::Load(Nodes::Kind("dev".into()));
        assert_eq!(Delivery::choose(&info("kind-dev"), Some(&default)), load);
        let seen_elsewhere = registry("localhost:5000", Some("registry:5000"));
        assert_eq!(Delivery::choose(&info("kind-dev"), Some(&seen_elsewhere)), Delivery::Push);
        let same = registry("localhost:5000", Some("localhost:5000"));
        assert_eq!(Delivery::choose(&info("kind-dev"), Some(&same)), load);
        let announced = ClusterInfo { registry: Some(registry("localhost:5000", None)), ..info("kind-dev") };
        assert_eq!(Delivery::choose(&announced, None), Delivery::Push);
    }

    #[test]
    fn an_engine_that_is_shared_needs_neither_and_what_the_user_says_comes_first() {
        let announced = Some(registry("localhost:5000", None));
        let mut shared = ClusterInfo { shares_engine: true, registry: announced, ..info("docker-desktop") };
        assert_eq!(Delivery::choose(&shared, None), Delivery::Shared);
        shared.node_commands = vec!["ssh node sudo ctr".into()];
        let load = Delivery::Load(Nodes::Commands(vec!["ssh node sudo ctr".into()]));
        assert_eq!(Delivery::choose(&shared, None), load);
    }
}
