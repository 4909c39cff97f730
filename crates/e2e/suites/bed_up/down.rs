//! `lilt down`.

use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

#[test]
fn down_deletes_and_second_down_succeeds() {
    let site = Site::new("down");
    let yaml = site.idle("web");
    let namespace =
        format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {}}}\n", site.namespace.name());
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n";
    site.project.write("web.yaml", &format!("{namespace}---\n{settings}---\n{yaml}"));
    site.project.write(
        "Tiltfile",
        "print('evaluated')\nk8s_yaml('web.yaml')\nlocal_resource('never', 'touch never')\n",
    );
    site.namespace.kubectl(&["create", "configmap", "someone-elses"]);
    // Whoever applied it.
    site.namespace.kubectl(&["apply", "-f", &site.project.file("web.yaml").to_string_lossy()]);
    eventually("it runs", || (!site.pods().is_empty()).then_some(()));

    let ended = site.down().run().expect_clean_exit(0);
    ended
        .expect_output("evaluated\n")
        .expect_output("→ Deployment/web\n")
        .expect_output("→ ConfigMap/settings\n")
        .expect_output("Not deleting namespaces: ");
    assert!(!site.exists("deployment/web") && !site.exists("configmap/settings"));
    assert!(site.exists("configmap/someone-elses"), "what the Tiltfile does not name stays");
    let phase = site.read(&format!("namespace/{}", site.namespace.name()), ".status.phase");
    assert_eq!(phase, "Active", "namespaces stay");
    assert!(!site.project.exists("never"), "nothing is run");
    eventually("its pods are gone", || site.pods().is_empty().then_some(()));

    let again = site.down().run().expect_clean_exit(0);
    again
        .expect_output("→ Deployment/web (already gone)\n")
        .expect_output("→ ConfigMap/settings (already gone)\n");
}

#[test]
fn down_deletes_objects_of_up() {
    let site = Site::new("down-up");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.quit();
    assert!(site.exists("deployment/web"));
    site.down().run().expect_clean_exit(0).expect_output("→ Deployment/web\n");
    assert!(!site.exists("deployment/web"));
}

#[test]
fn down_honours_keep_policy_jobs_and_unknown_kinds() {
    let site = Site::new("down-kinds");
    let name = site.namespace.name();
    let kept = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {tilt.dev/down-policy: keep}}\n";
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: main, image: busybox, command: ['true']}]\n";
    let unknown = "apiVersion: nobody.example/v1\nkind: Nothing\nmetadata: {name: nothing}\n";
    site.project.write("all.yaml", &format!("{kept}---\n{job}---\n{unknown}"));
    site.project.write("known.yaml", &format!("{kept}---\n{job}"));
    site.project.write(
        "Tiltfile",
        "k8s_yaml('all.yaml')\nif config.tilt_subcommand == 'down':\n    local('echo ran > on-down')\n",
    );
    site.namespace.kubectl(&["apply", "-f", &site.project.file("known.yaml").to_string_lossy()]);
    eventually("the job has its pod", || (!site.pods().is_empty()).then_some(()));
    let ended = site.down().run().expect_clean_exit(0);
    ended
        .expect_output("Keeping kept:configmap")
        .expect_output("→ Job/job\n")
        .expect_output("→ Nothing/nothing (already gone)\n");
    assert!(site.exists("configmap/kept") && !site.exists("job/job"), "in {name}");
    assert!(site.project.exists("on-down"), "the Tiltfile knows that it is for down");
    eventually("the job's pod is gone", || site.pods().is_empty().then_some(()));
}

#[test]
fn down_of_one_resource_keeps_others() {
    let site = Site::new("down-one");
    site.project.write("all.yaml", &format!("{}---\n{}", site.idle("one"), site.idle("two")));
    site.project.write("Tiltfile", "k8s_yaml('all.yaml')\n");
    site.namespace.kubectl(&["apply", "-f", &site.project.file("all.yaml").to_string_lossy()]);
    site.down().argument("two").run().expect_clean_exit(0).expect_output("→ Deployment/two\n");
    assert!(site.exists("deployment/one") && !site.exists("deployment/two"));
}

#[test]
fn down_delete_namespaces_flag_deletes_namespaces() {
    let site = Site::new("down-namespace");
    let name = format!("{}-inner", site.namespace.name());
    site.project.write("all.yaml", &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"));
    site.project.write("Tiltfile", "k8s_yaml('all.yaml')\n");
    site.namespace.kubectl(&["apply", "-f", &site.project.file("all.yaml").to_string_lossy()]);
    site.down().run().expect_clean_exit(0).expect_output(&format!("Not deleting namespaces: {name}\n"));
    site.down()
        .argument("--delete-namespaces")
        .run()
        .expect_clean_exit(0)
        .expect_output(&format!("→ Namespace/{name}\n"));
    assert!(!site.exists(&format!("namespace/{name}")));
}

#[test]
fn down_runs_delete_cmd_and_prints_output() {
    let site = Site::new("down-command");
    site.namespace.kubectl(&["create", "configmap", "made-by-hand"]);
    site.project.write(
        "Tiltfile",
        "k8s_custom_deploy('custom', apply_cmd='false', deps=[],\n    \
             delete_cmd='echo deleting; kubectl delete configmap made-by-hand')\n\
         k8s_custom_deploy('failing', apply_cmd='false', deps=[], delete_cmd='exit 3')\n",
    );
    let ended = site.down().argument("custom").run().expect_clean_exit(0);
    ended
        .expect_output("Running cmd: echo deleting; kubectl")
        .expect_output("deleting\n")
        .expect_output("\"made-by-hand\" deleted");
    assert!(!site.exists("configmap/made-by-hand"));
    let ended = site.down().argument("failing").run().expect_clean_exit(1);
    assert!(ended.stderr().contains("\"exit 3\" failed: exit code 3"), "{}", ended.output());
}

#[test]
fn down_stops_compose_and_deletes_volumes_if_asked() {
    let site = Site::new("down-compose");
    let testbed = Testbed::get();
    let name = site.namespace.name().to_owned();
    let compose = format!(
        "name: {name}\nservices:\n  one:\n    image: busybox\n    command: sleep 987\n    stop_grace_period: 0s\n    volumes: ['data:/data']\nvolumes: {{data: {{}}}}\n"
    );
    site.project.write("docker-compose.yml", &compose);
    let tiltfile = format!("docker_compose('docker-compose.yml', project_name='{name}')\n");
    site.project.write("Tiltfile", &tiltfile);
    let file = site.project.file("docker-compose.yml").to_string_lossy().into_owned();
    let start = || testbed.docker(&["compose", "-f", &file, "up", "-d"]);
    let containers =
        || testbed.docker(&["ps", "-aq", "--filter", &format!("label=com.docker.compose.project={name}")]);
    let volumes = || testbed.docker(&["volume", "ls", "-q", "--filter", &format!("name={name}_data")]);
    start();
    assert!(!containers().is_empty());
    site.down().run().expect_clean_exit(0);
    assert!(containers().is_empty());
    assert!(!volumes().is_empty(), "volumes stay");
    start();
    site.down().argument("--delete-volumes").run().expect_clean_exit(0);
    assert!(containers().is_empty() && volumes().is_empty());
}
