//! A distroless program that is compiled here, loaded into the node under a fixed tag, and updated in place.

use lilt_testbed_env::Bed;

use crate::example::Example;
use crate::support::lilt::Start;

/// Loads an image into the node, as `k3d image import` would.
fn loader() -> String {
    format!("docker save \"$EXPECTED_REF\" | {} -n k8s.io images import -", Bed::get().ctr())
}

fn start(example: &Example, arguments: &[&str]) -> Start {
    let base = format!("{}/distroless/static:nonroot", Bed::get().registry());
    let start = example.start(arguments).variable("KPULSE_LOADER", loader()).variable("KPULSE_BASE", base);
    example.with_go(start)
}

#[test]
fn its_whole_story() {
    let example = Example::new("kpulse", "KPULSE_PORT");
    let unknown = start(&example, &["ci", "--port", "0", "--", "nonsense"]).run().clean(1);
    assert!(
        unknown.output().contains("there is no part nonsense; there is: triggers"),
        "{}",
        unknown.output()
    );
    start(&example, &["ci", "--port", "0"]).run().clean(0).says("SUCCESS. All workloads are healthy.");

    let lilt = start(&example, &["up", "--stream", "--port", "0", "--", "triggers"]).start();
    lilt.wait_until_ready("kpulse");
    example.serves("/healthz", "kpulse is watching");
    for trouble in ["crashing: CrashLoopBackOff", "no-such-image: ImagePullBackOff", "failing: JobFailed"] {
        let (name, _) = trouble.split_once(':').expect("a name");
        let kind = if name == "failing" { "job" } else { "pod" };
        lilt.wait_for_line(&format!("sink │ received: FIRING {kind} {}/{trouble}", example.namespace.name()));
    }

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

    // The same tag with other content is another pod.
    example.edit("Dockerfile", "ENTRYPOINT", "LABEL made=anew\nENTRYPOINT");
    lilt.wait_for_line("kpulse │ STEP 1/3 — Building Custom Build: [kpulse]");
    lilt_testbed_env::eventually("another pod runs", || {
        let label = ["get", "pods", "-l", "app=kpulse", "-o", "name"];
        (!example.namespace.kubectl(&label).contains(&pod)).then_some(())
    });
    lilt.wait_until_ready("kpulse");
    example.serves("/healthz", "kpulse sees");
    example.serves("/credentials", "true");

    lilt.quit();
    start(&example, &["down", "--", "triggers"]).run().clean(0);
    example.leaves_nothing();
}
