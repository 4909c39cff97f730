//! Live updates through the Docker engine. The test bed's node runs containerd, so these tests use an unschedulable pod
//! whose status says that it runs as a container of the test bed's Docker engine, where it really runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use lilt_e2e::lilt::Lilt;
use lilt_e2e::rights::restricted_kubeconfig;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};
use serde_json::{Value, json};

use crate::small::with_steps;

const STEPS: &str = "sync('app/www', '/www'), run('echo ran as $(id -u) for $(cat /www/index.html)')";

/// Its user is not root, and may write to the synced directories.
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

/// A container of the test bed's engine, removed when dropped.
struct Container(String);

impl Container {
    /// Runs the pod's container, and sets the pod's status to running.
    fn of(site: &Site, pod: &str, restarts: u32) -> Container {
        let image = site.read(&format!("pod/{pod}"), ".spec.containers[0].image");
        let id = Testbed::get().docker(&["run", "-d", &image]).trim().to_owned();
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
        Testbed::get().docker(&["exec", &self.0, "sh", "-c", line])
    }

    fn wait_for_output(&self, line: &str, text: &str) {
        let command = ["exec", &self.0, "sh", "-c", line];
        eventually(&format!("{line:?} says {text:?}"), || {
            Testbed::get().try_docker(&command).ok().filter(|said| said == text)
        });
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Testbed::get().try_docker(&["rm", "-f", &self.0]);
    }
}

#[test]
fn docker_engine_copies_files() {
    let site = site("live-docker");
    let lilt = site.up().argument("--update-mode=container").start();
    let pod = site.only_pod();
    let container = Container::of(&site, &pod, 0);
    lilt.wait_until_ready("web");
    let path = |name: &str| site.project.file(&format!("app/www/{name}"));
    let chmod = |name: &str, mode: u32| {
        fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).expect("it is ours");
    };

    // Copied files belong to the user, and run steps see them.
    site.project.write("app/www/index.html", "two\n");
    container.wait_for_output("cat /www/index.html; stat -c '%u:%g' /www/index.html", "two\n1234:1234\n");
    lilt.wait_for_log_line("web", "ran as 1234 for two");

    // Modes of new and existing files and directories; links.
    site.project.write("app/www/tool", "#!/bin/sh\n");
    chmod("tool", 0o750);
    fs::create_dir(path("deep")).expect("a directory");
    site.project.write("app/www/deep/file", "deep\n");
    chmod("deep", 0o700);
    symlink("deep/file", path("link")).expect("a link");
    let look = "cd /www && stat -c '%n %a %U' tool deep deep/file && readlink link && cat link";
    let expected = "tool 750 UNKNOWN\ndeep 700 UNKNOWN\ndeep/file 644 UNKNOWN\ndeep/file\ndeep\n";
    container.wait_for_output(look, expected);
    chmod("deep", 0o2775);
    container.wait_for_output(look, &expected.replace("700", "2775"));

    // A directory replaces a file and vice versa; deletions.
    fs::remove_file(path("tool")).expect("it is there");
    site.project.write("app/www/tool/inner", "inner\n");
    fs::remove_dir_all(path("deep")).expect("it is there");
    site.project.write("app/www/deep", "now a file\n");
    fs::remove_file(path("link")).expect("it is there");
    container.wait_for_output(
        "cd /www && cat tool/inner deep && ls",
        "inner\nnow a file\ndeep\nindex.html\ntool\nwords.txt\n",
    );

    // A replacement container gets all changes.
    drop(container);
    let next = Container::of(&site, &pod, 1);
    next.wait_for_output("cd /www && cat index.html tool/inner deep", "two\ninner\nnow a file\n");
    lilt.wait_until_ready("web");
    lilt.has_lines("STEP 1/3", 1);
    assert_eq!(site.only_pod(), pod);
    assert_eq!(next.shell("id -u"), "1234\n");
    lilt.quit();
}

/// All permissions in the namespace except exec.
fn outside() -> Value {
    let may = |groups: &[&str], resources: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": ["*"]});
    json!([
        may(&["apps", "events.k8s.io"], &["*"]),
        may(&[""], &["pods", "pods/log", "events", "configmaps", "secrets", "services", "namespaces"]),
    ])
}

/// The transport is detected: exec is forbidden, and the engine has the container.
#[test]
fn docker_engine_syncs_where_exec_is_forbidden() {
    let site = site("live-docker-auto");
    let tiltfile = site.project.read("Tiltfile");
    let registry = Testbed::get().registry();
    site.project.write(
        "Tiltfile",
        &format!("allow_k8s_contexts('somebody')\ndefault_registry('{registry}')\n{tiltfile}"),
    );
    let home = restricted_kubeconfig(&site.namespace, &outside());
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
    container.wait_for_output("cat /www/index.html", "two\n");
    lilt.wait_for_log_line("web", "ran as 1234 for two");
    lilt.wait_until_ready("web");
    lilt.has_lines("STEP 1/3", 1);
    assert_eq!(site.only_pod(), pod);
    lilt.quit();

    // With the exec transport alone it fails with a message, and is built.
    site.namespace.kubectl(&["delete", "deployment", "web"]);
    eventually("its pod is gone", || site.pods().is_empty().then_some(()));
    let lilt = start("exec");
    let container = Container::of(&site, &site.only_pod(), 0);
    lilt.wait_until_ready("web");
    let output_end = lilt.output_end();
    site.project.write("app/www/index.html", "three\n");
    lilt.wait_for_line_after(output_end, "the cluster does not allow you to run commands in pod");
    lilt.wait_for_line_after(output_end, "STEP 1/3");
    assert_eq!(container.shell("cat /www/index.html"), "two\n");
    lilt.quit();
}
