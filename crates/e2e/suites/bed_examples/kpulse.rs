//! A distroless program that is compiled here, loaded into the node under a fixed tag, and updated in place.

use lilt_e2e::lilt::Start;
use lilt_e2e::page::{get, post};
use lilt_testbed_env::{Testbed, eventually, free_port};
use serde_json::json;

use crate::example::Example;

/// Loads an image into the node, as `k3d image import` would.
fn loader() -> String {
    format!("docker save \"$EXPECTED_REF\" | {} -n k8s.io images import -", Testbed::get().ctr())
}

fn start(example: &Example, arguments: &[&str]) -> Start {
    let base = format!("{}/distroless/static:nonroot", Testbed::get().registry());
    let start = example.start(arguments).variable("KPULSE_LOADER", loader()).variable("KPULSE_BASE", base);
    example.with_go(start.variable("KPULSE_SINK_PORT", free_port().to_string()))
}

#[test]
fn its_whole_story() {
    let example = Example::new("kpulse", "KPULSE_PORT");
    let unknown = start(&example, &["ci", "--port", "random", "--", "nonsense"]).run().expect_clean_exit(1);
    assert!(
        unknown.output().contains("there is no part nonsense; there is: triggers"),
        "{}",
        unknown.output()
    );
    // As a stranger does it: the script knows the test bed's base image, and how images get into its node.
    let script = |words: &[&str]| {
        let start = example.script(&[&["kpulse"], words].concat());
        example.with_go(start.variable("KPULSE_SINK_PORT", free_port().to_string())).run()
    };
    script(&["ci", "--port", "random"])
        .expect_clean_exit(0)
        .expect_output("SUCCESS. All workloads are healthy.");
    script(&["down"]).expect_clean_exit(0);
    example.leaves_nothing();

    let sink = free_port();
    let lilt = start(&example, &["up", "--stream", "--port", "random", "--", "triggers"])
        .variable("KPULSE_SINK_PORT", sink.to_string())
        .start();
    lilt.wait_until_ready("kpulse");
    example.serves("/healthz", "kpulse is watching");
    let troubles = [
        "pod crashing: CrashLoopBackOff",
        "pod no-such-image: ImagePullBackOff",
        "pod hungry: OOMKilled",
        "job failing: JobFailed",
    ];
    let of = |trouble: &str| trouble.replacen(' ', &format!(" {}/", example.namespace.name()), 1);
    for trouble in troubles {
        lilt.wait_for_line(&format!("sink │ received: FIRING {}", of(trouble)));
    }
    // What is gone is in order; and is there again when it is asked for.
    example.namespace.kubectl(&["delete", "pod", "crashing"]);
    lilt.wait_for_line(&format!("sink │ received: RESOLVED {}", of(troubles[0])));
    let output_end = lilt.output_end();
    lilt.click("crashing");
    lilt.wait_for_line_after(output_end, &format!("sink │ received: FIRING {}", of(troubles[0])));
    // A channel can be tried, and the sink looked at.
    example.serves("/test-channel?name=slack", "");
    eventually("the sink shows it", || {
        get(sink, "/").filter(|messages| messages.contains("TEST of channel slack"))
    });

    // Real credentials stay, whatever is deployed.
    example.serves("/credentials", "false");
    let real = r#"{"stringData":{"TOKEN":"real"}}"#;
    example.namespace.kubectl(&["patch", "secret", "kpulse-secrets", "-p", real]);

    // In place, in the image that is shipped.
    let pod = example.pod("kpulse");
    example.edit("cmd/kpulse/main.go", "kpulse is watching", "kpulse sees");
    example.serves("/healthz", "kpulse sees");
    assert_eq!(example.pod("kpulse"), pod, "nothing was built, and nothing replaced");

    // A mistake stops at the compiler.
    example.edit("cmd/kpulse/main.go", "func main() {", "func main() { nonsense");
    lilt.wait_for_line("go-build │ cmd/kpulse/main.go:");
    lilt.wait_until("go-build", "failed", |it| it["status"]["updateStatus"] == "error");
    example.serves("/healthz", "kpulse sees");
    example.edit("cmd/kpulse/main.go", "func main() { nonsense", "func main() {");
    lilt.wait_until_ready("go-build");

    // The same tag with other content is another pod. No registry is asked.
    let image = ["get", "deployment/kpulse", "-o=jsonpath={.spec.template.spec.containers[0].image}"];
    assert_eq!(example.namespace.kubectl(&image), "kpulse:dev");
    let output_end = lilt.output_end();
    example.edit("Dockerfile", "ENTRYPOINT", "LABEL made=anew\nENTRYPOINT");
    lilt.wait_for_line_after(output_end, "kpulse │ STEP 1/2 — Building Custom Build: [kpulse]");
    lilt.wait_for_line_after(
        output_end,
        "kpulse │      Skipping push: custom_build() configured to handle push itself",
    );
    eventually("another pod runs", || {
        let label = ["get", "pods", "-l", "app=kpulse", "-o", "name"];
        (!example.namespace.kubectl(&label).contains(&pod)).then_some(())
    });
    lilt.wait_until_ready("kpulse");
    example.serves("/healthz", "kpulse sees");
    example.serves("/credentials", "true");
    assert_eq!(example.namespace.kubectl(&image), "kpulse:dev");

    // All of it goes, whatever arguments brought it, but for what only the cluster has.
    lilt.quit();
    let down = start(&example, &["down"]).run().expect_clean_exit(0);
    let command = delete_command(&down.output());
    example.leaves_only(&["secret/kpulse-secrets"]);
    the_next_session_has_the_credentials(&example);
    example.namespace.kubectl(&command.iter().map(String::as_str).collect::<Vec<_>>());
    example.leaves_nothing();
}

fn the_next_session_has_the_credentials(example: &Example) {
    let lilt = start(example, &["up", "--stream", "--port", "random"]).start();
    lilt.wait_until_ready("kpulse");
    example.serves("/credentials", "true");
    // Disabling is not meant for them either.
    let request = json!({"type": "switch", "enable": [], "disable": ["kpulse"]});
    assert_eq!(post(lilt.port(), "/api/request", &request).0, 200);
    delete_command(&lilt.wait_for_line("kpulse │ Keeping kpulse-secrets:secret"));
    lilt.quit();
    start(example, &["down"]).run().expect_clean_exit(0);
    example.leaves_only(&["secret/kpulse-secrets"]);
}

/// What a deletion says of the Secret that it keeps.
fn delete_command(said: &str) -> Vec<String> {
    let line = said.lines().find(|line| line.contains("Keeping kpulse-secrets:secret")).expect(said);
    assert!(line.contains("data.TOKEN"), "{line}");
    let (_, command) = line.split_once("; to delete it: kubectl ").expect(line);
    command.split(' ').map(str::to_owned).collect()
}

/// Clusters that are not here: what the Tiltfile would do for them.
#[test]
fn loaders_work() {
    let example = Example::new("kpulse", "KPULSE_PORT");
    let kubeconfig = example.namespace.kubeconfig();
    let text = std::fs::read_to_string(kubeconfig).expect("the kubeconfig is there");
    let result = |context: &str| {
        std::fs::write(kubeconfig, text.replace("kind-lilt", context)).expect("it can be written");
        start(&example, &["alpha", "tiltfile-result"]).without("KPULSE_LOADER").run()
    };
    for (context, loader) in [
        ("k3d-dev", r#"k3d image import \"$EXPECTED_REF\" -c dev"#),
        ("kind-kind", r#"kind load docker-image \"$EXPECTED_REF\" --name kind"#),
        ("minikube", r#"minikube image load \"$EXPECTED_REF\""#),
        ("docker-desktop", " && true"),
    ] {
        let printed = result(context).expect_clean_exit(0).stdout();
        assert!(printed.contains(loader), "{loader} in {printed}");
    }
    let unknown = result("microk8s").expect_clean_exit(5);
    let words = "how do images get into the nodes of microk8s? KPULSE_LOADER says it";
    assert!(unknown.stderr().contains(words), "{}", unknown.stderr());
}
