//! A Kubernetes operator with its chart, large definitions and a webhook, all of it cleared away in the end.

use std::collections::BTreeSet;
use std::time::Duration;

use lilt_testbed_env::{Bed, eventually, eventually_within};

use crate::example::Example;
use crate::support::lilt::{Lilt, Start};

/// What belongs to the whole cluster has the namespace in its name: others may run the same example at the same time.
struct Operator {
    example: Example,
    group: String,
}

impl Operator {
    fn new() -> Operator {
        let example = Example::new("dynamo-operator", "DYNAMO_HEALTH_PORT");
        // After the namespace: who makes it marks those of the dead for removal.
        sweep();
        let group = format!("{}.example.com", example.namespace.name());
        Operator { example, group }
    }

    fn start(&self, arguments: &[&str]) -> Start {
        let start = self.example.start(arguments).variable("DYNAMO_NAMESPACE", self.example.namespace.name());
        // Before what the file says.
        let registry = format!("{}/team", Bed::get().registry());
        let start = start.variable("DYNAMO_API_GROUP", &self.group).variable("REGISTRY", registry);
        self.example.with_go(start)
    }

    fn kind(&self, plural: &str) -> String {
        format!("{plural}.{}", self.group)
    }

    /// Waits until a field of an object has a value.
    fn wait(&self, object: &str, field: &str, value: &str) {
        let condition = format!("--for=jsonpath={{{field}}}={value}");
        // Compiler, definitions and API server take their time on a busy machine.
        eventually_within(Duration::from_secs(150), &format!("{object} has {value} at {field}"), || {
            self.example.namespace.try_kubectl(&["wait", object, &condition, "--timeout=20s"]).ok()
        });
    }

    /// What the API server says to a file that the webhook should refuse.
    fn refusal(&self) -> String {
        let text =
            self.example.project.read("samples/refused.yaml").replace("dynamo.example.com", &self.group);
        self.example.project.write("refused.yaml", &text);
        let file = self.example.project.file("refused.yaml");
        let said = self.example.namespace.try_kubectl(&["apply", "-f", &file.to_string_lossy()]);
        said.expect_err("the webhook refuses it")
    }

    fn kubectl_whole(&self, words: &[&str]) -> Result<String, String> {
        kubectl_whole(self.example.namespace.name(), words)
    }
}

/// All that the example in a namespace has in the whole cluster, by name.
fn in_whole_cluster(namespace: &str) -> Vec<String> {
    let whole = format!("{namespace}-dynamo-operator");
    let kinds = [
        "mutatingwebhookconfiguration",
        "validatingwebhookconfiguration",
        "clusterrolebinding",
        "clusterrole",
    ];
    let crds = ["graphdeployments", "graphdeploymentrequests"];
    let crds = crds.map(|plural| format!("crd/{plural}.{namespace}.example.com"));
    kinds.map(|kind| format!("{kind}/{whole}")).into_iter().chain(crds).collect()
}

fn kubectl_whole(namespace: &str, words: &[&str]) -> Result<String, String> {
    let names = in_whole_cluster(namespace);
    let names = names.iter().map(String::as_str);
    let all: Vec<&str> = words.iter().copied().chain(names).chain(["--ignore-not-found"]).collect();
    Bed::get().try_kubectl(&all)
}

/// Takes away what the example in a namespace left in the cluster, and what keeps its graphs: their operator is gone.
fn clear(namespace: &str) {
    let _ = kubectl_whole(namespace, &["delete", "--wait=false"]);
    let kind = format!("graphdeployments.{namespace}.example.com");
    let graphs = Bed::get().try_kubectl(&["get", &kind, "-n", namespace, "-o", "name"]);
    for graph in graphs.unwrap_or_default().lines() {
        let free = r#"{"metadata":{"finalizers":null}}"#;
        let _ = Bed::get().try_kubectl(&["patch", graph, "-n", namespace, "--type=merge", "-p", free]);
    }
}

/// What tests left that were killed: their namespaces are gone, or go.
fn sweep() {
    let whole = "validatingwebhookconfigurations,mutatingwebhookconfigurations,clusterroles";
    let names = "jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}";
    let mut left = Bed::get().kubectl(&["get", whole, "-o", names]);
    left += &Bed::get().kubectl(&["get", "crds", "-o", names]);
    let namespace_of = |name: &str| {
        let of_crd =
            || name.strip_suffix(".example.com")?.split_once('.').map(|(_, namespace)| namespace.to_owned());
        let namespace = name.strip_suffix("-dynamo-operator").map(str::to_owned).or_else(of_crd)?;
        namespace.starts_with("dynamo-operator-").then_some(namespace)
    };
    let left: BTreeSet<String> = left.lines().filter_map(namespace_of).collect();
    let phase = "jsonpath={.status.phase}";
    for namespace in left {
        let found = Bed::get().kubectl(&["get", "namespace", &namespace, "-o", phase, "--ignore-not-found"]);
        if found != "Active" {
            clear(&namespace);
        }
    }
}

impl Drop for Operator {
    /// What a test leaves that failed half-way.
    fn drop(&mut self) {
        clear(self.example.namespace.name());
    }
}

#[test]
fn its_whole_story() {
    let operator = Operator::new();
    let example = &operator.example;

    // A cluster that nobody allowed is left alone.
    let kubeconfig = example.namespace.kubeconfig();
    let text = std::fs::read_to_string(kubeconfig).expect("the kubeconfig is there");
    std::fs::write(kubeconfig, text.replace("kind-lilt", "shared-cluster")).expect("it can be written");
    let refused = operator.start(&["ci", "--port", "0"]).run().clean(1);
    assert!(refused.output().contains("shared-cluster"), "{}", refused.output());
    assert!(refused.output().contains("allow_k8s_contexts"), "{}", refused.output());
    let settings =
        "allowed_contexts: [shared-cluster]\nregistry: nowhere.example.com/team\nenable_nats: false\n";
    example.project.write("tilt-settings.yaml", settings);
    operator.start(&["ci", "--port", "0"]).run().clean(0).says("SUCCESS. All workloads are healthy.");

    let lilt = operator.start(&["up", "--stream", "--port", "0"]).start();
    lilt.wait_until_ready("operator");
    example.serves("/healthz", "the operator is well");
    let image = "-o=jsonpath={.spec.template.spec.containers[0].image}";
    let image = example.namespace.kubectl(&["get", "deployment/dynamo-operator", image]);
    assert!(image.contains("/team/controller:tilt-") && !image.contains("nowhere"), "{image}");

    graphs_become_workloads(&operator, &lilt);
    saved_code_runs_in_the_same_pod(&operator, &lilt);
    kinds_and_parts_come_and_go(&operator, &lilt);

    // Only the operator lets graphs go, and it is there until it has.
    lilt.quit();
    operator.start(&["down"]).run().clean(0);
    example.leaves_nothing();
    assert_eq!(operator.kubectl_whole(&["get", "-o", "name"]).as_deref(), Ok(""), "nothing is left");
}

fn graphs_become_workloads(operator: &Operator, lilt: &Lilt) {
    lilt.click("samples");
    for graph in ["chat", "search"] {
        operator.wait(&format!("{}/{graph}", operator.kind("graphdeployments")), ".status.phase", "Ready");
    }
    let namespace = &operator.example.namespace;
    let made = namespace.kubectl(&["logs", "deployment/chat-decode-followers"]);
    assert_eq!(made, "chat: decode-followers of small is at your service\n");
    operator.example.serves("/graphs", &format!("{}/search\tsmall\tReady", namespace.name()));

    // Completed on its way in: its pods are on several nodes, and get the key that the operator made.
    let chat = format!("{}/chat", operator.kind("graphdeployments"));
    assert_eq!(namespace.kubectl(&["get", &chat, "-o=jsonpath={.spec.sshKeySecret}"]), "graph-ssh-key");
    let search = format!("{}/search", operator.kind("graphdeployments"));
    assert_eq!(namespace.kubectl(&["get", &search, "-o=jsonpath={.spec.sshKeySecret}"]), "");
    let key = ["exec", "deployment/chat-decode-followers", "--", "cat", "/etc/graph/ssh/ssh-privatekey"];
    let key = namespace.kubectl(&key);
    assert!(key.starts_with("-----BEGIN EC PRIVATE KEY-----"), "{key}");

    // Through the API server, over certificates that the operator made.
    let said = operator.refusal();
    assert!(said.contains("denied the request: prefill is of use only beside decode"), "{said}");
    lilt.wait_for_line("operator │ refused half: prefill");
}

fn saved_code_runs_in_the_same_pod(operator: &Operator, lilt: &Lilt) {
    let example = &operator.example;
    let pod = example.pod("dynamo-operator");
    example.edit("internal/controller/workload.go", "is at your service", "answers");
    let message = r#".spec.template.spec.containers[0].env[?(@.name=="MESSAGE")].value"#;
    operator.wait("deployment/chat-frontend", message, "answers");

    // A mistake stops at the compiler.
    let place = lilt.place();
    example.edit(
        "internal/webhook/webhook.go",
        "is of use only beside decode",
        "needs decode\" + nonsense + \"",
    );
    lilt.wait_for_line_after(place, "manager-build │ internal/webhook/webhook.go:");
    lilt.wait_until("manager-build", "failed", |it| it["status"]["updateStatus"] == "error");
    example.serves("/healthz", "the operator is well");
    let place = lilt.place();
    example.edit("internal/webhook/webhook.go", "\" + nonsense + \"", "");
    lilt.wait_for_words_after(place, "operator", "certificates: those of the Secret webhook-server-cert");
    lilt.wait_until_ready("operator");
    let said = eventually("the new process answers", || {
        Some(operator.refusal()).filter(|said| said.contains("denied the request"))
    });
    assert!(said.contains("denied the request: prefill needs decode"), "{said}");
    assert_eq!(example.pod("dynamo-operator"), pod, "nothing was built, and nothing replaced");
}

fn kinds_and_parts_come_and_go(operator: &Operator, lilt: &Lilt) {
    let example = &operator.example;
    // Beyond what an annotation can hold.
    let crd = format!("crd/{}", operator.kind("graphdeployments"));
    let definition = Bed::get().kubectl(&["get", &crd, "-o", "json"]);
    assert!(definition.len() > 262_144 && !definition.contains("last-applied-configuration"));
    example.edit(
        "api/graph.go",
        "	// Frontend takes",
        "	// Region to be in.\n	Region string `json:\"region,omitempty\"`\n	// Frontend takes",
    );
    let field = ".spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.region.type";
    operator.wait(&crd, field, "string");

    // A setting switches a part on and off again.
    example.edit("tilt-settings.yaml", "enable_nats: false", "enable_nats: true");
    lilt.wait_until_ready("nats");
    example.edit("tilt-settings.yaml", "enable_nats: true", "enable_nats: false");
    example.namespace.kubectl(&["wait", "deployment/dynamo-nats", "--for=delete", "--timeout=90s"]);
    lilt.wait_until_ready("operator");
}

#[test]
fn its_settings() {
    let operator = Operator::new();
    let result = |settings: &str| {
        operator.example.project.write("tilt-settings.yaml", settings);
        operator.start(&["alpha", "tiltfile-result"]).run()
    };
    let parts = "skip_codegen: true\nenable_nats: false\nenable_etcd: true\n";
    let values = "image_pull_secret: login\nhelm_values: {replicas: 2, image.tag: v7}\n";
    let printed = result(&format!("{parts}{values}")).clean(0).stdout();
    let loaded: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let names: Vec<&str> = loaded["Manifests"]
        .as_array()
        .expect("resources")
        .iter()
        .filter_map(|it| it["Name"].as_str())
        .collect();
    for (name, wanted) in [("codegen", false), ("nats", false), ("etcd", true), ("crds", true)] {
        assert_eq!(names.contains(&name), wanted, "{name} in {names:?}");
    }
    for words in ["name: login", "replicas: 2", "/team/controller:v7"] {
        assert!(printed.contains(words), "{words:?} is deployed");
    }
    let unknown = result("registri: x\n").clean(5);
    assert!(unknown.stderr().contains("there is no setting registri; there is: allowed_contexts"));
}
