//! Registries: which one is found, what has the last word, and that nothing is pushed twice.

use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;

use crate::account::write_kubeconfig;
use crate::front::{Front, HOSTING, NODES, NOT_FOUND, node};

fn image(site: &Site) -> String {
    site.read("deployment/web", ".spec.template.spec.containers[0].image")
}

/// Found by a node's annotation, it beats the Tiltfile's.
#[test]
fn registry_announced_by_node_is_used() {
    let site = Site::new("annotated");
    let registry = Testbed::get().registry();
    let annotations = format!(r#"{{"tilt.dev/registry":"{registry}"}}"#);
    let _front = Front::of(
        &site,
        &format!("kind-{}", site.image()),
        &[(HOSTING, NOT_FOUND.0, NOT_FOUND.1), (NODES, "200 OK", &node("containerd://2.0.0", &annotations))],
    );
    site.project.write("Tiltfile", &format!("default_registry('registry.example.com')\n{}", site.tiltfile()));
    let printed =
        site.ci().variable("KUBECONFIG", site.project.file("kubeconfig")).run().expect_clean_exit(0).output();
    assert!(
        printed.contains(&format!("Auto-detected local registry from environment: {registry}")),
        "{printed}"
    );
    assert!(
        printed.contains("Default registry specified, but will be ignored in favor of auto-detected"),
        "{printed}"
    );
    assert!(image(&site).starts_with(&format!("{registry}/{}:tilt-", site.image())), "{}", image(&site));
}

/// A user without rights to look for one: the Tiltfile's is used. One repository takes all images.
#[test]
fn default_registry_is_used_without_rights_to_detect() {
    let site = Site::new("default-registry");
    // No name by which a maker would be known: where images go is up to the Tiltfile.
    let cluster = format!("team-{}", site.image());
    write_kubeconfig(&site, &cluster);
    let registry = Testbed::get().registry();
    let name = site.image();
    site.project.write(
        "Tiltfile",
        &format!(
            "allow_k8s_contexts('{cluster}')\ndefault_registry('{registry}/ecr', single_name='{name}')\n{}",
            site.tiltfile()
        ),
    );
    site.ci().variable("KUBECONFIG", site.project.file("kubeconfig")).run().expect_clean_exit(0);
    assert!(image(&site).starts_with(&format!("{registry}/ecr/{name}:{name}-tilt-")), "{}", image(&site));
}

/// Across sessions: built from the cache to the same content, and not pushed.
#[test]
fn image_in_registry_is_not_pushed_again() {
    let site = Site::new("pushed-once");
    let first = site.ci().run().expect_clean_exit(0).output();
    assert!(first.contains("     Pushing with Docker client"), "{first}");
    let before = image(&site);
    let second = site.ci().run().expect_clean_exit(0).output();
    assert!(second.contains("     Skipping push: the registry has it already"), "{second}");
    assert!(!second.contains("Pushing with Docker client"), "{second}");
    assert_eq!(image(&site), before);
    // Not there any more, it is pushed.
    let registry = Testbed::get().registry();
    let (name, tag) = before.rsplit_once(':').expect("it has a tag");
    let manifests =
        format!("http://{registry}/v2/{}/manifests", name.trim_start_matches(&format!("{registry}/")));
    let accept = "Accept: application/vnd.oci.image.manifest.v1+json,application/vnd.oci.image.index.v1+json";
    let curl = |arguments: &[&str]| {
        let output =
            std::process::Command::new("curl").arg("-fsS").args(arguments).output().expect("curl is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).to_lowercase()
    };
    let head = curl(&["-I", "-H", accept, &format!("{manifests}/{tag}")]);
    let digest =
        head.lines().find_map(|line| line.strip_prefix("docker-content-digest: ")).expect("it has one");
    curl(&["-X", "DELETE", &format!("{manifests}/{}", digest.trim())]);
    let third = site.ci().run().expect_clean_exit(0).output();
    assert!(third.contains("     Pushing with Docker client"), "{third}");
}

/// An image that only another one builds on stays here.
#[test]
fn base_images_are_not_pushed() {
    let site = Site::new("base-image");
    let base = format!("{}-base", site.image());
    site.project.write("base/Dockerfile", &format!("FROM busybox\nRUN echo {base}\n"));
    let dockerfile = site.project.read("app/Dockerfile").replace("FROM busybox", &format!("FROM {base}"));
    site.project.write("app/Dockerfile", &dockerfile);
    site.project.write("Tiltfile", &format!("docker_build('{base}', 'base')\n{}", site.tiltfile()));
    let printed = site.ci().run().expect_clean_exit(0).output();
    assert_eq!(
        printed.matches("     Skipping push: base image does not need deploy").count(),
        1,
        "{printed}"
    );
    assert_eq!(printed.matches("     Pushing with Docker client").count(), 1, "{printed}");
}
