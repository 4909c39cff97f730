//! `explain`, and a session without Tiltfile.

use lilt_e2e::lilt::Start;
use lilt_testbed_env::Project;

use crate::session::{MAP, Session};

#[test]
fn explain_prints_fields() {
    let session = Session::start();
    let mut message = String::new();
    for arguments in [&["cmd.spec.restartOn"][..], &["fw.spec", "--recursive"], &["cmds.spec.args"]] {
        let text = session.prints(&[&["explain"], arguments].concat());
        message.push_str(&format!("$ lilt explain {}\n{text}\n", arguments.join(" ")));
    }
    for arguments in [&[][..], &["pods"], &["cmd.spec.nothing"], &["cmd", "fw"], &["cmd", "--api-version=v1"]]
    {
        let text = session.fails(&[&["explain"], arguments].concat());
        message.push_str(&format!("$ lilt explain {}\n{text}\n", arguments.join(" ")));
    }
    insta::assert_snapshot!(message);
    let whole = session.prints(&["explain", "uibuttons", "--api-version=tilt.dev/v1alpha1"]);
    assert!(
        whole.starts_with("GROUP:      tilt.dev\nKIND:       UIButton\nVERSION:    v1alpha1\n"),
        "{whole}"
    );
    assert!(whole.contains("  spec\t<UIButtonSpec>\n"), "{whole}");
    session.lilt.quit();
}

#[test]
fn explain_needs_no_tiltfile() {
    let command = "apiVersion: tilt.dev/v1alpha1\nkind: Cmd\nmetadata: {name: hello}\nspec: {args: [echo, hello from updog]}\n";
    let project = Project::new(&[("objects.yaml", &format!("{MAP}---\n{command}"))]);
    let lilt = Start::new(&project, &["alpha", "updog", "-f", "objects.yaml", "--port", "random"]).start();
    lilt.wait_for_line("loaded configmap/values");
    lilt.wait_for_line("loaded cmd/hello");
    let port = lilt.port().to_string();
    let wait = ["wait", "--for=jsonpath={.status.terminated.exitCode}=0", "cmd/hello", "--port", &port];
    Start::new(&project, &wait).with_home_of(&lilt).run().expect_clean_exit(0);
    lilt.quit();
    let none = Start::new(&project, &["alpha", "updog"]).run().expect_clean_exit(1);
    assert_eq!(none.stderr(), "error: Expected source files with -f\n");
    project.write("wrong.yaml", "{apiVersion: tilt.dev/v1alpha1, kind: UIButton, metadata: {name: b}}");
    let refused = Start::new(&project, &["alpha", "updog", "-f", "wrong.yaml", "--port", "random"])
        .run()
        .expect_clean_exit(1);
    assert!(refused.stderr().contains("The UIButton \"b\" is invalid: "), "{}", refused.stderr());
}

#[test]
fn shell_requires_a_pod() {
    let session = Session::start();
    assert!(session.fails(&["alpha", "shell", "none"]).starts_with("error: resource none not found."));
    let local = session.fails(&["alpha", "shell", "one"]);
    assert_eq!(
        local,
        "error: resource one is not a Kubernetes resource. Only Kubernetes pods currently supported\n"
    );
    session.lilt.quit();
}
