//! What `KubernetesApply` and `KubernetesDiscovery` from outside do besides applying YAML and finding pods.

use std::net::TcpStream;

use lilt_testbed_env::{Namespace, Testbed, eventually};
use serde_json::{Value, json};

use crate::client::Session;
use crate::pods::{find, page, server};

/// A session whose Tiltfile deploys to the cluster, and so allows it.
fn session(namespace: &Namespace) -> Session {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n";
    let tiltfile = "k8s_yaml('own.yaml')\nlocal_resource('one', 'true')\n";
    let session = Session::start_on(namespace, &[("Tiltfile", tiltfile), ("own.yaml", config)]);
    session.lilt.wait_until_ready("uncategorized");
    session
}

fn make(session: &Session, kind: &str, name: &str, spec: Value) {
    let metadata = json!({"name": name, "annotations": {"tilt.dev/resource": "one"}});
    let object = json!({"apiVersion": "tilt.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
    session.apply(&object.to_string());
}

fn applied_after(session: &Session, before: &Value) -> Value {
    find(session, "kubernetesapply/guest", "is applied", |it| {
        let status = &it["status"];
        status["lastApplyTime"].is_string() && status["lastApplyTime"] != before["status"]["lastApplyTime"]
    })
}

#[test]
fn kubernetes_apply_cmd_applies_deletes_and_reruns() {
    let namespace = Testbed::get().namespace("api-command");
    let session = session(&namespace);
    session.write("values.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values}\n");
    let command = |line: &str| json!({"args": ["sh", "-c", line], "env": ["WHO=me"]});
    let spec = json!({
        "applyCmd": command("echo $WHO applies >&2; kubectl apply -o yaml -f values.yaml"),
        "deleteCmd": command("echo $WHO deletes; kubectl delete -f values.yaml"),
        "restartOn": {"fileWatches": ["values"]},
    });
    make(&session, "FileWatch", "values", json!({"watchedPaths": ["values.yaml"]}));
    make(&session, "KubernetesApply", "guest", spec);
    session.lilt.wait_for_log_line("one", "me applies");
    let first = applied_after(&session, &Value::Null);
    assert_eq!(first["status"]["error"], Value::Null, "{first}");
    let result = first["status"]["resultYAML"].as_str().expect("text");
    assert!(result.contains("name: values") && result.contains("uid: "), "{result}");
    let label = "labels: {tier: back}";
    let yaml = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: values, {label}}}\n");
    session.write("values.yaml", &yaml);
    applied_after(&session, &first);
    assert_eq!(namespace.kubectl(&["get", "cm", "-l", "tier=back", "-o", "name"]).trim(), "configmap/values");
    session.kubectl(&["delete", "kubernetesapply", "guest"]);
    session.lilt.wait_for_log_line("one", "me deletes");
    eventually("what the command made is gone", || {
        namespace.try_kubectl(&["get", "cm/values"]).is_err().then_some(())
    });
    make(&session, "KubernetesApply", "guest", json!({"applyCmd": command("echo no; exit 3")}));
    let failed = applied_after(&session, &Value::Null);
    let words = failed["status"]["error"].as_str().unwrap_or_default();
    assert!(words.starts_with("apply command failed: exit status 3"), "{words}");
    session.lilt.quit();
}

#[test]
fn image_map_is_injected_on_every_change() {
    let namespace = Testbed::get().namespace("api-images");
    let session = session(&namespace);
    let yaml = server("guest").replace("image: busybox", "image: team/web");
    make(&session, "KubernetesApply", "guest", json!({"yaml": yaml, "imageMaps": ["team_web"]}));
    let waiting = session.get("kubernetesapply/guest");
    assert_eq!(waiting["status"]["error"], "waiting for the ImageMap \"team_web\": there is none");
    make(&session, "ImageMap", "team_web", json!({"selector": "team/web"}));
    find(&session, "kubernetesapply/guest", "waits for the image", |it| {
        it["status"]["error"] == "waiting for the image of the ImageMap \"team_web\""
    });
    let build = |image: &str| {
        let status = json!({"status": {"image": image, "imageFromCluster": image}}).to_string();
        let words = ["patch", "imagemap", "team_web", "--subresource=status", "--type=merge", "-p", &status];
        session.kubectl(&words);
    };
    let image = || {
        let path = "jsonpath={.spec.template.spec.containers[0].image}";
        namespace.try_kubectl(&["get", "deployment/guest", "-o", path]).ok()
    };
    build("busybox:latest");
    eventually("the image is deployed", || image().filter(|image| image == "busybox:latest"));
    let first = applied_after(&session, &Value::Null);
    assert_eq!(first["status"]["error"], Value::Null, "{first}");
    build("docker.io/library/busybox:none");
    eventually("so is the next", || image().filter(|image| image.ends_with("busybox:none")));
    session.kubectl(&["delete", "kubernetesapply", "guest"]);
    eventually("all goes with it", || image().is_none().then_some(()));
    session.lilt.quit();
}

#[test]
fn discovered_pods_have_logs_and_forward_on_free_port() {
    let namespace = Testbed::get().namespace("api-templates");
    let session = session(&namespace);
    let templates = json!({
        "yaml": server("guest"), "podLogStreamTemplateSpec": {"onlyContainers": ["main"]},
        "portForwardTemplateSpec": {"forwards": [{"containerPort": 8000}, {"containerPort": 8000}]},
    });
    make(&session, "KubernetesApply", "guest", templates);
    session.lilt.wait_for_log_line("one", "guest is up");
    let found = find(&session, "kubernetesdiscovery/guest", "finds the pod", |it| {
        it["status"]["pods"][0]["phase"] == "Running"
    });
    let pod = found["status"]["pods"][0]["name"].as_str().expect("a name").to_owned();
    let stream = session.get(&format!("podlogstream/guest-{}-{pod}", namespace.name()));
    assert_eq!(stream["spec"]["onlyContainers"], json!(["main"]), "{stream}");
    assert_eq!(stream["metadata"]["ownerReferences"][0]["kind"], "KubernetesDiscovery");
    let is_open = |it: &Value| {
        let ways = it["status"]["forwardStatuses"].as_array();
        ways.is_some_and(|ways| ways.iter().all(|way| way["startedAt"].is_string()))
    };
    let way = find(&session, &format!("portforward/guest-{pod}"), "is open", is_open);
    let port = |at: usize| {
        let port = way["status"]["forwardStatuses"][at]["localPort"].as_u64();
        port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0).expect("a port")
    };
    assert_ne!(port(0), port(1));
    eventually("the pod is reached", || page(port(0)));
    session.kubectl(&["delete", "kubernetesapply", "guest"]);
    eventually("all of it goes", || {
        let left = session.kubectl(&["get", "kd,pls,pf", "-o", "name"]);
        (!left.contains("/guest")).then_some(())
    });
    eventually("the port is free", || TcpStream::connect(("127.0.0.1", port(1))).is_err().then_some(()));
    session.lilt.quit();
}

#[test]
fn docker_image_object_is_built_deployed_and_rebuilt() {
    let namespace = Testbed::get().namespace("api-built");
    let session = session(&namespace);
    let image = format!("six-{}", namespace.name());
    session.write("app/index.html", "page of one\n");
    let dockerfile = "FROM busybox\nCOPY . /w\nCMD [\"httpd\", \"-f\", \"-p\", \"8000\", \"-h\", \"/w\"]\n";
    let yaml = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: guest}}\nspec:\n  selector: {{matchLabels: {{app: guest}}}}\n  \
         template:\n    metadata: {{labels: {{app: guest}}}}\n    spec:\n      terminationGracePeriodSeconds: 1\n      \
         containers: [{{name: main, image: {image}}}]\n"
    );
    make(&session, "ImageMap", &image, json!({"selector": image}));
    let templates = json!({"forwards": [{"containerPort": 8000}]});
    let apply = json!({"yaml": yaml, "imageMaps": [image], "portForwardTemplateSpec": templates});
    make(&session, "KubernetesApply", "guest", apply);
    let build = json!({"ref": image, "context": "app", "dockerfileContents": dockerfile});
    make(&session, "DockerImage", "guest", build);
    let built = find(&session, "dockerimage/guest", "is built", |it| it["status"]["ref"].is_string());
    let reference = built["status"]["ref"].clone();
    assert!(reference.as_str().is_some_and(|it| it.contains(&format!("{image}:tilt-"))), "{built}");
    assert_eq!(session.get(&format!("imagemap/{image}"))["status"]["imageFromCluster"], reference);
    let serves = |words: &str| {
        eventually(&format!("the page says {words}"), || {
            let forwards: Value =
                serde_json::from_str(&session.kubectl(&["get", "pf", "-o", "json"])).ok()?;
            let port = forwards["items"][0]["status"]["forwardStatuses"][0]["localPort"].as_u64()?;
            page(u16::try_from(port).ok()?).filter(|page| page.contains(words))
        })
    };
    serves("page of one");
    session.write("app/index.html", "page of two\n");
    serves("page of two");
    session.kubectl(&["delete", "dockerimage", "guest"]);
    assert!(session.try_kubectl(&["get", "filewatch", "image:guest"], "").is_err());
    let command =
        json!({"ref": image, "args": ["sh", "-c", "docker build -t $EXPECTED_REF -f Dockerfile app"]});
    session.write("Dockerfile", dockerfile);
    make(&session, "CmdImage", "guest", command);
    let built = find(&session, "cmdimage/guest", "is built", |it| it["status"]["completed"].is_object());
    assert!(built["status"]["ref"].as_str().is_some_and(|it| it.contains(&image)), "{built}");
    make(&session, "CmdImage", "broken", json!({"ref": image, "args": ["false"]}));
    let broken = find(&session, "cmdimage/broken", "fails", |it| it["status"]["completed"].is_object());
    assert!(broken["status"]["completed"]["error"].as_str().is_some_and(|it| it.contains("exit status 1")));
    session.lilt.quit();
}

#[test]
fn live_update_object_syncs_into_discovered_containers() {
    let namespace = Testbed::get().namespace("api-live");
    let session = session(&namespace);
    session.write("www/index.html", "page of one\n");
    make(&session, "FileWatch", "www", json!({"watchedPaths": ["www"]}));
    make(
        &session,
        "KubernetesApply",
        "guest",
        json!({"yaml": server("guest"),
        "portForwardTemplateSpec": {"forwards": [{"containerPort": 8000}]}}),
    );
    make(
        &session,
        "LiveUpdate",
        "guest",
        json!({
            "basePath": ".", "syncs": [{"localPath": "www", "containerPath": "/w"}], "stopPaths": ["www/stop"],
            "execs": [{"args": ["sh", "-c", "echo synced here"]}], "sources": [{"fileWatch": "www"}],
            "selector": {"kubernetes": {"discoveryName": "guest", "containerName": "main"}},
        }),
    );
    let live = find(&session, "liveupdate/guest", "finds the container", |it| {
        it["status"]["containers"][0]["containerName"] == "main"
    });
    assert_eq!(live["status"]["failed"], Value::Null, "{live}");
    eventually("the files are watched", || {
        session.get("fw/www")["status"]["monitorStartTime"].as_str().map(drop)
    });
    session.write("www/index.html", "page of two\n");
    session.lilt.wait_for_log_line("one", "synced here");
    eventually("the page is another", || {
        let forwards: Value = serde_json::from_str(&session.kubectl(&["get", "pf", "-o", "json"])).ok()?;
        let port = forwards["items"][0]["status"]["forwardStatuses"][0]["localPort"].as_u64()?;
        page(u16::try_from(port).ok()?).filter(|page| page.contains("page of two"))
    });
    let live = session.get("liveupdate/guest");
    assert!(live["status"]["containers"][0]["lastFileTimeSynced"].is_string(), "{live}");
    session.write("www/stop", "x");
    find(&session, "liveupdate/guest", "says that it cannot", |it| {
        it["status"]["failed"]["reason"] == "UpdateStopped"
    });
    session.lilt.quit();
}
