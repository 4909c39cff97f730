//! A controller in a scratch image, swapped in place, and everything that its team sets by a file.

use std::os::unix::fs::PermissionsExt as _;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::page::{get, post};
use lilt_testbed_env::{Testbed, eventually, free_port};
use serde_json::json;

use crate::example::{Example, Kind};

const SETTINGS: &str = "tilt-settings.yaml";
const TOKEN: &str = "ghp_0123456789abcdef";

fn start(example: &Example, arguments: &[&str]) -> Start {
    example
        .with_go(example.start(arguments))
        .variable("OCM_NAMESPACE", example.namespace.name())
        .variable("GITHUB_USER", "somebody")
        .variable("GITHUB_TOKEN", TOKEN)
}

#[test]
fn its_whole_story() {
    let example = Example::new("ocm-controller", "OCM_REGISTRY_PORT");
    let kind = Kind::new(&example, "components.ocm.example.com");
    what_is_wrong_is_told_before_anything_happens(&example);
    start(&example, &["ci", "--port", "random"])
        .run()
        .expect_clean_exit(0)
        .expect_output("SUCCESS. All workloads are healthy.");

    example.project.write(SETTINGS, "forward_registry: true\n");
    let debugger = free_port();
    let lilt = start(&example, &["up", "--stream", "--port", "random"])
        .variable("OCM_DEBUGGER_PORT", debugger.to_string())
        .start();
    lilt.wait_until_ready("ocm-controller");
    lilt.wait_until_ready("samples");
    example.serves("/greeting", "A snapshot of greeting 1.0.0");
    the_yaml_is_what_is_shipped_and_more(&example);

    let pod = example.pod("ocm-controller");
    example.edit("controllers/snapshot.go", "A snapshot of", "The snapshot of");
    example.serves("/greeting", "The snapshot of greeting");
    a_mistake_stops_at_the_compiler(&example, &lilt);
    saves_wait_while_the_build_is_switched_off(&example, &lilt);
    assert_eq!(example.pod("ocm-controller"), pod, "nothing was built, and nothing replaced");

    keys_come_and_are_renamed(&example, &lilt);
    what_is_renamed_is_gone_under_its_old_name(&example);
    what_somebody_deletes_comes_back(&example, &lilt);
    under_a_debugger(&example, &lilt, debugger);
    assert!(!lilt.output().contains(TOKEN), "what is secret was printed");

    lilt.quit();
    start(&example, &["down"]).run().expect_clean_exit(0);
    example.leaves_nothing();
    assert!(!kind.is_defined());
}

fn what_is_wrong_is_told_before_anything_happens(example: &Example) {
    let refused = |settings: &str, words: &str| {
        example.project.write(SETTINGS, settings);
        let result = start(example, &["alpha", "tiltfile-result"]).run().expect_clean_exit(5);
        assert!(result.output().contains(words), "{settings}: {}", result.output());
    };
    refused(
        "create_secrets: {enabled: false}",
        "tilt-settings.yaml: there is no setting create_secrets.enabled; there are: enable, token, email, user",
    );
    refused("create_secrets: {token: ''}", "create_secrets.token is empty: set GITHUB_TOKEN");
    refused("flux: {enabled: true}", "flux is not in PATH: https://fluxcd.io");
    refused("debug: {enabled: true}", "debug.enabled wants delve for Linux at bin/dlv");
    refused("install_unpacker: {enabled: true}", "install_unpacker.path: there is no ../unpacker");
    refused("verification_keys: {alice: alice=./no.pub}", "no.pub: no such file or directory");

    // A project beside it.
    let kept = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unpacker-settings}\n";
    example.project.write("unpacker/config/default/settings.yaml", kept);
    example.project.write("unpacker/config/default/kustomization.yaml", "resources: [settings.yaml]\n");
    example.project.write(SETTINGS, "install_unpacker: {enabled: true, path: unpacker}");
    let result = start(example, &["alpha", "tiltfile-result"]).run().expect_clean_exit(0);
    assert!(result.output().contains("unpacker-settings"), "{}", result.output());

    // With a flux that only remembers what it was asked for.
    example.project.write("tools/flux", "#!/bin/sh\necho \"$@\" >> asked\n");
    let flux = example.project.file("tools/flux");
    std::fs::set_permissions(&flux, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", example.project.file("tools").display(), Testbed::get().path().display());
    example.project.write(SETTINGS, "flux: {enabled: true}");
    let nobody =
        start(example, &["alpha", "tiltfile-result"]).variable("PATH", &path).run().expect_clean_exit(5);
    assert!(nobody.output().contains("flux.bootstrap needs flux.owner"), "{}", nobody.output());
    for settings in ["bootstrap: false", "owner: me, path: fleet"] {
        example.project.write(SETTINGS, &format!("flux: {{enabled: true, {settings}}}"));
        start(example, &["alpha", "tiltfile-result"]).variable("PATH", &path).run().expect_clean_exit(0);
    }
    let asked = "install\nbootstrap github --owner me --repository podinfo-flux-example --path fleet\n";
    assert_eq!(example.project.read("asked"), asked);
    example.project.remove(SETTINGS);

    // The file may be JSON as well.
    example.project.write("tilt-settings.json", r#"{"create_secrets": {"email": ""}, "nothing": 1}"#);
    let unknown = start(example, &["alpha", "tiltfile-result"]).run().expect_clean_exit(5);
    let words = "tilt-settings.json: there is no setting nothing; there are: namespace";
    assert!(unknown.output().contains(words), "{}", unknown.output());
    example.project.remove("tilt-settings.json");
}

fn the_yaml_is_what_is_shipped_and_more(example: &Example) {
    let read = |object: &str, path: &str| {
        example.namespace.kubectl(&["get", object, "-o", &format!("jsonpath={{{path}}}")])
    };
    let pod = read("deployment/ocm-controller", ".spec.template.spec");
    for part in [r#""runAsNonRoot":true"#, r#""readOnlyRootFilesystem":true"#, r#""--verbosity=1""#] {
        assert!(pod.contains(part), "{part} is not in {pod}");
    }
    assert_eq!(read("secret/regcred", ".type"), "kubernetes.io/dockerconfigjson");
    assert_eq!(read("secret/creds", ".data.username"), "c29tZWJvZHk=");
}

fn a_mistake_stops_at_the_compiler(example: &Example, lilt: &Lilt) {
    let output_end = lilt.output_end();
    // Tests are no matter of the program.
    example.edit("controllers/snapshot_test.go", "range 20", "range 2");
    example.edit("controllers/snapshot.go", "The snapshot of", "The snapshot of\" nonsense \"");
    lilt.wait_for_line_after(output_end, "manager │ controllers/snapshot.go:15");
    lilt.wait_until("manager", "failed", |it| it["status"]["updateStatus"] == "error");
    example.serves("/greeting", "The snapshot of greeting");
    example.edit("controllers/snapshot.go", "The snapshot of\" nonsense \"", "This snapshot is of");
    example.serves("/greeting", "This snapshot is of greeting");
    let builds = lilt.output_after(output_end).matches("Running cmd: go build").count();
    assert_eq!(builds, 2, "{}", lilt.output_after(output_end));
}

fn saves_wait_while_the_build_is_switched_off(example: &Example, lilt: &Lilt) {
    let switch = |enable: &[&str], disable: &[&str]| {
        let request = json!({"type": "switch", "enable": enable, "disable": disable});
        assert_eq!(post(lilt.port(), "/api/request", &request).0, 200);
    };
    switch(&[], &["manager"]);
    lilt.wait_until("manager", "is disabled", |it| it["status"]["disableStatus"]["state"] == "Disabled");
    let output_end = lilt.output_end();
    example.edit("controllers/snapshot.go", "This snapshot is of", "At last a snapshot of");
    // What comes after it has arrived, so it was seen, too.
    example.edit("config/samples/greeting.yaml", "1.0.0", "2.0.0");
    example.serves("/greeting", "This snapshot is of greeting 2.0.0");
    assert!(!lilt.output_after(output_end).contains("go build"), "{}", lilt.output_after(output_end));
    switch(&["manager"], &[]);
    example.serves("/greeting", "At last a snapshot of greeting 2.0.0");
    let builds = lilt.output_after(output_end).matches("Running cmd: go build").count();
    assert_eq!(builds, 1, "{}", lilt.output_after(output_end));
}

fn keys_come_and_are_renamed(example: &Example, lilt: &Lilt) {
    example.edit("config/samples/greeting.yaml", "verify: []", "verify: [alice]");
    lilt.wait_for_line("greeting becomes Waiting: there is no Secret alice with a key to verify it");
    example.project.write("alice.pub", "a key of Alice's");
    let keys = "forward_registry: true\nverification_keys: {alise: key=./alice.pub}\n";
    example.project.write(SETTINGS, keys);
    let exists = |name: &str| example.namespace.get(&format!("secret/{name}")).is_ok();
    eventually("the Secret is made", || exists("alise").then_some(()));
    example.edit(SETTINGS, "alise", "alice");
    example.serves("/greeting", "verified with alice");
    eventually("the one with the wrong name is gone", || (!exists("alise")).then_some(()));
}

fn what_is_renamed_is_gone_under_its_old_name(example: &Example) {
    example.edit("config/samples/greeting.yaml", "name: greeting", "name: salute");
    example.serves("/salute", "At last a snapshot of salute 2.0.0");
    eventually("the old one is gone, with its finalizer", || {
        let names = example.namespace.kubectl(&["get", "components.ocm.example.com", "-o", "name"]);
        (names == "component.ocm.example.com/salute\n").then_some(())
    });
}

fn what_somebody_deletes_comes_back(example: &Example, lilt: &Lilt) {
    example.namespace.kubectl(&["delete", "secret", "creds"]);
    lilt.wait_for_line("creds:secret");
    lilt.wait_until("secrets", "has lost something", |it| {
        let drift = it["metadata"]["annotations"]["lilt.dev/drift"].as_str();
        drift.is_some_and(|drift| drift.contains("creds") && drift.contains("was deleted in the cluster"))
    });
    lilt.click("secrets");
    eventually("it is there again", || example.namespace.get("secret/creds").ok());
}

/// Listens where delve would, and starts what delve would.
const DEBUGGER: &str = r#"package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
)

func main() {
	listener, err := net.Listen("tcp", strings.TrimPrefix(os.Args[1], "--listen="))
	if err != nil {
		panic(err)
	}
	program := exec.Command(os.Args[7], os.Args[9:]...)
	program.Stdout, program.Stderr = os.Stdout, os.Stderr
	go func() {
		for {
			connection, err := listener.Accept()
			if err == nil {
				connection.Write([]byte("HTTP/1.0 200 OK\r\n\r\ndebugging " + program.Path + "\n"))
				connection.Close()
			}
		}
	}()
	os.Stderr.WriteString("debugging " + program.Path + "\n")
	if err := program.Run(); err != nil {
		panic(err)
	}
}
"#;

fn under_a_debugger(example: &Example, lilt: &Lilt, port: u16) {
    example.project.write("tools/dlv/main.go", DEBUGGER);
    example.run_go(&["build", "-o", "bin/dlv", "./tools/dlv"]);
    let settings = example.project.read(SETTINGS);
    example.project.write(SETTINGS, &format!("{settings}debug: {{enabled: true}}\n"));
    eventually("the debugger answers", || get(port, "/"));
    example.serves("/salute", "At last a snapshot of salute");
    let pod = example.pod("ocm-controller");
    example.edit("controllers/snapshot.go", "At last", "In the end");
    example.serves("/salute", "In the end a snapshot of salute");
    lilt.wait_for_line("debugging /.lilt/state/kept/manager");
    assert_eq!(example.pod("ocm-controller"), pod, "nothing was built, and nothing replaced");
}
