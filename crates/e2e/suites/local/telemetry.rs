//! `experimental_telemetry_cmd` in a running session.

use lilt_e2e::lilt::Start;
use lilt_testbed_env::{Project, eventually};
use serde_json::{Value, json};

fn spans(project: &Project) -> Vec<Value> {
    let text = std::fs::read_to_string(project.file("spans.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn telemetry_command_gets_spans_on_stdin_and_again_after_a_failure() {
    let project = Project::new(&[
        (
            "Tiltfile",
            "experimental_telemetry_cmd('cat > received.jsonl; pwd; sh take', period='1s')\n\
             local_resource('loc', 'true', deps=['x.txt'])\n",
        ),
        ("take", "test -e accept || { echo not now; exit 3; }\ncat received.jsonl >> spans.jsonl\n"),
        ("x.txt", "one\n"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_line("Telemetry command failed: exit status 3");
    lilt.wait_for_line(&format!("output: {}", project.path().display()));
    lilt.wait_for_line("not now");
    project.write("accept", "");
    eventually("the span is delivered", || (!spans(&project).is_empty()).then_some(()));
    project.write("x.txt", "two\n");
    eventually("the second update is delivered, the first only once", || {
        (spans(&project).len() == 2).then_some(())
    });
    for span in spans(&project) {
        assert_eq!(span["Name"], "tilt.dev/usage/update");
        let expected = json!([
            {"Key": "targetNames", "Value": {"Type": "STRING", "Value": "local:loc"}},
            {"Key": "buildType.local", "Value": {"Type": "BOOL", "Value": true}},
        ]);
        assert_eq!(span["Attributes"], expected);
    }
    lilt.quit();
}
