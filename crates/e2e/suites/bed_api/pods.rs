//! What is told of Kubernetes resources, and objects from outside that look into the cluster.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use lilt_api::check::check;
use lilt_api::kinds::kinds;
use lilt_testbed_env::{Testbed, eventually, free_port};
use serde_json::{Value, json};

use crate::client::Session;

pub(crate) fn server(name: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
         template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      terminationGracePeriodSeconds: 1\n      \
         containers:\n      - name: main\n        image: busybox\n        \
         command: [sh, -c, 'echo {name} is up; mkdir /w; echo page of {name} > /w/index.html; exec httpd -f -p 8000 -h /w']\n"
    )
}

pub(crate) fn page(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.contains("page of").then_some(answer)
}

pub(crate) fn find(session: &Session, object: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    eventually(&format!("{object} {what}"), || {
        let found = session.try_kubectl(&["get", object, "-o", "json"], "").ok()?;
        serde_json::from_str(&found).ok().filter(&is_so)
    })
}

#[test]
fn resource_has_the_api_objects_of_tilt() {
    let namespace = Testbed::get().namespace("api-told");
    let port = free_port();
    let tiltfile = format!("k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{port}:8000')\n");
    let session = Session::start_on(&namespace, &[("Tiltfile", &tiltfile), ("web.yaml", &server("web"))]);
    session.lilt.wait_until_ready("web");
    let apply = session.get("kubernetesapply/web");
    assert_eq!(apply["metadata"]["annotations"]["tilt.dev/managed-by"], "buildcontrol");
    assert!(
        apply["spec"]["yaml"].as_str().is_some_and(|yaml| yaml.contains("\nkind: Deployment\n")),
        "{apply}"
    );
    assert_eq!(apply["spec"]["disableSource"]["configMap"]["name"], "web-disable");
    let status = &apply["status"];
    assert!(status["lastApplyTime"].is_string() && status["appliedInputHash"].is_string(), "{status}");
    let uid = namespace.kubectl(&["get", "deployment", "web", "-o", "jsonpath={.metadata.uid}"]);
    let result = lilt_model::yaml::document(status["resultYAML"].as_str().expect("text")).expect("YAML");
    assert_eq!(result["metadata"]["uid"], uid.trim());
    assert_eq!(result["spec"]["template"]["spec"]["dnsPolicy"], "ClusterFirst", "as the cluster has it");
    assert!(result.get("status").is_none() && result["metadata"].get("managedFields").is_none());
    let discovery = session.get("kubernetesdiscovery/web");
    let pod = discovery["status"]["pods"][0].clone();
    assert_eq!((&pod["phase"], &pod["containers"][0]["name"]), (&json!("Running"), &json!("main")));
    let pod = pod["name"].as_str().expect("a name");
    let stream = session.get(&format!("podlogstream/web-{}-{pod}", namespace.name()));
    assert_eq!(stream["status"]["containerStatuses"], json!([{"name": "main", "active": true}]));
    let forward = session.get(&format!("portforward/web-{pod}"));
    assert_eq!(forward["status"]["forwardStatuses"][0]["localPort"], port);
    let cluster = session.get("cluster/default");
    assert!(cluster["status"]["connectedAt"].is_string() && cluster["status"]["version"].is_string());
    let targets = session.get("session/Tiltfile")["status"]["targets"].clone();
    let target = targets.as_array().into_iter().flatten().find(|it| it["name"] == "web:runtime").cloned();
    let active = target.expect("a target")["state"]["active"].clone();
    assert!(active["ready"] == true && active["lastReadyTime"].is_string(), "{active}");
    let conditions = session.get("uiresource/web")["status"]["conditions"].clone();
    assert_eq!((&conditions[1]["type"], &conditions[1]["status"]), (&json!("Ready"), &json!("True")));
    for kind in kinds().all() {
        for object in session.get(kind.plural)["items"].as_array().into_iter().flatten() {
            let violations = check(kind, object);
            assert!(violations.is_empty(), "{} {object}: {violations:?}", kind.name);
        }
    }
    let click = r#"{"status":{"lastClickedAt":"2026-01-01T00:00:00.000000Z","inputs":[{"name":"action","hidden":{"value":"on"}}]}}"#;
    session.kubectl(&[
        "patch",
        "uibutton",
        "toggle-web-disable",
        "--subresource=status",
        "--type=merge",
        "-p",
        click,
    ]);
    find(&session, "configmap/web-disable", "says so", |it| it["data"]["isDisabled"] == "true");
    session.lilt.quit();
}

#[test]
fn kubernetes_discovery_forward_and_logs_work() {
    let namespace = Testbed::get().namespace("api-pods");
    let session = Session::start_on(&namespace, &[("Tiltfile", "local_resource('one', 'true')\n")]);
    session.write("other.yaml", &server("other"));
    namespace.kubectl(&["apply", "-f", &session.file("other.yaml")]);
    let name = namespace.name();
    session.apply(&format!(
        "{{apiVersion: tilt.dev/v1alpha1, kind: KubernetesDiscovery, metadata: {{name: found}},
          spec: {{watches: [{{namespace: {name}}}], extraSelectors: [{{matchLabels: {{app: other}}}}]}}}}"
    ));
    let running = |it: &Value| it["status"]["pods"][0]["phase"] == "Running";
    let pod =
        find(&session, "kubernetesdiscovery/found", "finds the pod", running)["status"]["pods"][0]["name"]
            .clone();
    let pod = pod.as_str().expect("a name");
    let port = free_port();
    session.apply(&format!(
        "{{apiVersion: tilt.dev/v1alpha1, kind: PortForward, metadata: {{name: way}},
          spec: {{podName: {pod}, namespace: {name}, forwards: [{{localPort: {port}, containerPort: 8000}}]}}}}"
    ));
    session.apply(&format!(
        "{{apiVersion: tilt.dev/v1alpha1, kind: PodLogStream, metadata: {{name: ear, annotations: {{tilt.dev/resource: one}}}},
          spec: {{pod: {pod}, namespace: {name}, sinceTime: '2020-01-01T00:00:00Z'}}}}"
    ));
    session.lilt.wait_for_log_line("one", "other is up");
    eventually("the forward leads to the pod", || page(port));
    let way = session.get("portforward/way");
    assert_eq!(way["status"]["forwardStatuses"][0]["addresses"], json!(["localhost"]), "{way}");
    session.kubectl(&["delete", "portforward", "way"]);
    eventually("it ends with its object", || TcpStream::connect(("127.0.0.1", port)).is_err().then_some(()));
    namespace.kubectl(&["delete", "deployment", "other", "--wait=false"]);
    find(&session, "kubernetesdiscovery/found", "loses it", |it| it["status"]["pods"] == json!([]));
    session.lilt.quit();
}

#[test]
fn kubernetes_apply_deletes_objects_with_its_owner() {
    let namespace = Testbed::get().namespace("api-apply");
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n";
    let session =
        Session::start_on(&namespace, &[("Tiltfile", "k8s_yaml('own.yaml')\n"), ("own.yaml", config)]);
    session.lilt.wait_until_ready("uncategorized");
    let apply = |yaml: &str| {
        let object = json!({"apiVersion": "tilt.dev/v1alpha1", "kind": "KubernetesApply",
            "metadata": {"name": "guest"}, "spec": {"yaml": yaml, "cluster": "default"}});
        session.apply(&object.to_string());
    };
    apply(&format!("{}---\n{}", server("guest"), config.replace("own", "values")));
    let applied =
        find(&session, "kubernetesapply/guest", "is applied", |it| it["status"]["lastApplyTime"].is_string());
    assert_eq!(applied["status"]["error"], Value::Null, "{applied}");
    find(&session, "kubernetesdiscovery/guest", "finds the pod", |it| {
        it["status"]["pods"][0]["phase"] == "Running"
    });
    let exists = |object: &str| namespace.try_kubectl(&["get", object]).is_ok();
    assert!(exists("configmap/values"));
    apply(&server("guest"));
    eventually("what is no longer named goes", || (!exists("configmap/values")).then_some(()));
    assert!(exists("deployment/guest"));
    apply("kind: [");
    let broken =
        find(&session, "kubernetesapply/guest", "says what is wrong", |it| it["status"]["error"].is_string());
    assert!(
        broken["status"]["error"].as_str().is_some_and(|it| it.contains("the YAML cannot be read")),
        "{broken}"
    );
    session.kubectl(&["delete", "kubernetesapply", "guest"]);
    eventually("all goes with it", || (!exists("deployment/guest")).then_some(()));
    assert!(session.try_kubectl(&["get", "kubernetesdiscovery", "guest"], "").is_err());
    for (kind, spec, pointer) in [
        ("DockerComposeLogStream", json!({"service": "s", "project": {}}), "/status/error"),
        ("DockerComposeService", json!({"service": "s", "project": {}}), "/status/applyError"),
    ] {
        let object = json!({"apiVersion": "tilt.dev/v1alpha1", "kind": kind, "metadata": {"name": "idle"}, "spec": spec});
        session.apply(&object.to_string());
        let message = session.get(&format!("{kind}/idle"));
        let words = message.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        assert!(words.starts_with("not supported yet"), "{message}");
    }
    session.lilt.quit();
}

/// A pod that serves a page with its name on an undeclared port, as YAML.
fn undeclared(name: &str, port: u16) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: registry}}}}\nspec:\n  \
         terminationGracePeriodSeconds: 1\n  containers:\n  - name: main\n    image: busybox\n    \
         command: [sh, -c, 'mkdir /w; echo page of {name} > /w/index.html; exec httpd -f -p {port} -h /w']\n"
    )
}

/// As in ocm-controller's `forward_registry`: something else makes the pod, and no pod declares the port.
#[test]
fn forward_with_extra_selectors_goes_to_the_newest_matching_pod() {
    let namespace = Testbed::get().namespace("api-newest");
    let port = free_port();
    let tiltfile = format!(
        "k8s_yaml('web.yaml')\n\
         k8s_resource('web', port_forwards={port}, extra_pod_selectors=[{{'app': 'registry'}}])\n\
         local_resource('registry', 'kubectl apply -f registry.yaml', deps=['registry.yaml'], resource_deps=['web'])\n"
    );
    let files = [
        ("Tiltfile", tiltfile.as_str()),
        ("web.yaml", &server("web")),
        ("registry.yaml", &undeclared("first", port)),
    ];
    let session = Session::start_on(&namespace, &files);
    let serves = |name: &str| {
        eventually(&format!("the page of {name} is served"), || {
            page(port).filter(|page| page.contains(&format!("page of {name}")))
        });
        let uses_pod = |forward: &Value| forward["spec"]["podName"] == name;
        let forward = find(&session, &format!("portforward/web-{name}"), "is told", uses_pod);
        assert_eq!(forward["spec"]["namespace"], namespace.name());
        let forwards = &forward["spec"]["forwards"];
        assert_eq!((&forwards[0]["localPort"], &forwards[0]["containerPort"]), (&json!(port), &json!(port)));
        let all = session.get("portforwards")["items"].clone();
        assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    };
    serves("first");

    // Kubernetes tells the time of creation in whole seconds.
    let second =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map(|it| it.as_secs()).ok();
    let begin = second();
    eventually("the next second has begun", || (second() > begin).then_some(()));
    session.write("registry.yaml", &format!("{}{}", undeclared("first", port), undeclared("second", port)));
    serves("second");

    namespace.kubectl(&["delete", "pod", "second", "--wait=false"]);
    serves("first");
    session.lilt.wait_until_ready("web");
}

/// As in ocm-controller, whose registry is a resource of its own.
#[test]
fn forward_reaches_the_pod_of_another_resource_that_selectors_find() {
    let namespace = Testbed::get().namespace("api-foreign");
    let port = free_port();
    let tiltfile = format!(
        "k8s_yaml(['web.yaml', 'registry.yaml'])\n\
         k8s_resource('web', port_forwards='{port}:5000', extra_pod_selectors=[{{'app': 'registry'}}])\n"
    );
    let registry = undeclared("registry", 5000)
        .replace("image: busybox", "image: busybox\n    ports: [{containerPort: 5000}]");
    let files =
        [("Tiltfile", tiltfile.as_str()), ("web.yaml", &server("web")), ("registry.yaml", registry.as_str())];
    let session = Session::start_on(&namespace, &files);
    eventually("the page of the registry is served", || {
        page(port).filter(|page| page.contains("page of registry"))
    });
    let uses_pod = |forward: &Value| forward["spec"]["podName"] == "registry";
    find(&session, "portforward/web-registry", "is told", uses_pod);
    let streams = session.kubectl(&["get", "podlogstream", "-o", "name"]);
    for resource in ["web", "registry"] {
        assert!(streams.contains(&format!("/{resource}-{}-registry\n", namespace.name())), "{streams}");
        session.lilt.wait_until_ready(resource);
    }
    session.lilt.quit();
}
