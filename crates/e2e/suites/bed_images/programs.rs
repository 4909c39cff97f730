//! Clusters without registry whose nodes only their own program can reach. The programs here do what the real
//! ones do: take the image from the engine and import it into the node.

use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;

use crate::account::write_kubeconfig;
use crate::stand_in::StandIns;

/// Deploys to a cluster of this name with this program installed, and returns its calls, with the image's reference
/// as `REF` and the site's name as `NAME`.
fn calls(topic: &str, cluster: &str, program: &str, body: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let site = Site::new(topic);
    write_kubeconfig(&site, &cluster.replace("NAME", site.image()));
    let programs = StandIns::new(&[(program, body)]);
    let mut start = site.ci().variable("KUBECONFIG", site.project.file("kubeconfig"));
    start = start.variable("PATH", programs.path());
    for (name, value) in variables {
        start = start.variable(name, value);
    }
    let ended = start.run();
    ended.expect_clean_exit(0);
    let image = site.read("deployment/web", ".spec.template.spec.containers[0].image");
    let shortened = |call: String| call.replace(&image, "REF").replace(site.image(), "NAME");
    programs.calls().into_iter().map(shortened).collect()
}

/// Returns a shell command that imports the named image.
fn import(word: &str) -> String {
    format!("docker save \"{word}\" | {} --namespace k8s.io images import - >&2", Testbed::get().ctr())
}

#[test]
fn kind_load_is_used_if_nodes_are_in_another_engine() {
    let found = calls("kind-program", "kind-NAME", "kind", &import("$3"), &[]);
    assert_eq!(found, ["kind load docker-image REF --name NAME"]);
}

/// With another provider the Docker engine is not queried, and kind gets the provider.
#[test]
fn kind_load_gets_provider_variable() {
    let body = format!("test \"$KIND_EXPERIMENTAL_PROVIDER\" = podman && {}", import("$3"));
    let found =
        calls("kind-provider", "kind-NAME", "kind", &body, &[("KIND_EXPERIMENTAL_PROVIDER", "podman")]);
    assert_eq!(found, ["kind load docker-image REF --name NAME"]);
}

#[test]
fn k3d_image_import_is_used() {
    let found = calls("k3d-program", "k3d-NAME", "k3d", &import("$3"), &[]);
    assert_eq!(found, ["k3d image import REF --cluster NAME"]);
}

#[test]
fn minikube_image_load_is_used() {
    let found = calls("minikube-program", "minikube-NAME", "minikube", &import("$5"), &[]);
    assert_eq!(found, ["minikube -p minikube-NAME image load REF"]);
}

#[test]
fn microk8s_ctr_is_used() {
    let body = format!("test \"$1\" = ctr && shift && exec {} \"$@\"", Testbed::get().ctr());
    let found = calls("microk8s-program", "microk8s-NAME", "microk8s", &body, &[]);
    let last = found.last().expect("it was called");
    assert_eq!(last, "microk8s ctr --namespace k8s.io images import -", "{found:?}");
}

/// Without the program the update fails, and names the alternatives.
#[test]
fn missing_load_program_is_named_with_alternatives() {
    let site = Site::new("k3d-missing");
    write_kubeconfig(&site, &format!("k3d-{}", site.image()));
    let ended = site.ci().variable("KUBECONFIG", site.project.file("kubeconfig")).run().expect_clean_exit(1);
    let printed = ended.output();
    assert!(printed.contains("the program `k3d` was not found"), "{printed}");
    assert!(printed.contains("kube-public/local-registry-hosting"), "{printed}");
    assert!(Testbed::get().try_docker(&["image", "inspect", site.image()]).is_err());
}
