//! Finds the registry that a cluster announces, in the ways that Tilt supports: the ConfigMap of KEP-1755 in
//! `kube-public`, the add-on of MicroK8s, annotations of a node.

use k8s_openapi::api::core::v1::{ConfigMap, Node, Service};
use kube::Api;
use lilt_model::cluster::{Product, Runtime};
use lilt_model::reference::Reference;
use lilt_model::registry::Registry;
use lilt_model::yaml;
use serde::Deserialize;

use super::{optional, runtime};
use crate::connect::Cluster;

/// The registry of a cluster.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) registry: Option<Registry>,
    /// The cluster's advice if it has no registry.
    pub(super) help: Option<String>,
}

impl Cluster {
    /// Reads the document of KEP-1755; none if it does not exist or may not be read.
    pub(super) async fn hosting(&self) -> Option<String> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), "kube-public");
        let map = optional("the local registry", maps.get_opt("local-registry-hosting")).await??;
        map.data?.remove("localRegistryHosting.v1")
    }

    pub(super) async fn announced(&self, hosting: Option<String>, node: Option<&Node>) -> Announced {
        let mut announced = hosting.map(|document| read(&document)).unwrap_or_default();
        if announced.registry.is_none() && self.product() == Product::Microk8s {
            announced = self.of_microk8s(node, announced.help).await;
        }
        if announced.registry.is_none() {
            announced.registry = node.and_then(of_node);
        }
        Announced { help: announced.help.filter(|_| announced.registry.is_none()), ..announced }
    }

    /// Returns the registry of the add-on, which listens on a port of the node. With Docker as the runtime, nothing
    /// needs to be pushed.
    async fn of_microk8s(&self, node: Option<&Node>, help: Option<String>) -> Announced {
        if node.is_some_and(|node| runtime(node) == Runtime::Docker) {
            return Announced { registry: None, help };
        }
        let services: Api<Service> = Api::namespaced(self.client.clone(), "container-registry");
        let Some(service) = optional("the registry of MicroK8s", services.get_opt("registry")).await else {
            return Announced { registry: None, help };
        };
        let port = service.as_ref().and_then(|it| it.spec.as_ref()?.ports.as_ref()?.first()?.node_port);
        match port.and_then(|port| checked(&format!("localhost:{port}"), "")) {
            Some(registry) => Announced { registry: Some(registry), help: None },
            None => {
                let enable = "https://microk8s.io/docs/registry-built-in (`microk8s enable registry`)";
                Announced { registry: None, help: help.or(Some(enable.to_owned())) }
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hosting {
    #[serde(default)]
    host: String,
    #[serde(default)]
    host_from_container_runtime: String,
    #[serde(default)]
    host_from_cluster_network: String,
    #[serde(default)]
    help: String,
}

/// Parses the document. The name that the container runtime uses goes into objects; that of the pods does not.
fn read(document: &str) -> Announced {
    let parsed = yaml::document(document).map_err(|error| error.to_string());
    let hosting: Result<Hosting, String> =
        parsed.and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string()));
    let hosting = match hosting {
        Ok(hosting) => hosting,
        Err(error) => {
            tracing::warn!(error, "kube-public/local-registry-hosting is not as KEP-1755 says");
            return Announced::default();
        }
    };
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    let registry = checked(&hosting.host, &hosting.host_from_container_runtime).map(|registry| Registry {
        host_from_pods: text(hosting.host_from_cluster_network),
        help: hosting.help.clone(),
        ..registry
    });
    Announced { registry, help: text(hosting.help) }
}

/// Reads the annotations that scripts of Tilt and kind write.
fn of_node(node: &Node) -> Option<Registry> {
    let annotations = node.metadata.annotations.as_ref()?;
    let annotation = |name: &str| annotations.get(name).map(String::as_str).filter(|value| !value.is_empty());
    match annotation("tilt.dev/registry") {
        Some(host) => checked(host, annotation("tilt.dev/registry-from-cluster").unwrap_or_default()),
        None => checked(annotation("kind.x-k8s.io/registry")?, ""),
    }
}

/// Returns none if these are not valid hosts for image names.
fn checked(host: &str, from_cluster: &str) -> Option<Registry> {
    let is_host = |host: &str| {
        let example = format!("{host}/x");
        Reference::parse(&example).is_ok_and(|reference| reference.name() == example)
    };
    if !is_host(host) || !(from_cluster.is_empty() || is_host(from_cluster)) {
        tracing::debug!(host, from_cluster, "no registry's host");
        return None;
    }
    let from_cluster = Some(from_cluster).filter(|other| !other.is_empty() && *other != host);
    Some(Registry {
        host: host.to_owned(),
        host_from_cluster: from_cluster.map(str::to_owned),
        ..Registry::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn of(host: &str, other: Option<&str>) -> Option<Registry> {
        let host_from_cluster = other.map(str::to_owned);
        Some(Registry { host: host.to_owned(), host_from_cluster, ..Registry::default() })
    }

    #[test]
    fn all_fields_of_the_document_are_read() {
        let full = read(
            "host: localhost:5000\nhostFromContainerRuntime: registry:5000\nhostFromClusterNetwork: pods:1\nhelp: 'https://h'\n",
        );
        let expected = Registry {
            host_from_pods: Some("pods:1".into()),
            help: "https://h".into(),
            ..of("localhost:5000", Some("registry:5000")).unwrap()
        };
        assert_eq!(full.registry, Some(expected));
        // The name for pods is not used for images.
        let network = read("host: a:1\nhostFromClusterNetwork: b:2\n").registry.unwrap();
        assert_eq!((network.host_from_cluster, network.host_from_pods), (None, Some("b:2".into())));
        assert_eq!(read("host: \"localhost:5000\"\nother: x\n").registry, of("localhost:5000", None));
    }

    #[test]
    fn document_without_valid_host_announces_no_registry() {
        let help = read("help: https://only.help\n");
        assert_eq!(help, Announced { registry: None, help: Some("https://only.help".into()) });
        for document in [
            "- not\n- a map\n",
            "host: 'not a host'\n",
            "host: web\n",
            "",
            "host: a:1\nhostFromContainerRuntime: 'b c'\n",
        ] {
            assert_eq!(read(document).registry, None, "{document}");
        }
    }

    #[test]
    fn node_annotations_of_tilt_and_kind_are_read() {
        let node = |annotations: &[(&str, &str)]| {
            let pairs = annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let mut node = Node::default();
            node.metadata.annotations = Some(pairs.collect::<BTreeMap<_, _>>());
            of_node(&node)
        };
        let tilt = ("tilt.dev/registry", "localhost:5000");
        assert_eq!(node(&[tilt]), of("localhost:5000", None));
        assert_eq!(
            node(&[tilt, ("tilt.dev/registry-from-cluster", "registry:5000")]),
            of("localhost:5000", Some("registry:5000"))
        );
        let kind = ("kind.x-k8s.io/registry", "localhost:5001");
        assert_eq!(node(&[kind]), of("localhost:5001", None));
        assert_eq!(node(&[tilt, kind]), of("localhost:5000", None));
        assert_eq!(node(&[("tilt.dev/registry", "not a host")]), None);
        assert_eq!(node(&[("tilt.dev/registry-from-cluster", "registry:5000")]), None);
        assert_eq!(node(&[]), None);
    }
}
