//! Reads the contexts of kubeconfig files: their clusters, namespaces and the product that created the cluster.

use std::path::{Component, Path, PathBuf};

use lilt_model::cluster::{KubeContext, Product};
use serde_json::Value;

use super::kubeconfig::KubeconfigFile;

/// Returns a context by name, or the current one. The first file that has a value wins, as with kubectl.
pub(super) fn context_of(files: &[KubeconfigFile], wanted: Option<&str>) -> Option<KubeContext> {
    let documents = files.iter().flat_map(|file| &file.documents);
    let mut current = documents.filter_map(|document| document.get("current-context")?.as_str());
    let name = wanted.or_else(|| current.find(|name| !name.is_empty()))?;
    let entry = entries_named(files, "contexts", name).next();
    let text = |pointer: &str| entry.and_then(|(_, entry)| entry.pointer(pointer)?.as_str());
    let cluster = text("/context/cluster").unwrap_or_default();
    let origin = entry.map(|(file, _)| file.path.as_path());
    Some(KubeContext {
        name: name.to_owned(),
        cluster: cluster.to_owned(),
        namespace: text("/context/namespace").unwrap_or_default().to_owned(),
        product_by_files: product_by_files(files, cluster, origin, super::home().as_deref()),
    })
}

/// Infers the product that created a cluster from the paths of its certificate and of the context's file (`origin`).
fn product_by_files(
    files: &[KubeconfigFile],
    cluster: &str,
    origin: Option<&Path>,
    home: Option<&Path>,
) -> Product {
    let authority = entries_named(files, "clusters", cluster).next().and_then(|(file, entry)| {
        let path = entry.pointer("/cluster/certificate-authority")?.as_str()?;
        Some(without_dots(&file.folder().join(path))).filter(|_| !path.is_empty())
    });
    Product::of_files(authority.as_deref(), origin, home)
}

/// Resolves `.` and `..` lexically.
fn without_dots(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(resolved.pop()),
            other => resolved.push(other),
        }
    }
    resolved
}

/// Returns all contexts, each once.
pub(super) fn contexts(files: &[KubeconfigFile]) -> Vec<KubeContext> {
    let documents = files.iter().flat_map(|file| &file.documents);
    let lists = documents.filter_map(|document| document.get("contexts")?.as_array());
    let names = lists.flatten().filter_map(|entry| entry.get("name")?.as_str());
    let mut contexts: Vec<KubeContext> = Vec::new();
    for name in names {
        if !contexts.iter().any(|known| known.name == name) {
            contexts.extend(context_of(files, Some(name)));
        }
    }
    contexts
}

/// Returns the entries of a list by name, with their files.
pub(super) fn entries_named<'f>(
    files: &'f [KubeconfigFile],
    list: &'f str,
    name: &'f str,
) -> impl Iterator<Item = (&'f KubeconfigFile, &'f Value)> {
    let entries = files.iter().flat_map(move |file| {
        let lists = file.documents.iter().filter_map(move |document| document.get(list)?.as_array());
        lists.flatten().map(move |entry| (file, entry))
    });
    entries.filter(move |(_, entry)| entry.get("name").and_then(Value::as_str) == Some(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(path: &str, content: Value) -> KubeconfigFile {
        KubeconfigFile { path: path.into(), documents: vec![content] }
    }

    #[test]
    fn current_context_is_found_with_its_cluster() {
        let documents = [
            json!({"contexts": [{"name": "a", "context": {"cluster": "kind-a"}}]}),
            json!({"current-context": "a",
                "contexts": [{"name": "b", "context": {"cluster": "gke_b", "namespace": "n"}}]}),
        ];
        let files = documents.map(|content| file("/config", content));
        let context = |name: &str, cluster: &str, namespace: &str| {
            Some(KubeContext {
                name: name.into(),
                cluster: cluster.into(),
                namespace: namespace.into(),
                product_by_files: Product::Unknown,
            })
        };
        assert_eq!(context_of(&files, None), context("a", "kind-a", ""));
        assert_eq!(context_of(&files, Some("b")), context("b", "gke_b", "n"));
        assert_eq!(context_of(&files, Some("c")), context("c", "", ""));
        assert_eq!(context_of(&[], None), None);
        let names: Vec<String> = contexts(&files).into_iter().map(|context| context.name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn product_of_a_cluster_of_any_name_follows_from_its_files() {
        let content = |authority: &str| {
            let cluster = json!({"name": "mine", "cluster": {"certificate-authority": authority}});
            json!({"clusters": [cluster], "contexts": [{"name": "mine", "context": {"cluster": "mine"}}]})
        };
        let made_by = |path: &str, authority: &str| {
            let files = [file(path, content(authority))];
            product_by_files(&files, "mine", Some(Path::new(path)), Some(Path::new("/home/me")))
        };
        assert_eq!(made_by("/home/me/.kube/config", "/home/me/.minikube/ca.crt"), Product::Minikube);
        assert_eq!(made_by("/home/me/.kube/config", "../.minikube/ca.crt"), Product::Minikube);
        assert_eq!(made_by("/home/me/.minikube/config", "profiles/ca.crt"), Product::Minikube);
        assert_eq!(made_by("/home/me/.config/k3d/mine.yaml", "/ca.crt"), Product::K3d);
        assert_eq!(made_by("/tmp/kind-config-mine", "/ca.crt"), Product::Kind);
        assert_eq!(made_by("/home/me/.kube/config", "/ca.crt"), Product::Unknown);
    }

    fn product(cluster: &str, authority: &str, origin: &str) -> Product {
        let document = json!({
            "clusters": [{"name": cluster, "cluster": {"certificate-authority": authority}}],
            "contexts": [{"name": "mine", "context": {"cluster": cluster}}],
        });
        let files = [file(origin, document)];
        let product_by_files =
            product_by_files(&files, cluster, Some(Path::new(origin)), Some(Path::new("/home/me")));
        let context = KubeContext { product_by_files, ..context_of(&files, Some("mine")).unwrap() };
        assert_eq!(context.cluster, cluster);
        context.product()
    }

    #[test]
    fn name_of_a_cluster_comes_before_its_files() {
        assert_eq!(product("k3d-x", "/home/me/.minikube/ca.crt", "/c"), Product::K3d);
        assert_eq!(product("mine", "/home/me/.minikube/ca.crt", "/c"), Product::Minikube);
        assert_eq!(product("mine", "/ca.crt", "/home/me/.config/k3d/kubeconfig.yaml"), Product::K3d);
        assert_eq!(product("mine", "/ca.crt", "/tmp/kind-config-mine"), Product::Kind);
        assert_eq!(product("mine", "/ca.crt", "/home/you/.config/k3d/kubeconfig.yaml"), Product::Unknown);
    }
}
