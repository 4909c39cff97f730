//! `apply`.

use serde_json::json;

use crate::session::{MAP, Session};

const APPLY: [&str; 3] = ["apply", "-f", "map.yaml"];

#[test]
fn apply_stores_last_applied_configuration() {
    let session = Session::start();
    assert_eq!(session.prints(&APPLY), "configmap.tilt.dev/values created\n");
    assert_eq!(session.prints(&APPLY), "configmap.tilt.dev/values unchanged\n");
    session.prints(&["patch", "cm", "values", "-p", "data: {theirs: 'x'}"]);
    session.project.write("map.yaml", &MAP.replace("b: '2'", "c: '3'"));
    assert_eq!(
        session.prints(&["apply", "-f", "map.yaml", "--dry-run=server"]),
        "configmap.tilt.dev/values configured (server dry run)\n"
    );
    let client =
        session.output_of(&["apply", "-f", "map.yaml", "--dry-run=client", "-o", "jsonpath={.data}"]);
    assert_eq!(client, "{\"a\":\"1\",\"c\":\"3\",\"theirs\":\"x\"}");
    assert_eq!(session.prints(&APPLY), "configmap.tilt.dev/values configured\n");
    assert_eq!(session.object("cm/values")["data"], json!({"a": "1", "c": "3", "theirs": "x"}));
    session.prints(&["patch", "cm", "values", "-p", "data: {a: 'changed'}"]);
    session.project.write("map.yaml", &MAP.replace("a: '1'", "a: '5'"));
    let refused = session.fails(&["apply", "-f", "map.yaml", "--overwrite=false"]);
    assert!(refused.contains("somebody else has changed .data.a"), "{refused}");
    session.prints(&APPLY);
    assert_eq!(session.object("cm/values")["data"]["a"], "5");
    let plain = MAP.replace("values", "plain");
    session.given(&plain, &["create", "-f", "-"]);
    let (code, out, complaint) = session.given(&plain, &["apply", "-f", "-"]);
    assert_eq!((code, out.as_str()), (0, "configmap.tilt.dev/plain configured\n"));
    assert!(
        complaint.contains("missing the kubectl.kubernetes.io/last-applied-configuration"),
        "{complaint}"
    );
    session.lilt.quit();
}

#[test]
fn apply_handles_folders_documents_and_prune() {
    let session = Session::start();
    let named = |name: &str| MAP.replace("name: values", &format!("name: {name}"));
    session.project.write("all/a.yaml", &format!("{}---\n{}", named("a"), named("b")));
    session.project.write("all/deep/c.yml", &named("c"));
    session.project.write("all/notes.txt", "no object");
    let applied = session.prints(&["apply", "-f", "all", "-R"]);
    assert_eq!(
        applied,
        "configmap.tilt.dev/a created\nconfigmap.tilt.dev/b created\nconfigmap.tilt.dev/c created\n"
    );
    let prune = ["apply", "-f", "all", "--prune", "-l", "app=shop", "--wait"];
    let dry = session.prints(&[&prune[..], &["--dry-run=client"]].concat());
    assert!(dry.ends_with("configmap.tilt.dev/c pruned (dry run)\n"), "{dry}");
    assert!(session.prints(&prune).ends_with("configmap.tilt.dev/c pruned\n"));
    let left = session.prints(&["get", "cm", "-o", "name"]);
    assert!(!left.contains("/c\n") && left.contains("/one-disable\n"), "{left}");
    let other = ["apply", "-f", "all/a.yaml", "--prune", "--all", "--prune-allowlist=tilt.dev/v1alpha1/Cmd"];
    assert!(!session.prints(&other).contains("pruned"));
    let message = session.complaints(&[
        &["apply"],
        &["apply", "-f", "all", "--prune"],
        &["apply", "-f", "all", "--prune", "--all", "-l", "a=b"],
        &["apply", "-f", "all", "--prune", "--all", "--prune-allowlist=core/v1/Pod"],
        &["apply", "-f", "all", "--all"],
        &["apply", "-f", "all", "--grace-period=3"],
        &["apply", "-f", "all", "--force-conflicts"],
        &["apply", "-f", "all", "--server-side", "--dry-run=client"],
        &["apply", "-f", "all", "--server-side", "--force"],
        &["apply", "-f", "all", "-k", "all"],
        &["apply", "-f", "nothing"],
        &["apply", "-f", "https://localhost/x.yaml"],
        &["apply", "-f", "all/notes.txt"],
    ]);
    insta::assert_snapshot!(message);
    session.lilt.quit();
}

#[test]
fn server_side_apply_reports_conflicts() {
    let session = Session::start();
    let apply = ["apply", "--server-side", "-f", "map.yaml"];
    assert_eq!(session.prints(&apply), "configmap.tilt.dev/values serverside-applied\n");
    session.project.write("map.yaml", &MAP.replace("a: '1'", "a: '9'"));
    let other = [&apply[..], &["--field-manager=other"]].concat();
    let refused = session.fails(&other);
    assert!(
        refused.contains("(Conflict)") && refused.contains("conflict with \"kubectl\": .data.a"),
        "{refused}"
    );
    session.prints(&[&other[..], &["--force-conflicts"]].concat());
    assert_eq!(session.object("cm/values")["data"]["a"], "9");
    let managers =
        ["get", "cm/values", "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager}"];
    assert_eq!(session.output_of(&managers), "kubectl other");
    session.lilt.quit();
}

#[test]
fn last_applied_can_be_viewed_set_and_edited() {
    let session = Session::start();
    session.prints(&["create", "-f", "map.yaml"]);
    let view = ["apply", "view-last-applied", "cm/values"];
    let none = "error: no last-applied-configuration annotation found on resource: values";
    assert_eq!(session.fails(&view), format!("{none}\n"));
    let set = ["apply", "set-last-applied", "-f", "map.yaml"];
    let hint = "to create the annotation, run the command with --create-annotation";
    assert_eq!(session.fails(&set), format!("{none}, {hint}\n"));
    let created = session.prints(&[&set[..], &["--create-annotation"]].concat());
    assert_eq!(created, "configmap.tilt.dev/values configured\n");
    assert!(session.prints(&view).starts_with("apiVersion: tilt.dev/v1alpha1\ndata:\n  a: "));
    let editor = "sed -i s/shop/market/";
    let edit = session.command(&["apply", "edit-last-applied", "cm/values", "-o", "json"]);
    assert_eq!(
        edit.variable("EDITOR", editor).run().expect_clean_exit(0).stdout(),
        "configmap.tilt.dev/values edited\n"
    );
    let json = session.prints(&[&view[..], &["-o", "json"]].concat());
    assert!(json.contains("\"app\": \"market\""), "{json}");
    assert_eq!(session.object("cm/values")["metadata"]["labels"]["app"], "shop", "nothing else is changed");
    assert_eq!(
        session.fails(&["apply", "edit-last-applied", "cm"]),
        "error: must specify one resource: TYPE NAME or TYPE/NAME\n"
    );
    session.lilt.quit();
}
