//! Where containers run on a Docker engine that lilt reaches, that engine copies files into them. The bed's node runs containerd:
//! the pod is one that no node takes, and what is said of it is that it runs as a container of the bed's engine, as it really does.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use lilt_e2e::bed::Site;
use lilt_e2e::lilt::Lilt;
use lilt_e2e::rights::somebody;
use lilt_testbed_env::{Bed, eventually};
use serde_json::{Value, json};

use crate::small::with_steps;

const STEPS: &str = "sync('app/www', '/www'), run('echo ran as $(id -u) for $(cat /www/index.html)')";

/// Its user is nobody special, and may write to what is synced.
fn site(topic: &str) -> Site {
    let site = Site::new(topic);
    let dockerfile = site
        .project
        .read("app/Dockerfile")
        .replace("CMD", "RUN chown -R 1234:1234 /www\nUSER 1234:1234\nCMD");
    site.project.write("app/Dockerfile", &dockerfile);
    let nowhere = "nodeSelector: {lilt.dev/nowhere: here}\n      containers:";
    site.project.write("web.yaml", &site.yaml("web", site.image()).replace("containers:", nowhere));
    with_steps(&site, STEPS);
    site
}

/// A container of the bed's engine, for as long as this lives.
struct Container(String);

impl Container {
    /// Runs what a pod should run, and says of the pod that it does.
    fn of(site: &Site, pod: &str, restarts: u32) -> Container {
        let image = site.read(&format!("pod/{pod}"), ".spec.containers[0].image");
        let id = Bed::get().docker(&["run", "-d", &image]).trim().to_owned();
        let status = json!({
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
            "containerStatuses": [{
                "name": "main", "image": image, "imageID": "", "ready": true, "started": true,
                "restartCount": restarts, "containerID": format!("docker://{id}"),
                "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}},
            }],
        });
        let patch = json!({"status": status}).to_string();
        site.namespace.kubectl(&["patch", "pod", pod, "--subresource=status", "--type=merge", "-p", &patch]);
        Container(id)
    }

    fn shell(&self, line: &str) -> String {
        Bed::get().docker(&["exec", &self.0, "sh", "-c", line])
    }

    fn says(&self, line: &str, text: &str) {
        let command = ["exec", &self.0, "sh", "-c", line];
        eventually(&format!("{line:?} says {text:?}"), || {
            Bed::get().try_docker(&command).ok().filter(|said| said == text)
        });
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Bed::get().try_docker(&["rm", "-f", &self.0]);
    }
}

#[test]
fn the_engine_copies_files() {
    let site = site("live-docker");
    let lilt = site.up().argument("--update-mode=container").start();
    let pod = site.only_pod();
    let container = Container::of(&site, &pod, 0);
    lilt.wait_until_ready("web");
    let path = |name: &str| site.project.file(&format!("app/www/{name}"));
    let chmod = |name: &str, mode: u32| {
        fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).expect("it is ours");
    };

    // What is written is the user's, and steps find it.
    site.project.write("app/www/index.html", "two\n");
    container.says("cat /www/index.html; stat -c '%u:%g' /www/index.html", "two\n1234:1234\n");
    lilt.wait_for_words("web", "ran as 1234 for two");

    // Modes of files and of directories, new ones and others; links.
    site.project.write("app/www/tool", "#!/bin/sh\n");
    chmod("tool", 0o750);
    fs::create_dir(path("deep")).expect("a directory");
    site.project.write("app/www/deep/file", "deep\n");
    chmod("deep", 0o700);
    symlink("deep/file", path("link")).expect("a link");
    let look = "cd /www && stat -c '%n %a %U' tool deep deep/file && readlink link && cat link";
    let expected = "tool 750 UNKNOWN\ndeep 700 UNKNOWN\ndeep/file 644 UNKNOWN\ndeep/file\ndeep\n";
    container.says(look, expected);
    chmod("deep", 0o2775);
    container.says(look, &expected.replace("700", "2775"));

    // A directory in the place of a file, and the other way round; and removals.
    fs::remove_file(path("tool")).expect("it is there");
    site.project.write("app/www/tool/inner", "inner\n");
    fs::remove_dir_all(path("deep")).expect("it is there");
    site.project.write("app/www/deep", "now a file\n");
    fs::remove_file(path("link")).expect("it is there");
    container.says(
        "cd /www && cat tool/inner deep && ls",
        "inner\nnow a file\ndeep\nindex.html\ntool\nwords.txt\n",
    );

    // What takes the place of the container gets all of it.
    drop(container);
    let next = Container::of(&site, &pod, 1);
    next.says("cd /www && cat index.html tool/inner deep", "two\ninner\nnow a file\n");
    lilt.wait_until_ready("web");
    lilt.has_lines("STEP 1/3", 1);
    assert_eq!(site.only_pod(), pod);
    assert_eq!(next.shell("id -u"), "1234\n");
    lilt.quit();
}

/// Everything in the namespace but to enter pods.
fn outside() -> Value {
    let may = |groups: &[&str], resources: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": ["*"]});
    json!([
        may(&["apps", "events.k8s.io"], &["*"]),
        may(&[""], &["pods", "pods/log", "events", "configmaps", "secrets", "services", "namespaces"]),
    ])
}

/// Which way it goes is found out: nobody may enter the pod, and the engine has its container.
#[test]
fn the_engine_does_what_the_cluster_does_not_allow() {
    let site = site("live-docker-auto");
    let tiltfile = site.project.read("Tiltfile");
    let registry = Bed::get().registry();
    site.project.write(
        "Tiltfile",
        &format!("allow_k8s_contexts('somebody')\ndefault_registry('{registry}')\n{tiltfile}"),
    );
    let home = somebody(&site.namespace, &outside());
    let start = |mode: &str| -> Lilt {
        site.up()
            .argument(&format!("--update-mode={mode}"))
            .variable("KUBECONFIG", home.file("kubeconfig"))
            .start()
    };
    let lilt = start("auto");
    let pod = site.only_pod();
    let container = Container::of(&site, &pod, 0);
    lilt.wait_until_ready("web");
    site.project.write("app/www/index.html", "two\n");
    container.says("cat /www/index.html", "two\n");
    lilt.wait_for_words("web", "ran as 1234 for two");
    lilt.wait_until_ready("web");
    lilt.has_lines("STEP 1/3", 1);
    assert_eq!(site.only_pod(), pod);
    lilt.quit();

    // Through Kubernetes alone it cannot be, which is said, and built.
    site.namespace.kubectl(&["delete", "deployment", "web"]);
    eventually("its pod is gone", || site.pods().is_empty().then_some(()));
    let lilt = start("exec");
    let container = Container::of(&site, &site.only_pod(), 0);
    lilt.wait_until_ready("web");
    let place = lilt.place();
    site.project.write("app/www/index.html", "three\n");
    lilt.wait_for_line_after(place, "the cluster does not allow you to run commands in pod");
    lilt.wait_for_line_after(place, "STEP 1/3");
    assert_eq!(container.shell("cat /www/index.html"), "two\n");
    lilt.quit();
}
