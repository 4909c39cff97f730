//! `delete`.

use crate::session::{MAP, Session};

#[test]
fn delete_selects_by_name_file_label_and_kind() {
    let session = Session::start();
    let make = |names: &[&str]| {
        for name in names {
            let (code, _, complaint) = session.given(&MAP.replace("values", name), &["apply", "-f", "-"]);
            assert_eq!(code, 0, "{complaint}");
        }
    };
    make(&["a", "b", "c", "values"]);
    assert_eq!(
        session.prints(&["delete", "cm/a", "--dry-run=server"]),
        "configmap.tilt.dev \"a\" deleted (server dry run)\n"
    );
    assert_eq!(
        session.prints(&["delete", "cm", "a", "b"]),
        "configmap.tilt.dev \"a\" deleted\nconfigmap.tilt.dev \"b\" deleted\n"
    );
    assert_eq!(session.prints(&["delete", "-f", "map.yaml", "-o", "name"]), "configmap.tilt.dev/values\n");
    assert_eq!(
        session.prints(&["delete", "cm", "-l", "app=shop", "--wait=false", "--now"]),
        "configmap.tilt.dev \"c\" deleted\n"
    );
    assert_eq!(session.prints(&["delete", "cm", "-l", "app=shop"]), "No resources found\n");
    assert_eq!(session.prints(&["delete", "cm", "a", "--ignore-not-found"]), "");
    assert_eq!(
        session.fails(&["delete", "cm", "a"]),
        "Error from server (NotFound): configmaps.tilt.dev \"a\" not found\n"
    );
    session.prints(&["create", "cmd", "long", "sleep", "987"]);
    session.prints(&["wait", "--for=jsonpath={.status.running.pid}", "cmd/long"]);
    assert_eq!(session.prints(&["delete", "cmd/long"]), "cmd.tilt.dev \"long\" deleted\n");
    let only_server = || (session.lilt.processes().len() == 1).then_some(());
    lilt_testbed_env::eventually("what ran has ended", only_server);
    session.lilt.quit();
}

#[test]
fn delete_cascade_deletes_or_orphans_owned_objects() {
    let session = Session::start();
    for (how, left) in [("--cascade=orphan", "configmap.tilt.dev/owned\n"), ("--cascade=background", "")] {
        session.prints(&["apply", "-f", "map.yaml"]);
        let uid = session.prints(&["get", "cm/values", "-o", "jsonpath={.metadata.uid}"]);
        let owned = format!(
            "{{apiVersion: tilt.dev/v1alpha1, kind: ConfigMap, metadata: {{name: owned, ownerReferences: [{{\
             apiVersion: tilt.dev/v1alpha1, kind: ConfigMap, name: values, uid: {uid}}}]}}}}"
        );
        assert_eq!(session.given(&owned, &["create", "-f", "-"]).0, 0);
        session.prints(&["delete", "cm/values", how]);
        assert_eq!(session.prints(&["get", "cm/owned", "-o", "name", "--ignore-not-found"]), left);
        session.prints(&["delete", "cm", "owned", "--ignore-not-found"]);
    }
    session.lilt.quit();
}

#[test]
fn delete_can_ask_and_wait_for_finalizer() {
    let session = Session::start();
    session.prints(&["apply", "-f", "map.yaml"]);
    let asked = |answer: &str| session.given(answer, &["delete", "cm", "values", "--interactive"]);
    let (code, out, _) = asked("n\n");
    assert_eq!(code, 0);
    assert!(out.contains("configmap.tilt.dev/values") && out.ends_with("deletion is cancelled\n"), "{out}");
    session.prints(&["patch", "cm", "values", "-p", "metadata: {finalizers: [mine]}"]);
    let late = session.command(&["delete", "cm/values", "--timeout=200ms"]).run().expect_clean_exit(1);
    assert_eq!(late.stderr(), "error: timed out waiting for the condition on configmaps/values\n");
    let waiting = session.command(&["delete", "cm/values"]).start();
    waiting.wait_for_line("deleted");
    session.prints(&["patch", "cm", "values", "--type=merge", "-p", "metadata: {finalizers: null}"]);
    waiting.wait_for_exit().expect_clean_exit(0);
    session.prints(&["apply", "-f", "map.yaml"]);
    assert_eq!(asked("y\n").0, 0);
    assert_eq!(session.prints(&["get", "cm/values", "--ignore-not-found"]), "");
    session.lilt.quit();
}

#[test]
fn invalid_delete_deletes_nothing() {
    let session = Session::start();
    let message = session.complaints(&[
        &["delete"],
        &["delete", "cm"],
        &["delete", "cm", "one-disable", "--all"],
        &["delete", "cm", "one-disable", "-A"],
        &["delete", "cm", "--all", "-l", "a=b"],
        &["delete", "cm", "one-disable", "-o", "json"],
        &["delete", "cm", "one-disable", "--now", "--grace-period=3"],
        &["delete", "cm", "one-disable", "--force", "--grace-period=3"],
        &["delete", "cm", "one-disable", "--cascade=odd"],
        &["delete", "uiresource", "one"],
        &["delete", "--raw", "/apis/tilt.dev/v1alpha1/configmaps/none"],
    ]);
    insta::assert_snapshot!(message);
    assert_eq!(session.prints(&["get", "cm", "-o", "name"]).lines().count(), 3);
    session.lilt.quit();
}
