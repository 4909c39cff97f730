//! Several clusters in one session.

use lilt_e2e::lilt::Start;
use lilt_e2e::page::get;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Namespace, Testbed, eventually, free_port};

/// A site whose kubeconfig has two more contexts: one that leads to another namespace, and one that leads nowhere.
fn site(topic: &str) -> (Site, Namespace) {
    let site = Site::new(topic);
    let far = Testbed::get().namespace("far");
    let kubectl = |arguments: &[&str]| site.namespace.kubectl(arguments);
    let user = kubectl(&["config", "view", "-o", "jsonpath={.contexts[0].context.user}"]);
    let (user, namespace) = (format!("--user={}", user.trim()), format!("--namespace={}", far.name()));
    kubectl(&["config", "set-context", "edge", "--cluster=kind-lilt", &user, &namespace]);
    kubectl(&["config", "set-cluster", "kind-away", "--server=https://127.0.0.1:9"]);
    kubectl(&["config", "set-context", "away", "--cluster=kind-away", &user]);
    (site, far)
}

fn cluster(lilt: &lilt_e2e::lilt::Lilt, site: &Site, name: &str) -> serde_json::Value {
    let asked = Start::new(&site.project, &["get", "cluster", name, "-o", "json"]).with_home_of(lilt);
    let ended = asked.run();
    serde_json::from_str(&ended.stdout()).unwrap_or_else(|_| panic!("{}", ended.output()))
}

#[test]
fn each_cluster_has_its_own_connection_and_status() {
    let (site, far) = site("clusters");
    let port = free_port();
    site.project.write("far.yaml", &site.yaml("far", site.image()));
    site.project.write("lost.yaml", &site.idle("lost"));
    site.project.write("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: by-command}\n");
    let tiltfile = format!(
        "{}k8s_yaml(['far.yaml', 'lost.yaml'])\n\
         k8s_resource('far', context='edge', port_forwards='{port}:8080')\n\
         k8s_resource('lost', context='away')\n\
         k8s_custom_deploy('command', 'kubectl apply -f map.yaml -o yaml', 'kubectl delete -f map.yaml', deps=[])\n\
         k8s_resource('command', context='edge')\n",
        site.tiltfile()
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("far");
    lilt.wait_until("command", "is deployed", |it| it["status"]["updateStatus"] == "ok");
    let serves =
        |text: &str| eventually("it serves", || get(port, "/").filter(|page| page.trim_end() == text));
    site.serves("one");
    serves("one");
    far.kubectl(&["get", "deployment/far", "configmap/by-command"]);
    assert!(!site.exists("deployment/far") && !site.exists("configmap/by-command"));
    // An unreachable cluster is reported at its resource, and does not block others.
    let lost = lilt.wait_until("lost", "waits for its cluster", |it| {
        it["status"]["waiting"]["reason"] == "waiting-for-cluster"
    });
    let hold = lost["metadata"]["annotations"]["lilt.dev/hold"].as_str().unwrap_or_default();
    assert!(hold.contains("127.0.0.1:9"), "{hold}");
    assert_eq!(cluster(&lilt, &site, "default")["status"]["error"], serde_json::Value::Null);
    let edge = cluster(&lilt, &site, "edge");
    assert_eq!(edge["status"]["connection"]["kubernetes"]["namespace"], far.name());
    let away = cluster(&lilt, &site, "away");
    assert!(away["status"]["error"].as_str().is_some_and(|it| it.contains("127.0.0.1:9")), "{away}");
    // A save goes into the containers of both.
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    serves("two");
    // Drift is reported for the right cluster.
    far.kubectl(&["delete", "deployment/far"]);
    lilt.wait_until("far", "is missed", |it| {
        it["metadata"]["annotations"]["lilt.dev/drift"].as_str().is_some_and(|it| it.contains("deleted"))
    });
    lilt.click("far");
    lilt.wait_until_ready("far");
    // A resource that moves to another cluster is deleted in the former one.
    site.project
        .write("Tiltfile", &tiltfile.replace("k8s_resource('far', context='edge'", "k8s_resource('far'"));
    eventually("it has moved", || {
        let gone = far.get("deployment/far").is_err();
        (gone && site.exists("deployment/far")).then_some(())
    });
    site.project.write("Tiltfile", &tiltfile);
    eventually("it has moved back", || far.get("deployment/far").ok());
    lilt.wait_until_ready("far");
    lilt.quit();

    let plan = Start::new(&site.project, &["plan"]).in_namespace(&site.namespace).run().expect_clean_exit(1);
    for words in ["far (context edge)\n", "change  far:deployment", "refused lost:deployment"] {
        assert!(plan.output().contains(words), "no {words:?} in {}", plan.output());
    }
    let ended = site.down().run().expect_clean_exit(1);
    assert!(ended.output().contains("of the context edge"), "{}", ended.output());
    assert!(ended.stderr().contains("127.0.0.1:9"), "{}", ended.stderr());
    assert!(far.get("deployment/far").is_err(), "deleted");
    assert!(far.get("configmap/by-command").is_err(), "deleted by its command");
    assert!(!site.exists("deployment/web"));
}

#[test]
fn named_context_must_be_allowed() {
    let (site, _far) = site("guarded");
    site.namespace.kubectl(&["config", "set-cluster", "acme", "--server=https://127.0.0.1:9"]);
    site.namespace.kubectl(&["config", "set-context", "production", "--cluster=acme"]);
    site.project.write("web.yaml", &site.idle("web"));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\nk8s_resource('web', context='production')\n");
    let complaint = site.ci().run().expect_clean_exit(1).stderr();
    assert!(complaint.contains("Tiltfile:2:1: Stop! production might be production"), "{complaint}");
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\nk8s_resource('web', context='egde')\n");
    let complaint = site.ci().run().expect_clean_exit(1).stderr();
    assert!(complaint.contains("kubeconfig has no context named egde"), "{complaint}");
    assert!(complaint.contains("did you mean edge?"), "{complaint}");
}

/// The same manifest in two clusters: the resources are independent.
#[test]
fn one_manifest_is_deployed_to_two_contexts() {
    let (site, far) = site("twice");
    let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\n";
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n";
    site.project.write("web.yaml", &format!("{}\n{service}{map}", site.idle("web")));
    site.project.write(
        "Tiltfile",
        "k8s_yaml('web.yaml')\nk8s_yaml('web.yaml', allow_duplicates=True)\n\
         k8s_resource('web:deployment:default:apps:0', new_name='near', objects=['conf'])\n\
         k8s_resource('web:deployment:default:apps:1', new_name='far', objects=['conf'], context='edge')\n",
    );
    let lilt = site.up().start();
    lilt.wait_until_ready("near");
    lilt.wait_until_ready("far");
    let all = ["deployment/web", "service/web", "configmap/conf"];
    for object in all {
        assert!(site.exists(object) && far.get(object).is_ok(), "{object} is in both");
    }
    far.kubectl(&["delete", "deployment/web"]);
    let drifts = |it: &serde_json::Value| {
        it["metadata"]["annotations"]["lilt.dev/drift"].as_str().is_some_and(|it| it.contains("deleted"))
    };
    lilt.wait_until("far", "is missed", drifts);
    assert!(site.exists("deployment/web"));
    lilt.click("far");
    lilt.wait_until_ready("far");
    Start::new(&site.project, &["disable", "far"]).with_home_of(&lilt).run().expect_clean_exit(0);
    eventually("it is gone there", || all.iter().all(|object| far.get(object).is_err()).then_some(()));
    assert!(all.iter().all(|object| site.exists(object)), "and only there");
    Start::new(&site.project, &["enable", "far"]).with_home_of(&lilt).run().expect_clean_exit(0);
    lilt.wait_until_ready("far");
    lilt.wait_until_ready("near");
    lilt.quit();
    site.down().run().expect_clean_exit(0);
    assert!(all.iter().all(|object| far.get(object).is_err() && !site.exists(object)), "deleted in both");
}
