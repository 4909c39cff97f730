//! `edit`, with an editor that is a script.

use std::os::unix::fs::PermissionsExt as _;

use lilt_e2e::lilt::Start;

use crate::session::Session;

/// A session with a ConfigMap, and an editor that records the file.
fn session(script: &str) -> (Session, String) {
    let session = Session::start();
    session.prints(&["create", "-f", "map.yaml"]);
    let script = format!("#!/bin/sh\ncat \"$1\" >> shown\necho ===== >> shown\n{script}\n");
    session.project.write("editor", &script);
    let path = session.project.file("editor");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is there");
    let path = path.to_str().expect("text").to_owned();
    (session, path)
}

fn edit(session: &Session, editor: &str, arguments: &[&str]) -> Start {
    session.command(&[&["edit"], arguments].concat()).variable("EDITOR", editor)
}

#[test]
fn edit_saved_changes_object() {
    let (session, editor) = session("sed -i \"s/a: '1'/a: '8'/; s/a: \\\"1\\\"/a: '8'/\" \"$1\"");
    let ended = edit(&session, &editor, &["cm/values", "--output-patch"]).run().expect_clean_exit(0);
    assert_eq!(ended.stdout(), "Patch: {\"data\":{\"a\":\"8\"}}\nconfigmap.tilt.dev/values edited\n");
    assert_eq!(session.object("cm/values")["data"]["a"], "8");
    let shown = std::fs::read_to_string(session.project.file("shown")).expect("it was shown");
    assert!(shown.starts_with("# Please edit the object below."), "{shown}");
    assert!(!shown.contains("managedFields"), "{shown}");
    let again = edit(&session, &editor, &["cm", "values"]).run().expect_clean_exit(0);
    assert_eq!(
        (again.stdout().as_str(), again.stderr().as_str()),
        ("", "Edit cancelled, no changes made.\n")
    );
    session.lilt.quit();
}

#[test]
fn edit_selects_editor_and_file_format() {
    let (session, editor) = session("sed -i 's/\"b\": \"2\"/\"b\": \"5\"/' \"$1\"");
    let ended = session
        .command(&["edit", "cm/values", "-o", "json", "--save-config"])
        .variable("EDITOR", "false")
        .variable("KUBE_EDITOR", &editor)
        .run();
    assert_eq!(ended.expect_clean_exit(0).stdout(), "configmap.tilt.dev/values edited\n");
    let map = session.object("cm/values");
    assert_eq!(map["data"]["b"], "5");
    assert!(map["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].is_string());
    let wrong = session
        .command(&["edit", "cm/values"])
        .variable("KUBE_EDITOR", &editor)
        .variable("TILT_EDITOR", "false");
    let wrong = wrong.run().expect_clean_exit(1);
    assert!(wrong.stderr().contains("the editor `false` ended with exit code 1"), "{}", wrong.stderr());
    let emptied = edit(&session, "truncate -s 0", &["cm/values"]).run().expect_clean_exit(0);
    assert_eq!(emptied.stderr(), "Edit cancelled, saved file was empty.\n");
    session.lilt.quit();
}

#[test]
fn edit_refused_reopens_editor_with_reason() {
    let script = "if grep -q 'strict decoding' \"$1\"; then sed -i 's/^date:/data:/; s/b: .2./b: \"6\"/' \"$1\"; \
                  else sed -i 's/^data:/date:/' \"$1\"; fi";
    let (session, editor) = session(script);
    let ended = edit(&session, &editor, &["cm/values"]).run().expect_clean_exit(0);
    assert_eq!(ended.stdout(), "configmap.tilt.dev/values edited\n");
    assert_eq!(session.object("cm/values")["data"]["b"], "6");
    let shown = std::fs::read_to_string(session.project.file("shown")).expect("it was shown");
    let second = shown.split("=====\n").nth(1).expect("it was opened twice");
    assert!(
        second.contains("# Error from server (BadRequest): strict decoding error: unknown field \"date\"\n"),
        "{second}"
    );
    session.lilt.quit();
}

#[test]
fn edit_refused_twice_prints_saved_copy() {
    let (session, editor) = session("sed -i 's/^kind: .*/kind: Cmd/' \"$1\"");
    let ended = edit(&session, &editor, &["cm/values"]).run();
    assert_eq!(ended.code(), Some(1));
    let message = ended.stderr();
    assert!(message.contains("At least one of apiVersion, kind and name was changed"), "{message}");
    assert!(message.ends_with("error: Edit cancelled, no valid changes were saved.\n"), "{message}");
    let kept = message.split('"').nth(1).expect("the place of the copy");
    assert!(std::fs::read_to_string(kept).expect("it is kept").contains("kind: Cmd"));
    let none = session.fails(&["edit"]);
    assert_eq!(none, "error: must specify one or more resources\n");
    session.lilt.quit();
}

#[test]
fn create_edit_changes_object_before_creation() {
    let (session, editor) = session("sed -i 's/name: values/name: changed/' \"$1\"");
    let ended = session
        .command(&["create", "-f", "map.yaml", "--edit"])
        .variable("EDITOR", &editor)
        .run()
        .expect_clean_exit(0);
    assert_eq!(ended.stdout(), "configmap.tilt.dev/changed created\n");
    session.lilt.quit();
}
