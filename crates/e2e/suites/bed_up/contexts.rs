//! A session keeps its context, whatever changes in the kubeconfig.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use lilt_e2e::lilt::Start;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

#[test]
fn session_keeps_its_context_and_reports_a_switch() {
    let site = Site::new("pinned");
    site.project.write("web.yaml", &site.idle("web"));
    let tiltfile = "k8s_yaml('web.yaml')\nprint('the context is ' + k8s_context())\n\
        print('local says ' + str(local('kubectl config current-context', quiet=True)))\n\
        local_resource('ask', 'kubectl config current-context; cat text', deps=['text'])\n";
    site.project.write("Tiltfile", tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let kubectl = |arguments: &[&str]| site.namespace.kubectl(arguments);
    kubectl(&["config", "set-cluster", "elsewhere", "--server=https://127.0.0.1:9"]);
    kubectl(&["config", "set-context", "elsewhere", "--cluster=elsewhere", "--user=nobody"]);
    kubectl(&["config", "use-context", "elsewhere"]);
    lilt.wait_for_line("kubeconfig now selects the context elsewhere; this session stays with kind-lilt");
    let output_end = lilt.output_end();
    site.project.write("text", "asked again\n");
    site.project.write("Tiltfile", &format!("{tiltfile}print('loaded again')\n"));
    lilt.wait_for_line_after(output_end, "loaded again");
    lilt.wait_for_log_line_after(output_end, "ask", "asked again");
    let since = lilt.output_after(output_end);
    assert!(since.contains("the context is kind-lilt") && since.contains("local says kind-lilt"), "{since}");
    assert!(!since.contains("elsewhere"), "{since}");
    // Later deployments use the same context.
    site.project.write("web.yaml", &site.idle("web").replace("987", "654"));
    lilt.wait_for_line_after(output_end, "web:deployment");
    kubectl(&["config", "use-context", "kind-lilt"]);
    lilt.wait_for_line("selects the context kind-lilt again");
    eventually("it is deployed", || {
        site.namespace.kubectl(&["get", "deployment/web", "-o", "yaml"]).contains("sleep 654").then_some(())
    });
    lilt.quit();
}

#[test]
fn kubeconfig_is_not_needed_without_objects() {
    let site = Site::new("none");
    site.project.write("Tiltfile", "local('echo loaded')\nlocal_resource('job', 'echo done')\n");
    // Reading this blocks forever.
    let endless = site.project.file("endless");
    let made = std::process::Command::new("mkfifo").arg(&endless).status();
    assert!(made.is_ok_and(|status| status.success()));
    let ended = site.ci().variable("KUBECONFIG", &endless).run().expect_clean_exit(0);
    assert!(ended.output().contains("loaded") && ended.output().contains("done"), "{}", ended.output());
    site.down().variable("KUBECONFIG", &endless).run().expect_clean_exit(0);
}

/// A kubeconfig with all permissions in one namespace, and none elsewhere.
fn limited(site: &Site) -> std::path::PathBuf {
    let kubectl = |arguments: &[&str]| site.namespace.kubectl(arguments);
    kubectl(&["create", "serviceaccount", "worker"]);
    let account = format!("--serviceaccount={}:worker", site.namespace.name());
    kubectl(&["create", "rolebinding", "worker", "--clusterrole=admin", &account]);
    let token = kubectl(&["create", "token", "worker"]);
    let path = site.project.file("limited");
    std::fs::copy(site.namespace.kubeconfig(), &path).expect("a kubeconfig can be copied");
    let file = path.to_string_lossy().into_owned();
    let user = kubectl(&["config", "view", "-o", "jsonpath={.users[0].name}"]);
    let testbed = Testbed::get();
    testbed.kubectl(&["--kubeconfig", &file, "config", "delete-user", &user]);
    testbed.kubectl(&["--kubeconfig", &file, "config", "set-credentials", &user, "--token", token.trim()]);
    path
}

#[test]
fn namespace_rights_suffice() {
    let site = Site::new("limited");
    let kubeconfig = limited(&site);
    site.project.write("web.yaml", &site.idle("web"));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    let lilt = site.up().variable("KUBECONFIG", &kubeconfig).start();
    lilt.wait_until_ready("web");
    site.namespace.kubectl(&["scale", "deployment/web", "--replicas=1"]);
    site.namespace.kubectl(&["delete", "deployment/web"]);
    lilt.wait_until("web", "is missed", |it| {
        it["metadata"]["annotations"]["lilt.dev/drift"].as_str().is_some_and(|it| it.contains("deleted"))
    });
    assert!(!lilt.output().contains("forbidden"), "{}", lilt.output());
    lilt.click("web");
    lilt.wait_until_ready("web");
    // What is forbidden is reported, and the rest continues.
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n";
    site.project.write("other.yaml", other);
    site.project.write("Tiltfile", "k8s_yaml(['web.yaml', 'other.yaml'])\n");
    let refused = lilt.wait_for_line("the cluster does not allow you to apply other:configmap:default");
    assert!(refused.contains("uncategorized │ ERROR"), "{refused}");
    lilt.wait_until_ready("web");
    lilt.quit();
}

/// After a new login lilt needs no restart.
#[test]
fn changed_login_of_context_is_used() {
    let site = Site::new("login");
    let kubeconfig = limited(&site);
    let show = "kubectl config view --raw -o \"jsonpath={.users[0].user.token}\" | sha256sum; cat text";
    site.project.write("text", "first\n");
    site.project.write("web.yaml", &site.idle("web"));
    let tiltfile = format!("k8s_yaml('web.yaml')\nlocal_resource('ask', '{show}', deps=['text'])\n");
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().variable("KUBECONFIG", &kubeconfig).start();
    lilt.wait_until_ready("web");
    lilt.wait_for_log_line("ask", "first");
    let token = site.namespace.kubectl(&["create", "token", "worker", "--duration=3h"]);
    let token = token.trim();
    let file = kubeconfig.to_string_lossy().into_owned();
    let testbed = Testbed::get();
    let user = testbed.kubectl(&["--kubeconfig", &file, "config", "view", "-o", "jsonpath={.users[0].name}"]);
    testbed.kubectl(&["--kubeconfig", &file, "config", "set-credentials", &user, "--token", token]);
    lilt.wait_for_line("kubeconfig has another login for the context kind-lilt: it is used from now on");
    // So do commands.
    site.project.write("text", "second\n");
    lilt.wait_for_log_line("ask", "second");
    let digest =
        std::process::Command::new("sh").args(["-c", "printf %s \"$0\" | sha256sum", token]).output();
    let digest = String::from_utf8(digest.expect("sh runs").stdout).expect("digits");
    lilt.wait_for_log_line("ask", digest.trim_end());
    site.project.write("web.yaml", &site.idle("web").replace("987", "654"));
    eventually("it is deployed", || {
        site.namespace.kubectl(&["get", "deployment/web", "-o", "yaml"]).contains("sleep 654").then_some(())
    });
    lilt.quit();
}

/// As a pod would see it: in a mount namespace of its own, where kubelet has put a token.
#[test]
fn lilt_in_pod_uses_its_own_cluster() {
    let site = Site::new("within");
    let _ = limited(&site);
    let token = site.namespace.kubectl(&["create", "token", "worker"]);
    let authority = site.namespace.kubectl(&[
        "config",
        "view",
        "--raw",
        "--flatten",
        "-o",
        "jsonpath={.clusters[0].cluster.certificate-authority-data}",
    ]);
    let server = site.namespace.kubectl(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let (host, port) = server.trim().trim_start_matches("https://").rsplit_once(':').expect("a port");
    site.project.write("token", token.trim());
    site.project.write("ca", authority.trim());
    site.project.write("namespace", site.namespace.name());
    site.project.write("web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inside}\n");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    let folder = "/var/run/secrets/kubernetes.io/serviceaccount";
    let program = Path::new(env!("CARGO_BIN_EXE_lilt")).display();
    let script = format!(
        "mkdir -p /var/run/secrets && mount -t tmpfs tmpfs /var/run/secrets && mkdir -p {folder} && \
         cp token namespace {folder}/ && base64 -d ca > {folder}/ca.crt && exec {program} plan"
    );
    let run = || {
        Start::program(Path::new("/usr/bin/unshare"), &site.project, &["-m", "sh", "-c", &script])
            .in_namespace(&site.namespace)
            .variable("KUBECONFIG", site.project.file("missing"))
            .variable("KUBERNETES_SERVICE_HOST", host)
            .variable("KUBERNETES_SERVICE_PORT", port)
            .run()
    };
    let stopped = run();
    assert_eq!(stopped.code(), Some(1), "{}", stopped.output());
    assert!(stopped.output().contains("allow_k8s_contexts('in-cluster')"), "{}", stopped.output());
    site.project.write("Tiltfile", "allow_k8s_contexts('in-cluster')\nk8s_yaml('web.yaml')\n");
    let planned = run();
    assert_eq!(planned.code(), Some(2), "{}", planned.output());
    assert!(planned.output().contains("create  inside:configmap"), "{}", planned.output());
}

/// A CONNECT proxy that sends every connection to the test bed's API server, whatever its target.
fn proxy_to(server: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = server.clone();
            std::thread::spawn(move || pass_on(client, &server));
        }
    });
    port
}

fn pass_on(mut client: TcpStream, server: &str) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let mut server = TcpStream::connect(server)?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
    std::io::copy(&mut server, &mut client).map(drop)
}

/// The test bed has the name of a local cluster; the kubeconfig here gives it a public address.
#[test]
fn local_name_with_a_public_address_warns_in_up_and_down() {
    let site = Site::new("public");
    let tiltfile = "k8s_yaml(blob('{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}'))\n";
    site.project.write("Tiltfile", tiltfile);
    let kubectl = |arguments: &[&str]| site.namespace.kubectl(arguments);
    let server = kubectl(&["config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let cluster = kubectl(&["config", "view", "--minify", "-o", "jsonpath={.clusters[0].name}"]);
    let server = server.trim().trim_start_matches("https://").to_owned();
    let host = server.rsplit_once(':').expect("a port").0.to_owned();
    let proxy = format!("--proxy-url=http://127.0.0.1:{}", proxy_to(server));
    let name = format!("--tls-server-name={host}");
    let cluster = cluster.trim();
    kubectl(&["config", "set-cluster", cluster, "--server=https://203.0.113.7:6443", &proxy, &name]);
    let warning = format!("the cluster {cluster} counts as a local");
    let lilt = site.up().start();
    lilt.wait_until_ready("uncategorized");
    lilt.wait_for_line(&warning);
    lilt.quit();
    site.down()
        .run()
        .expect_clean_exit(0)
        .expect_output(&format!("WARNING: {warning}"))
        .expect_output("→ ConfigMap/one\n");
}
