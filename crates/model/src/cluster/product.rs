//! The product that created a cluster, inferred from its kubeconfig entry.
//!
//! The rules are Tilt's, so that both consider the same clusters local.

use std::path::Path;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    #[default]
    Unknown,
    Gke,
    Eks,
    Minikube,
    DockerDesktop,
    Microk8s,
    Crc,
    Krucible,
    Kind,
    K3d,
    RancherDesktop,
    Colima,
    Orbstack,
}

/// Products by the prefix of the cluster's name in kubeconfig. People change the name of the context, but seldom this one.
const PREFIXES: [(&str, Product); 12] = [
    ("minikube", Product::Minikube),
    ("docker-for-desktop-cluster", Product::DockerDesktop),
    ("docker-desktop", Product::DockerDesktop),
    ("gke", Product::Gke),
    ("arn:aws:eks:", Product::Eks),
    ("kind-", Product::Kind),
    ("microk8s", Product::Microk8s),
    ("api-crc-testing", Product::Crc),
    ("krucible-", Product::Krucible),
    ("k3d-", Product::K3d),
    ("rancher-desktop", Product::RancherDesktop),
    ("colima", Product::Colima),
];

impl Product {
    /// Returns the product of a cluster with this name in kubeconfig.
    pub fn of_cluster(name: &str) -> Product {
        match name {
            "kind" => return Product::Kind,
            "orbstack" => return Product::Orbstack,
            // As eksctl names them: `dev.us-east-1.eksctl.io`.
            _ if name.ends_with(".eksctl.io") => return Product::Eks,
            _ => {}
        }
        PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or(Product::Unknown, |(_, it)| *it)
    }

    /// Returns the product of a cluster whose name does not show it, from the paths of its files.
    ///
    /// `authority` is the file of its certificates, `origin` the kubeconfig that has the context.
    pub fn of_files(authority: Option<&Path>, origin: Option<&Path>, home: Option<&Path>) -> Product {
        let below = |path: Option<&Path>, folder: &str| {
            path.zip(home)
                .is_some_and(|(path, home)| path != home.join(folder) && path.starts_with(home.join(folder)))
        };
        let file = origin.and_then(Path::file_name).map(|name| name.to_string_lossy()).unwrap_or_default();
        if below(origin, ".config/k3d") {
            Product::K3d
        } else if below(authority, ".minikube") {
            Product::Minikube
        } else if file.starts_with("kind-config-") {
            Product::Kind
        } else {
            Product::Unknown
        }
    }

    /// Returns whether it is a product for development clusters on this machine.
    pub fn is_local(self) -> bool {
        !matches!(self, Product::Unknown | Product::Gke | Product::Eks)
    }

    /// Returns the name in Tilt's API and in `doctor`.
    pub fn name(self) -> &'static str {
        match self {
            Product::Unknown => "unknown",
            Product::Gke => "gke",
            Product::Eks => "eks",
            Product::Minikube => "minikube",
            Product::DockerDesktop => "docker-desktop",
            Product::Microk8s => "microk8s",
            Product::Crc => "crc",
            Product::Krucible => "krucible",
            Product::Kind => "kind",
            Product::K3d => "k3d",
            Product::RancherDesktop => "rancher-desktop",
            Product::Colima => "colima",
            Product::Orbstack => "orbstack",
        }
    }
}

/// The container runtime of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    Docker,
    Containerd,
    CriO,
    /// Another one, or this user may not read nodes.
    #[default]
    Unknown,
}

impl Runtime {
    /// Parses the version that a node reports, such as `containerd://2.0.1`.
    pub fn of_version(version: &str) -> Runtime {
        match version.split(':').next() {
            Some("docker") => Runtime::Docker,
            Some("containerd") => Runtime::Containerd,
            Some("cri-o") => Runtime::CriO,
            _ => Runtime::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_known_by_the_names_that_their_makers_give() {
        for (name, product) in [
            ("minikube", Product::Minikube),
            ("minikube-two", Product::Minikube),
            ("docker-for-desktop-cluster", Product::DockerDesktop),
            ("docker-desktop", Product::DockerDesktop),
            ("gke_blorg-dev_us-central1-b_blorg", Product::Gke),
            ("arn:aws:eks:us-east-1:1:cluster/dev", Product::Eks),
            ("dev.us-east-1.eksctl.io", Product::Eks),
            ("kind", Product::Kind),
            ("kind-dev", Product::Kind),
            ("kindly", Product::Unknown),
            ("microk8s-cluster", Product::Microk8s),
            ("api-crc-testing:6443", Product::Crc),
            ("krucible-1", Product::Krucible),
            ("k3d-k3s-default", Product::K3d),
            ("rancher-desktop", Product::RancherDesktop),
            ("colima-test", Product::Colima),
            ("orbstack", Product::Orbstack),
            ("orbstack2", Product::Unknown),
            ("prod", Product::Unknown),
            ("", Product::Unknown),
        ] {
            assert_eq!(Product::of_cluster(name), product, "{name}");
        }
    }

    #[test]
    fn runtimes_are_read_from_versions() {
        assert_eq!(Runtime::of_version("docker://28.0.1"), Runtime::Docker);
        assert_eq!(Runtime::of_version("containerd://2.0.1"), Runtime::Containerd);
        assert_eq!(Runtime::of_version("cri-o://1.30"), Runtime::CriO);
        assert_eq!(Runtime::of_version("rkt://1"), Runtime::Unknown);
        assert_eq!(Runtime::of_version(""), Runtime::Unknown);
    }
}
