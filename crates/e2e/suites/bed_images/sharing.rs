//! Clusters that run what the engine has: nothing is pushed, and minikube's own engine builds.

use std::os::unix::fs::symlink;

use lilt_e2e::lilt::Start;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Project, Testbed};

use crate::front::{FORBIDDEN, Front, HOSTING, NODES, NOT_FOUND, node};
use crate::stand_in::StandIns;

/// The pod is of no interest: on the test bed, the node does not see what the engine has.
fn without_pods(site: &Site) -> Start {
    site.project.write(
        "Tiltfile",
        &format!(
            "docker_build('{}', 'app')\nk8s_yaml('web.yaml')\nk8s_resource('web', pod_readiness='ignore')\n",
            site.image()
        ),
    );
    site.ci().variable("KUBECONFIG", site.project.file("kubeconfig"))
}

const SHARED: &str = "     Skipping push: building on cluster's container runtime";

/// The test bed's engine at the place of another one.
fn engine_at(socket_path: &str) -> (Project, String) {
    let folder = Project::new(&[]);
    let socket = folder.file(socket_path);
    std::fs::create_dir_all(socket.parent().expect("it is in a folder")).expect("a folder of our own");
    symlink(Testbed::get().docker_host().trim_start_matches("unix://"), &socket).expect("a link of our own");
    let host = format!("unix://{}", socket.display());
    (folder, host)
}

#[test]
fn docker_desktop_uses_local_images_without_push() {
    let site = Site::new("desktop");
    let _front = Front::of(
        &site,
        "docker-desktop",
        &[(HOSTING, NOT_FOUND.0, NOT_FOUND.1), (NODES, "200 OK", &node("docker://28.0.0", "{}"))],
    );
    let (_folder, host) = engine_at(".docker/run/docker.sock");
    let printed = without_pods(&site).variable("DOCKER_HOST", host).run().expect_clean_exit(0).output();
    assert!(printed.contains("STEP 2/3 — Pushing "), "{printed}");
    assert!(printed.contains(SHARED), "{printed}");
    let image = site.read("deployment/web", ".spec.template.spec.containers[0].image");
    assert!(image.starts_with(&format!("{}:tilt-", site.image())), "{image}");
}

/// Nobody brings such an image anywhere, and its name says nothing of its content: the pods must be replaced all the same.
#[test]
fn changed_local_image_with_fixed_tag_is_redeployed() {
    let site = Site::new("desktop-tag");
    let _front = Front::of(
        &site,
        "docker-desktop",
        &[(HOSTING, NOT_FOUND.0, NOT_FOUND.1), (NODES, "200 OK", &node("docker://28.0.0", "{}"))],
    );
    let (_folder, host) = engine_at(".docker/run/docker.sock");
    let start = without_pods(&site);
    let image = site.image();
    site.project.write(
        "Tiltfile",
        &format!(
            "custom_build('{image}', 'docker build --provenance=false -t {image}:mine app', ['app'], tag='mine', skips_local_docker=True)\n\
             k8s_yaml('web.yaml')\nk8s_resource('web', pod_readiness='ignore')\n"
        ),
    );
    let hash = |start: Start| {
        start.variable("DOCKER_HOST", host.clone()).run().expect_clean_exit(0);
        assert_eq!(
            site.read("deployment/web", ".spec.template.spec.containers[0].image"),
            format!("{image}:mine")
        );
        site.read("deployment/web", r".spec.template.metadata.labels.tilt\.dev/pod-template-hash")
    };
    let session = || site.ci().variable("KUBECONFIG", site.project.file("kubeconfig"));
    let first = hash(start);
    assert_eq!(hash(session()), first, "what is the same stays");
    site.project.write("app/words.txt", "others");
    assert_ne!(hash(session()), first);
}

/// Rancher Desktop with containerd does not share it, and with nodes that nobody may look at it is not known to.
#[test]
fn engine_that_may_not_be_shared_needs_registry() {
    for (topic, status, nodes) in [
        ("rancher-containerd", "200 OK", node("containerd://2.0.0", "{}")),
        ("rancher-unknown", FORBIDDEN.0, FORBIDDEN.1.to_owned()),
    ] {
        let site = Site::new(topic);
        let _front = Front::of(
            &site,
            "rancher-desktop",
            &[(HOSTING, FORBIDDEN.0, FORBIDDEN.1), (NODES, status, &nodes)],
        );
        let (_folder, host) = engine_at(".rd/docker.sock");
        let printed = without_pods(&site).variable("DOCKER_HOST", host).run().expect_clean_exit(1).output();
        assert!(printed.contains("there is no registry to push the image"), "{printed}");
        assert!(printed.contains("default_registry("), "{printed}");
    }
}

/// Its variables lead to its engine, for builds of ours and for commands of the user's.
#[test]
fn minikube_docker_env_engine_builds() {
    let site = Site::new("minikube-engine");
    let cluster = format!("minikube-{}", site.image());
    let _front = Front::of(
        &site,
        &cluster,
        &[(HOSTING, NOT_FOUND.0, NOT_FOUND.1), (NODES, "200 OK", &node("docker://28.0.0", "{}"))],
    );
    let (_folder, host) = engine_at("minikube/docker.sock");
    let programs = StandIns::new(&[("minikube", &format!("echo 'export DOCKER_HOST=\"{host}\"'"))]);
    let start = without_pods(&site);
    let custom = format!("{}-custom", site.image());
    site.project.write("custom.yaml", &site.yaml("custom", &custom));
    let tiltfile = format!(
        "{}custom_build('{custom}', 'echo engine $DOCKER_HOST; docker build -t $EXPECTED_REF app', ['app'])\n\
         k8s_yaml('custom.yaml')\nk8s_resource('custom', pod_readiness='ignore')\n",
        site.project.read("Tiltfile")
    );
    site.project.write("Tiltfile", &tiltfile);
    let mut start = start.variable("PATH", programs.path());
    start = start.without("DOCKER_HOST");
    let printed = start.run().expect_clean_exit(0).output();
    assert_eq!(printed.matches(SHARED).count(), 2, "{printed}");
    assert!(printed.contains(&format!("engine {host}")), "{printed}");
    assert_eq!(programs.calls(), [format!("minikube -p {cluster} docker-env --shell sh")]);

    // The commands about Docker use the same.
    let docker = Start::new(&site.project, &["docker", "--", "version", "--format", "{{.Server.Os}}"]);
    let docker = docker.in_namespace(&site.namespace).variable("KUBECONFIG", site.project.file("kubeconfig"));
    let ended = docker.variable("PATH", programs.path()).without("DOCKER_HOST").run().expect_clean_exit(0);
    assert_eq!(ended.stdout(), "linux\n");
    assert!(ended.stderr().contains(&format!("DOCKER_HOST={host} docker version")), "{}", ended.stderr());
}

/// Somebody who names another engine wants that one to build.
#[test]
fn minikube_is_loaded_if_another_engine_builds() {
    let site = Site::new("minikube-other");
    let _front = Front::of(
        &site,
        &format!("minikube-{}", site.image()),
        &[(HOSTING, NOT_FOUND.0, NOT_FOUND.1), (NODES, "200 OK", &node("docker://28.0.0", "{}"))],
    );
    let body = "case \"$*\" in *docker-env*) echo 'export DOCKER_HOST=\"unix:///other.sock\"';; esac";
    let programs = StandIns::new(&[("minikube", body)]);
    let printed = without_pods(&site).variable("PATH", programs.path()).run().expect_clean_exit(0).output();
    assert!(printed.contains("Loading image to minikube"), "{printed}");
    assert!(
        programs.calls().last().is_some_and(|call| call.contains(" image load ")),
        "{:?}",
        programs.calls()
    );
}
