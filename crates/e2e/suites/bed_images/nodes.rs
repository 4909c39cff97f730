//! Images that go straight into the node, by a command of the user's or because the node is a container: only what it
//! lacks.

use lilt_e2e::bed::Site;
use lilt_e2e::lilt::Lilt;
use lilt_e2e::page::get;
use lilt_testbed_env::{Bed, Project, eventually};

use crate::account::write_kubeconfig;
use crate::front::{Front, HOSTING, NODES, NOT_FOUND, node};
use crate::stand_in::StandIns;

/// The names of the parts that a tar brings.
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

/// What another test changes at the same second must not make the same layer: the node would have it already.
fn say_two(site: &Site) {
    let words = format!("two of {}", site.image());
    site.project.write("app/www/index.html", &format!("{words}\n"));
    site.serves(&words);
}

/// The tags of a site in the bed's registry, if one of them has this in its name.
fn pushed(site: &Site, tag: &str) -> Option<String> {
    let registry = Bed::get().registry();
    let port = registry.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    get(port, &format!("/v2/{}/tags/list", site.image())).filter(|tags| tags.contains(tag))
}

/// The second image differs in one file that is copied last.
#[test]
fn only_the_changed_layer_goes_into_the_node() {
    let site = Site::new("node-command");
    let kept = Project::new(&[]);
    let keep = kept.path().display();
    // Notes what it is given.
    let stand_in = StandIns::new(&[(
        "node-ctr",
        &format!(
            "case \"$*\" in *import*) n=$(ls {keep} | wc -l); tee {keep}/$n.tar | {} \"$@\";; *) exec {} \"$@\";; esac",
            Bed::get().ctr(),
            Bed::get().ctr()
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

    let place = lilt.place();
    say_two(&site);
    lilt.wait_for_line_after(place, "web │      node-ctr: sent ");
    let told = lilt.output_after(place);
    lilt.quit();

    let (first, second) = (parts(&kept.file("0.tar")), parts(&kept.file("1.tar")));
    // Its manifest, its configuration and the layer of the last step, and none that went before.
    assert_eq!(second.len(), 3, "{second:?}");
    assert!(second.iter().all(|part| !first.contains(part)), "{first:?} {second:?}");
    assert!(told.contains("sent 3 of "), "{told}");
    let bytes = |file: &str| std::fs::metadata(kept.file(file)).expect("it was kept").len();
    assert!(bytes("0.tar") > 300_000 && bytes("1.tar") < 50_000, "{} {}", bytes("0.tar"), bytes("1.tar"));

    // A session that finds the image there brings nothing.
    let lilt = start().start();
    lilt.wait_until_ready("web");
    lilt.wait_for_line("web │      node-ctr: has it already");
    lilt.quit();
    assert!(!kept.exists("2.tar"));
}

/// lilt's agent goes there as the images do, where they need it.
#[test]
fn the_agent_goes_into_the_node() {
    let site = Site::new("node-agent");
    let dockerfile = site.project.read("app/Dockerfile");
    site.project.write("app/Dockerfile", &format!("{dockerfile}USER 1234\n"));
    let stand_in = StandIns::new(&[("node-ctr", &format!("exec {} \"$@\"", Bed::get().ctr()))]);
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

/// A container of the engine that is a node, as kind and k3d make them: with `ctr` beside the node's containerd.
struct NodeContainer(String);

impl NodeContainer {
    fn start(name: &str, labels: &[&str]) -> NodeContainer {
        let bed = Bed::get();
        let program = std::env::split_paths(bed.path()).map(|folder| folder.join("ctr"));
        let program = program.into_iter().find(|path| path.is_file()).expect("the bed has ctr");
        let volumes = [
            format!("{}:/usr/local/bin/ctr:ro", program.display()),
            format!("{}:/run/containerd/containerd.sock", bed.containerd()),
        ];
        let mut arguments = vec!["run", "--detach", "--name", name];
        labels.iter().for_each(|label| arguments.extend(["--label", label]));
        volumes.iter().for_each(|volume| arguments.extend(["--volume", volume]));
        arguments.extend(["busybox", "sleep", "3600"]);
        bed.docker(&arguments);
        NodeContainer(name.to_owned())
    }
}

impl Drop for NodeContainer {
    fn drop(&mut self) {
        let _ = Bed::get().try_docker(&["rm", "--force", "--volumes", &self.0]);
    }
}

/// Deploys twice to a cluster whose nodes are containers of the engine, without the program that makes such clusters.
fn goes_into_containers(site: &Site, maker: &str, node: &str) {
    let start = || site.up().variable("KUBECONFIG", site.project.file("kubeconfig"));
    let lilt = start().argument("--update-mode=image").start();
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_for_line(&format!("web │      Loading image to {maker}"));
    lilt.wait_for_line(&format!("web │      {node}: sent "));
    let place = lilt.place();
    say_two(site);
    lilt.wait_for_line_after(place, &format!("web │      {node}: sent 3 of "));
    lilt.quit();
    let image = site.read("deployment/web", ".spec.template.spec.containers[0].image");
    assert!(image.starts_with(&format!("{}:tilt-", site.image())), "no registry is in its name: {image}");
    eventually("the pod that is left runs it", || {
        Some(site.only_pod())
            .filter(|pod| site.read(&format!("pod/{pod}"), ".spec.containers[0].image") == image)
    });
}

#[test]
fn kinds_nodes_take_what_they_lack() {
    let site = Site::new("kind-node");
    write_kubeconfig(&site, &format!("kind-{}", site.image()));
    let cluster = format!("io.x-k8s.kind.cluster={}", site.image());
    let node = format!("{}-control-plane", site.image());
    let _node = NodeContainer::start(&node, &[&cluster, "io.x-k8s.kind.role=control-plane"]);
    // Runs no pods, and has no containerd.
    let balancer = format!("{}-external-load-balancer", site.image());
    let _balancer = NodeContainer::start(&balancer, &[&cluster, "io.x-k8s.kind.role=external-load-balancer"]);
    goes_into_containers(&site, "KIND", &node);
}

#[test]
fn k3ds_nodes_take_what_they_lack() {
    let site = Site::new("k3d-node");
    write_kubeconfig(&site, &format!("k3d-{}", site.image()));
    let node = format!("k3d-{}-server-0", site.image());
    let cluster = format!("k3d.cluster={}", site.image());
    let _node = NodeContainer::start(&node, &[&cluster, "k3d.role=server"]);
    goes_into_containers(&site, "k3d", &node);
}

/// minikube with containerd in Docker: its node is a container, too.
#[test]
fn minikubes_node_takes_what_it_lacks() {
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
