//! Objects that look into the cluster and write to it, made, changed and deleted at random: nothing is left of them, here or
//! there.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use lilt_e2e::seeded_random::{SeededRandom, number};
use lilt_testbed_env::{Namespace, Testbed, eventually};
use serde_json::{Value, json};

use crate::client::Session;
use crate::pods::server;

const NAMES: usize = 2;

/// What objects of a kind say. They name each other, whether those are there or not.
fn spec(kind: &str, namespace: &Namespace, random: &mut SeededRandom) -> Value {
    let one = random.below(NAMES);
    match kind {
        "KubernetesApply" => {
            let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: random}\n";
            let by_command = json!({
                "applyCmd": {"args": ["sh", "-c", "sleep 987 & kubectl create cm made -o yaml --dry-run=client | kubectl apply -o yaml -f -"]},
                "deleteCmd": {"args": ["kubectl", "delete", "cm", "made", "--ignore-not-found"]},
            });
            match random.below(3) {
                0 => {
                    json!({"yaml": server(&format!("guest-{one}")), "portForwardTemplateSpec": {"forwards": [{"containerPort": 8000}]}})
                }
                1 => json!({"yaml": map.replace("random", &format!("random-{one}"))}),
                _ => by_command,
            }
        }
        "KubernetesDiscovery" => json!({
            "watches": [{"namespace": namespace.name()}],
            "extraSelectors": [{"matchLabels": {"app": format!("guest-{one}")}}],
            "portForwardTemplateSpec": {"forwards": [{"containerPort": 8000}]},
        }),
        "Cmd" => {
            json!({"args": ["sh", "-c", *random.of(&["exec sleep 987", "setsid sleep 987 & exit 1"])],
            "restartOn": {"fileWatches": ["files"]}})
        }
        other => panic!("{other}"),
    }
}

fn step(session: &Session, namespace: &Namespace, random: &mut SeededRandom) {
    let kind = *random.of(&["KubernetesApply", "KubernetesApply", "KubernetesDiscovery", "Cmd"]);
    let name = format!("{}-{}", kind.to_lowercase(), random.below(NAMES));
    let object = format!("{}/{name}", kind.to_lowercase());
    let result = match random.below(3) {
        0 => session.try_kubectl(&["delete", &object, "--ignore-not-found"], ""),
        1 => {
            let steps = json!([{"op": "replace", "path": "/spec", "value": spec(kind, namespace, random)}])
                .to_string();
            session.try_kubectl(&["patch", &object, "--type=json", "-p", &steps], "")
        }
        _ => {
            let metadata = json!({"name": name, "annotations": {"tilt.dev/resource": "one"}});
            let spec = spec(kind, namespace, random);
            let whole =
                json!({"apiVersion": "tilt.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
            session.try_kubectl(&["create", "-f", "-"], &whole.to_string())
        }
    };
    if let Err(words) = result {
        assert!(words.contains("(NotFound)") || words.contains("(AlreadyExists)"), "{object}: {words}");
    }
}

/// The ports that forwards have on this machine.
fn ports(session: &Session) -> Vec<u16> {
    let forwards = session.get("portforwards");
    let forwards = forwards["items"].as_array().into_iter().flatten();
    let ways =
        forwards.flat_map(|it| it["status"]["forwardStatuses"].as_array().cloned().unwrap_or_default());
    ways.filter_map(|way| u16::try_from(way["localPort"].as_u64()?).ok()).filter(|port| *port > 0).collect()
}

#[test]
fn random_api_objects_leave_nothing_behind() {
    let namespace = Testbed::get().namespace("api-random");
    let own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n";
    let tiltfile = "k8s_yaml('own.yaml')\nlocal_resource('one', 'true')\n";
    let session = Session::start_on(&namespace, &[("Tiltfile", tiltfile), ("own.yaml", own)]);
    session.lilt.wait_until_ready("uncategorized");
    session.apply("{apiVersion: tilt.dev/v1alpha1, kind: FileWatch, metadata: {name: files}, spec: {watchedPaths: [watched]}}");
    let end = Instant::now() + Duration::from_secs(number("LILT_TEST_SECONDS").unwrap_or(6));
    let mut random = SeededRandom::new(3);
    let mut steps = 0;
    let mut opened = Vec::new();
    while Instant::now() < end || steps < 40 {
        step(&session, &namespace, &mut random);
        if random.below(8) == 0 {
            session.write("watched", &steps.to_string());
            opened.extend(ports(&session));
        }
        steps += 1;
    }
    opened.extend(ports(&session));
    for kind in ["cmd", "kubernetesapply", "kubernetesdiscovery"] {
        for name in 0..NAMES {
            session.kubectl(&["delete", kind, &format!("{kind}-{name}"), "--ignore-not-found"]);
        }
    }
    eventually("no process is left", || session.lilt.processes().is_empty().then_some(()));
    let listed = |kinds: &str| namespace.kubectl(&["get", kinds, "-o", "name"]).trim().to_owned();
    eventually("no object is left in the cluster", || {
        let left = listed("deployments,replicasets,pods,configmaps");
        let is_own = |line: &str| matches!(line, "configmap/own" | "configmap/kube-root-ca.crt");
        left.lines().all(is_own).then_some(())
    });
    eventually("no log stream and no forward is left", || {
        let left = session.kubectl(&["get", "podlogstreams,portforwards", "-o", "name"]);
        left.trim().is_empty().then_some(())
    });
    for port in opened {
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "nobody listens on {port} any more");
    }
    session.lilt.quit();
}
