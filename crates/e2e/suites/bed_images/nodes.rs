//! Images that are loaded into nodes, by a user's command or because the node is a container: only the missing
//! layers.

use lilt_e2e::lilt::Lilt;
use lilt_e2e::page::get;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Project, Testbed, eventually};

use crate::account::write_kubeconfig;
use crate::front::{Front, HOSTING, NODES, NOT_FOUND, node};
use crate::stand_in::StandIns;

/// Returns the names of the blobs in an image archive.
fn parts(tar: &std::path::Path) -> Vec<String> {
    let listed = std::process::Command::new("tar").arg("-tf").arg(tar).output().expect("tar is there");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    names
        .lines()
        .filter(|name| name.starts_with("blobs/sha256/") && !name.ends_with('/'))
        .map(str::to_owned)
        .collect()
}

fn tag(lilt: &Lilt) -> String {
    let line = lilt.wait_for_line("web │ STEP 2/3 — Pushing ");
    line.rsplit_once(":tilt-").expect("it has a tag").1.to_owned()
}

/// Unique content, so that no other test creates the same layer.
fn say_two(site: &Site) {
    let words = format!("two of {}", site.image());
    site.project.write("app/www/index.html", &format!("{words}\n"));
    site.serves(&words);
}

/// Returns the tags of a site in the test bed's registry.
fn pushed(site: &Site, tag: &str) -> Option<String> {
    let registry = Testbed::get().registry();
    let port = registry.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    get(port, &format!("/v2/{}/tags/list", site.image())).filter(|tags| tags.contains(tag))
}

/// The second image differs in one file, which is copied last.
#[test]
fn node_gets_only_the_changed_layer() {
    let site = Site::new("node-command");
    let kept = Project::new(&[]);
    let keep = kept.path().display();
    // Records its input.
    let stand_in = StandIns::new(&[(
        "node-ctr",
        &format!(
            "case \"$*\" in *import*) n=$(ls {keep} | wc -l); tee {keep}/$n.tar | {} \"$@\";; *) exec {} \"$@\";; esac",
            Testbed::get().ctr(),
            Testbed::get().ctr()
        ),
    )]);
    let dockerfile = site.project.read("app/Dockerfile");
    let large = "RUN head -c 300000 /dev/urandom > /large\n";
    site.project
        .write("app/Dockerfile", &dockerfile.replace("COPY words.txt", &format!("{large}COPY words.txt")));
    let start = || {
        let lilt = site.up().argument("--update-mode=image");
        lilt.variable("LILT_NODE_CTR", "node-ctr").variable("PATH", stand_in.path())
    };
    let lilt = start().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let first_tag = tag(&lilt);
    lilt.wait_for_line("web │      Loading image to the cluster's nodes");
    assert_eq!(pushed(&site, &first_tag), None);

    let output_end = lilt.output_end();
    say_two(&site);
    lilt.wait_for_line_after(output_end, "web │      node-ctr: sent ");
    let message = lilt.output_after(output_end);
    lilt.quit();

    let (first, second) = (parts(&kept.file("0.tar")), parts(&kept.file("1.tar")));
    // Only its manifest, its configuration and the layer of the last step.
    assert_eq!(second.len(), 3, "{second:?}");
    assert!(second.iter().all(|part| !first.contains(part)), "{first:?} {second:?}");
    assert!(message.contains("sent 3 of "), "{message}");
    let bytes = |file: &str| std::fs::metadata(kept.file(file)).expect("it was kept").len();
    assert!(bytes("0.tar") > 300_000 && bytes("1.tar") < 50_000, "{} {}", bytes("0.tar"), bytes("1.tar"));

    // A session that finds the image on the node sends nothing.
    let lilt = start().start();
    lilt.wait_until_ready("web");
    lilt.wait_for_line("web │      node-ctr: has it already");
    lilt.quit();
    assert!(!kept.exists("2.tar"));
}

/// lilt's agent image is loaded like other images, where it is needed.
#[test]
fn node_gets_the_agent_image() {
    let site = Site::new("node-agent");
    let dockerfile = site.project.read("app/Dockerfile");
    site.project.write("app/Dockerfile", &format!("{dockerfile}USER 1234\n"));
    let stand_in = StandIns::new(&[("node-ctr", &format!("exec {} \"$@\"", Testbed::get().ctr()))]);
    let lilt = site.up().variable("LILT_NODE_CTR", "node-ctr").variable("PATH", stand_in.path()).start();
    lilt.wait_until_ready("web");
    lilt.wait_for_line("which is added to its pod: its user 1234 may not write to /www");
    site.serves("one");
    let pod = site.only_pod();
    say_two(&site);
    assert_eq!(site.only_pod(), pod);
    assert!(lilt.count("node-ctr: sent ") >= 2, "both were brought");
    assert_eq!(pushed(&site, "lilt-agent-"), None);
    lilt.quit();
}

/// A container that acts as a node of kind or k3d, with `ctr` for the node's containerd.
struct NodeContainer(String);

impl NodeContainer {
    fn start(name: &str, labels: &[&str]) -> NodeContainer {
        let testbed = Testbed::get();
        let program = std::env::split_paths(testbed.path()).map(|folder| folder.join("ctr"));
        let program = program.into_iter().find(|path| path.is_file()).expect("the bed has ctr");
        let volumes = [
            format!("{}:/usr/local/bin/ctr:ro", program.display()),
            format!("{}:/run/containerd/containerd.sock", testbed.containerd()),
        ];
        let mut arguments = vec!["run", "--detach", "--name", name];
        labels.iter().for_each(|label| arguments.extend(["--label", label]));
        volumes.iter().for_each(|volume| arguments.extend(["--volume", volume]));
        arguments.extend(["busybox", "sleep", "3600"]);
        testbed.docker(&arguments);
        NodeContainer(name.to_owned())
    }
}

impl Drop for NodeContainer {
    fn drop(&mut self) {
        let _ = Testbed::get().try_docker(&["rm", "--force", "--volumes", &self.0]);
    }
}

/// Deploys twice to a cluster whose nodes are containers of the engine, without kind or k3d installed.
fn goes_into_containers(site: &Site, maker: &str, node: &str) {
    let start = || site.up().variable("KUBECONFIG", site.project.file("kubeconfig"));
    let lilt = start().argument("--update-mode=image").start();
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_for_line(&format!("web │      Loading image to {maker}"));
    lilt.wait_for_line(&format!("web │      {node}: sent "));
    let output_end = lilt.output_end();
    say_two(site);
    lilt.wait_for_line_after(output_end, &format!("web │      {node}: sent 3 of "));
    lilt.quit();
    let image = site.read("deployment/web", ".spec.template.spec.containers[0].image");
    assert!(image.starts_with(&format!("{}:tilt-", site.image())), "no registry is in its name: {image}");
    eventually("the pod that is left runs it", || {
        Some(site.only_pod())
            .filter(|pod| site.read(&format!("pod/{pod}"), ".spec.containers[0].image") == image)
    });
}

#[test]
fn kind_nodes_get_missing_layers() {
    let site = Site::new("kind-node");
    write_kubeconfig(&site, &format!("kind-{}", site.image()));
    let cluster = format!("io.x-k8s.kind.cluster={}", site.image());
    let node = format!("{}-control-plane", site.image());
    let _node = NodeContainer::start(&node, &[&cluster, "io.x-k8s.kind.role=control-plane"]);
    // A node without containerd that runs no pods.
    let balancer = format!("{}-external-load-balancer", site.image());
    let _balancer = NodeContainer::start(&balancer, &[&cluster, "io.x-k8s.kind.role=external-load-balancer"]);
    goes_into_containers(&site, "KIND", &node);
}

#[test]
fn k3d_nodes_get_missing_layers() {
    let site = Site::new("k3d-node");
    write_kubeconfig(&site, &format!("k3d-{}", site.image()));
    let node = format!("k3d-{}-server-0", site.image());
    let cluster = format!("k3d.cluster={}", site.image());
    let _node = NodeContainer::start(&node, &[&cluster, "k3d.role=server"]);
    goes_into_containers(&site, "k3d", &node);
}

/// With minikube's Docker driver and containerd, the node is a container, too.
#[test]
fn minikube_node_gets_missing_layers() {
    let site = Site::new("minikube-node");
    let profile = format!("minikube-{}", site.image());
    let _front = Front::of(
        &site,
        &profile,
        &[(HOSTING, NOT_FOUND.0, NOT_FOUND.1), (NODES, "200 OK", &node("containerd://2.0.0", "{}"))],
    );
    let label = format!("name.minikube.sigs.k8s.io={profile}");
    let _node = NodeContainer::start(&profile, &[&label]);
    goes_into_containers(&site, "minikube", &profile);
}
