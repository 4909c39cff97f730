//! An operator whose image is also in a custom resource.

use std::process::Command;

use lilt_e2e::lilt::Start;
use lilt_testbed_env::{Testbed, eventually};
use serde_json::json;

use crate::example::{Example, Kind};

const PASSWORD: &str = "hunter2-and-more";

/// A project with a commit, configured as a team would, in the namespace of the test.
fn example() -> Example {
    let example = Example::new("gpu-operator", "GPU_PORT");
    let config = json!({
        "registry": format!("{}/gpu-team", Testbed::get().registry()),
        "namespace": example.namespace.name(),
        "container_runtime": "containerd",
        "allowed_contexts": ["shared-cluster"],
    });
    // One that is not known to be local.
    let kubeconfig = example.namespace.kubeconfig();
    let text = std::fs::read_to_string(kubeconfig).expect("the kubeconfig is there");
    std::fs::write(kubeconfig, text.replace("kind-lilt", "shared-cluster")).expect("it can be written");
    example.project.write("tilt_config.json", &config.to_string());
    git(&example, &["init", "-q"]);
    git(&example, &["add", "."]);
    let who = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
    git(&example, &[&who[..], &["commit", "-q", "-m", "begin"]].concat());
    example
}

fn git(example: &Example, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(example.project.path())
        .env("HOME", example.project.path())
        .output()
        .expect("git is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn start(example: &Example, arguments: &[&str]) -> Start {
    let start = example.with_go(example.start(arguments));
    start.variable("REGISTRY_USERNAME", "me").variable("REGISTRY_PASSWORD", PASSWORD)
}

#[test]
fn its_whole_story() {
    let example = example();
    let kind = Kind::new(&example, "clusterpolicies.gpu.example.com");
    let read = |object: &str, path: &str| {
        example.namespace.kubectl(&["get", object, "-o", &format!("jsonpath={{{path}}}")])
    };
    let image = |object: &str, path: &str| read(object, &format!(".spec{path}"));
    let wrong =
        start(&example, &["ci", "--port", "random", "--", "--validator=oldest"]).run().expect_clean_exit(1);
    assert!(wrong.output().contains("validator must be 'native' or 'commit'"), "{}", wrong.output());

    let other = start(&example, &["ci", "--port", "random", "--", "--allowed_contexts=another"])
        .run()
        .expect_clean_exit(1);
    assert!(other.output().contains("shared-cluster"), "{}", other.output());

    // As it was done before: a second tag, which the policy names.
    start(&example, &["ci", "--port", "random", "--", "--validator=commit"])
        .run()
        .expect_clean_exit(0)
        .expect_output("SUCCESS. All workloads are healthy.");
    let commit = git(&example, &["rev-parse", "--short", "HEAD"]);
    let tagged = format!("{}/gpu-team/gpu-operator:{commit}", Testbed::get().registry());
    assert_eq!(read("pod/cluster-policy-validator", ".spec.containers[0].image"), tagged);
    let meant = || Testbed::get().docker(&["image", "inspect", "-f", "{{.Id}}", &tagged]);
    let before = meant();

    // As any image, without a second tag.
    let lilt =
        start(&example, &["up", "--stream", "--port", "random", "--", "--container_runtime=crio"]).start();
    lilt.wait_until_ready("cluster-policy");
    example.serves("/", "The node is fit for GPUs, with crio.");
    let deployed = image("deployment/gpu-operator", ".template.spec.containers[0].image");
    let validator = || image("pod/cluster-policy-validator", ".containers[0].image");
    assert!(deployed.contains(":tilt-"), "{deployed}");
    assert_eq!(validator(), deployed);
    assert_eq!(
        image("deployment/gpu-operator", ".template.spec.imagePullSecrets[0].name"),
        "registry-secret"
    );
    assert_eq!(image("pod/cluster-policy-validator", ".imagePullSecrets[0].name"), "registry-secret");
    let login = r#"go-template={{.type}} {{index .data ".dockerconfigjson" | base64decode}}"#;
    let login = example.namespace.kubectl(&["get", "secret/registry-secret", "-o", login]);
    assert!(login.starts_with("kubernetes.io/dockerconfigjson"), "{login}");
    assert!(login.contains(Testbed::get().registry()) && login.contains(PASSWORD), "{login}");

    // A saved file is in both, and the operator makes another validator.
    example.edit("internal/policy/validation.go", "is fit for", "can do");
    example.serves("/", "The node can do GPUs, with crio.");
    eventually("both run the same image", || {
        (image("deployment/gpu-operator", ".template.spec.containers[0].image") == validator()).then_some(())
    });
    assert_ne!(validator(), deployed);
    assert_eq!(meant(), before, "nobody asked for what the commit's tag means");

    // A validator that fails is the policy's trouble, with its own words.
    example.edit("internal/policy/validation.go", "\tlog.Print(found)", "\tlog.Fatal(\"no GPU \", found)");
    lilt.wait_for_line("no GPU The node can do GPUs");
    lilt.wait_until("cluster-policy", "failed", |it| it["status"]["runtimeStatus"] == "error");
    example.edit("internal/policy/validation.go", "\tlog.Fatal(\"no GPU \", found)", "\tlog.Print(found)");
    lilt.wait_until_ready("cluster-policy");
    example.serves("/", "The node can do GPUs, with crio.");
    assert!(!lilt.output().contains(PASSWORD), "what is secret was printed");
    a_field_more_is_in_the_cluster(&example);

    lilt.quit();
    start(&example, &["down"]).run().expect_clean_exit(0);
    example.leaves_nothing();
    assert!(!kind.is_defined());
    let roles = example.namespace.kubectl(&["get", "clusterroles,clusterrolebindings", "-o", "name"]);
    assert!(!roles.contains("/gpu-operator"), "{roles}");
}

fn a_field_more_is_in_the_cluster(example: &Example) {
    let file = "config/crd/clusterpolicies.yaml";
    example.edit(file, "defaultRuntime: {", "region: {type: string}\n                    defaultRuntime: {");
    let spec = ".spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.operator.properties";
    eventually("the definition has it", || {
        let path = format!("jsonpath={{{spec}.region.type}}");
        let found = example.namespace.kubectl(&["get", "crd/clusterpolicies.gpu.example.com", "-o", &path]);
        (found == "string").then_some(())
    });
}

#[test]
fn credentials_can_be_in_settings_file() {
    let example = example();
    let load = || example.start(&["alpha", "tiltfile-result"]).run().expect_clean_exit(0).stdout();
    assert!(!load().contains("registry-secret"));
    let config = json!({
        "registry": "docker.io/me",
        "registry_username": "me",
        "registry_password": PASSWORD,
        "allowed_contexts": ["shared-cluster"],
    });
    example.project.write("tilt_config.json", &config.to_string());
    let loaded = load();
    assert!(loaded.contains("registry-secret") && loaded.contains("docker.io/me"), "{loaded}");
}

/// What its team types.
#[test]
fn makefile_targets_work() {
    let example = example();
    let make = |words: &[&str]| {
        let mut make = Command::new("make");
        make.args(["-s", "LILT=echo lilt"]).args(words).current_dir(example.project.path());
        let output = make.output().expect("make is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(make(&["tilt"]), "lilt up --");
    let secret = format!("REGISTRY_PASSWORD={PASSWORD}");
    let given = ["tilt-up", "REGISTRY=docker.io/me", "REGISTRY_USERNAME=me", &secret];
    assert_eq!(make(&given), "lilt up -- --registry=docker.io/me");
    assert_eq!(make(&["tilt-down", "NAMESPACE=mine"]), "lilt down -- --namespace=mine");
    // The chart's copy of the definitions follows the source.
    make(&["sync-crds"]);
    let files = |folder: &str| {
        let found = std::fs::read_dir(example.project.file(folder)).expect("a folder");
        let mut names: Vec<_> = found.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(files("config/crd"), files("deployments/gpu-operator/crds"));
}
