//! A Kubernetes operator with its chart, large definitions and a webhook, all of it cleared away in the end.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_testbed_env::{Testbed, eventually, eventually_within};

use crate::example::Example;

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
        let registry = format!("{}/team", Testbed::get().registry());
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
        // A node learns of a Service's pods a moment after they are ready.
        eventually("the webhook is reached", || {
            let said = self.example.namespace.try_kubectl(&["apply", "-f", &file.to_string_lossy()]);
            let said = said.expect_err("the webhook refuses it");
            (!said.contains("failed calling webhook")).then_some(said)
        })
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
    Testbed::get().try_kubectl(&all)
}

/// Takes away what the example in a namespace left in the cluster, and what keeps its graphs.
fn clear(namespace: &str) {
    let _ = kubectl_whole(namespace, &["delete", "--wait=false"]);
    free(namespace);
}

/// What their operator would do for graphs that go.
fn free(namespace: &str) {
    let kind = format!("graphdeployments.{namespace}.example.com");
    let graphs = Testbed::get().try_kubectl(&["get", &kind, "-n", namespace, "-o", "name"]);
    for graph in graphs.unwrap_or_default().lines() {
        let free = r#"{"metadata":{"finalizers":null}}"#;
        let _ = Testbed::get().try_kubectl(&["patch", graph, "-n", namespace, "--type=merge", "-p", free]);
    }
}

/// What tests left that were killed: their namespaces are gone, or go.
fn sweep() {
    let whole = "validatingwebhookconfigurations,mutatingwebhookconfigurations,clusterroles";
    let names = "jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}";
    let mut left = Testbed::get().kubectl(&["get", whole, "-o", names]);
    left += &Testbed::get().kubectl(&["get", "crds", "-o", names]);
    let namespace_of = |name: &str| {
        let of_crd =
            || name.strip_suffix(".example.com")?.split_once('.').map(|(_, namespace)| namespace.to_owned());
        let namespace = name.strip_suffix("-dynamo-operator").map(str::to_owned).or_else(of_crd)?;
        namespace.starts_with("dynamo-operator-").then_some(namespace)
    };
    let left: BTreeSet<String> = left.lines().filter_map(namespace_of).collect();
    let phase = "jsonpath={.status.phase}";
    for namespace in left {
        let found =
            Testbed::get().kubectl(&["get", "namespace", &namespace, "-o", phase, "--ignore-not-found"]);
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
    let refused = operator.start(&["ci", "--port", "random"]).run().expect_clean_exit(1);
    assert!(refused.output().contains("shared-cluster"), "{}", refused.output());
    assert!(refused.output().contains("allow_k8s_contexts"), "{}", refused.output());
    let settings =
        "allowed_contexts: [shared-cluster]\nregistry: nowhere.example.com/team\nenable_nats: false\n";
    with_certificates_of_ones_own(&operator, settings);
    example.project.write("tilt-settings.yaml", settings);

    let lilt = operator.start(&["up", "--stream", "--port", "random"]).start();
    let shown = lilt.wait_until_ready("operator");
    assert_eq!(shown["metadata"]["labels"]["operator"], "operator", "{shown}");
    let links = shown["status"]["endpointLinks"].to_string();
    for link in ["/healthz", "/graphs"] {
        assert!(links.contains(link), "{link} in {links}");
    }
    example.serves("/healthz", "the operator is well");
    let image = "-o=jsonpath={.spec.template.spec.containers[0].image}";
    let image = example.namespace.kubectl(&["get", "deployment/dynamo-operator", image]);
    assert!(image.contains("/team/controller:tilt-") && !image.contains("nowhere"), "{image}");

    graphs_become_workloads(&operator, &lilt);
    saved_code_runs_in_the_same_pod(&operator, &lilt);
    kinds_and_parts_come_and_go(&operator, &lilt);

    // Only the operator lets graphs go, and it is there until it has.
    lilt.quit();
    operator.start(&["down"]).run().expect_clean_exit(0);
    example.leaves_nothing();
    assert_eq!(operator.kubectl_whole(&["get", "-o", "name"]).as_deref(), Ok(""), "nothing is left");
}

/// Who has an authority of his own names it before the operator starts; and no registry is needed at all.
fn with_certificates_of_ones_own(operator: &Operator, settings: &str) {
    let example = &operator.example;
    let host = format!("dynamo-webhook.{}.svc", example.namespace.name());
    let mut make = Command::new("openssl");
    make.args(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=ours".split(' '),
    );
    make.args(["-addext", &format!("subjectAltName=DNS:{host}"), "-keyout", "tls.key", "-out", "tls.crt"]);
    let made = make.current_dir(example.project.path()).output().expect("openssl is there");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let file =
        |name: &str, from: &str| format!("--from-file={name}={}", example.project.file(from).display());
    let files = [file("ca.crt", "tls.crt"), file("tls.crt", "tls.crt"), file("tls.key", "tls.key")];
    let [authority, certificate, key] = &files;
    let secret = ["create", "secret", "generic", "webhook-server-cert", authority, certificate, key];
    example.namespace.kubectl(&secret);

    let given = format!("{settings}helm_values: {{webhook: {{certificates: given}}}}\n");
    example.project.write("tilt-settings.yaml", &given.replace("registry: nowhere.example.com/team\n", ""));
    let start = |words: &[&str]| operator.start(words).without("REGISTRY").run();
    start(&["ci", "--port", "random"])
        .expect_clean_exit(0)
        .expect_output("SUCCESS. All workloads are healthy.");
    let announced = "go-template={{range .webhooks}}{{.clientConfig.caBundle | base64decode}}{{end}}";
    let whole = format!("validatingwebhookconfiguration/{}-dynamo-operator", example.namespace.name());
    let announced = example.namespace.kubectl(&["get", &whole, "-o", announced]);
    assert_eq!(announced.trim(), example.project.read("tls.crt").trim());
    let said = operator.refusal();
    assert!(said.contains("denied the request: prefill is of use only beside decode"), "{said}");
    without_an_operator_nothing_is_blocked(operator);
    example.leaves_only(&["secret/webhook-server-cert"]);
    example.namespace.kubectl(&["delete", "secret", "webhook-server-cert"]);
}

/// Nobody answers for the webhooks, and nobody clears up behind the graphs.
fn without_an_operator_nothing_is_blocked(operator: &Operator) {
    let namespace = &operator.example.namespace;
    let graphs = operator.example.project.read("samples/graphs.yaml");
    operator.example.project.write("graphs.yaml", &graphs.replace("dynamo.example.com", &operator.group));
    let file = operator.example.project.file("graphs.yaml");
    namespace.kubectl(&["apply", "-f", &file.to_string_lossy()]);
    let chat = format!("{}/chat", operator.kind("graphdeployments"));
    eventually("the operator has taken the graph", || {
        let held = namespace.kubectl(&["get", &chat, "-o=jsonpath={.metadata.finalizers}"]);
        (!held.is_empty()).then_some(())
    });
    namespace.kubectl(&["scale", "deployment/dynamo-operator", "--replicas=0"]);
    namespace.kubectl(&["wait", "pod", "-l", "app=dynamo-operator", "--for=delete", "--timeout=90s"]);

    let down = operator.start(&["down"]).without("REGISTRY").start();
    eventually("the webhooks are gone", || {
        let left = operator.kubectl_whole(&["get", "-o", "name"]).ok()?;
        (!left.contains("webhookconfiguration")).then_some(())
    });
    eventually("the graph waits for its operator", || {
        let going =
            namespace.try_kubectl(&["get", &chat, "-o=jsonpath={.metadata.deletionTimestamp}"]).ok()?;
        (!going.is_empty()).then_some(())
    });
    free(namespace.name());
    down.wait_for_exit().expect_clean_exit(0);
    // What nobody cleared up.
    namespace.kubectl(&["delete", "deployments", "--all"]);
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
    let output_end = lilt.output_end();
    example.edit(
        "internal/webhook/webhook.go",
        "is of use only beside decode",
        "needs decode\" + nonsense + \"",
    );
    lilt.wait_for_line_after(output_end, "manager-build │ internal/webhook/webhook.go:");
    lilt.wait_until("manager-build", "failed", |it| it["status"]["updateStatus"] == "error");
    example.serves("/healthz", "the operator is well");
    let output_end = lilt.output_end();
    example.edit("internal/webhook/webhook.go", "\" + nonsense + \"", "");
    lilt.wait_for_log_line_after(
        output_end,
        "operator",
        "certificates: those of the Secret webhook-server-cert",
    );
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
    let definition = Testbed::get().kubectl(&["get", &crd, "-o", "json"]);
    assert!(definition.len() > 262_144 && !definition.contains("last-applied-configuration"));
    example.edit(
        "api/graph.go",
        "	// Frontend takes",
        "	// Region to be in.\n	Region string `json:\"region,omitempty\"`\n	// Frontend takes",
    );
    let field = ".spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.region.type";
    operator.wait(&crd, field, "string");
    // Types that make no sense are told, and the definitions stay.
    let output_end = lilt.output_end();
    example.edit("api/graph.go", "	// Region to be in.\n", "	// Region to be in.\n	Zone zone to be in\n");
    lilt.wait_for_line_after(output_end, "codegen │ api/graph.go:");
    lilt.wait_until("codegen", "failed", |it| it["status"]["updateStatus"] == "error");
    operator.wait(&crd, field, "string");
    example.edit("api/graph.go", "	Zone zone to be in\n", "");
    lilt.wait_until_ready("codegen");
    lilt.wait_until_ready("manager-build");

    // A setting switches a part on and off again.
    example.edit("tilt-settings.yaml", "enable_nats: false", "enable_nats: true");
    lilt.wait_until_ready("nats");
    example.edit("tilt-settings.yaml", "enable_nats: true", "enable_nats: false");
    example.namespace.kubectl(&["wait", "deployment/dynamo-nats", "--for=delete", "--timeout=90s"]);
    lilt.wait_until_ready("operator");
}

#[test]
fn settings_are_validated() {
    let operator = Operator::new();
    let result = |settings: &str| {
        operator.example.project.write("tilt-settings.yaml", settings);
        operator.start(&["alpha", "tiltfile-result"]).run()
    };
    let parts = "skip_codegen: true\nenable_nats: false\nenable_etcd: true\n";
    let values = "image_pull_secret: login\nhelm_values: {replicas: 2, image.tag: v7}\n";
    let printed = result(&format!("{parts}{values}")).expect_clean_exit(0).stdout();
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
    let tree = "helm_values: {image: {tag: v7, pullPolicy: Always}, imagePullSecrets: [{name: 'log,in'}]}\n";
    let printed = result(&format!("{parts}{tree}")).expect_clean_exit(0).stdout();
    for words in ["name: log,in", "/team/controller:v7", "imagePullPolicy: Always"] {
        assert!(printed.contains(words), "{words:?} is deployed: {printed}");
    }
    // Where images go: as the file says if the environment does not, or nowhere.
    for (settings, image) in
        [("registry: ours.example.com/team/\n", "ours.example.com/team/controller"), ("", "controller")]
    {
        operator.example.project.write("tilt-settings.yaml", settings);
        let loaded = operator
            .start(&["alpha", "tiltfile-result"])
            .without("REGISTRY")
            .run()
            .expect_clean_exit(0)
            .stdout();
        assert!(loaded.contains(&format!("image: {image}:latest")), "{image} in {loaded}");
    }
    let unknown = result("registri: x\n").expect_clean_exit(5);
    assert!(unknown.stderr().contains("there is no setting registri; there is: allowed_contexts"));
}
