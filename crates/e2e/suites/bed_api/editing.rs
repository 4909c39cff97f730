//! An unmodified `kubectl edit`, with an editor that is a script.

use std::os::unix::fs::PermissionsExt as _;

use crate::client::Session;

const MAP: &str =
    "{apiVersion: tilt.dev/v1alpha1, kind: ConfigMap, metadata: {name: values}, data: {a: '1', b: '2'}}";

/// A session with a ConfigMap, and an editor that records the file.
fn session(script: &str) -> (Session, String) {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    session.apply(MAP);
    let shown = session.file("shown");
    session.write("editor", &format!("#!/bin/sh\ncat \"$1\" >> {shown}\necho ===== >> {shown}\n{script}\n"));
    let editor = session.file("editor");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).expect("it is there");
    (session, editor)
}

fn edit(session: &Session, editor: &str, arguments: &[&str]) -> Result<String, String> {
    session.kubectl_with(&[("KUBE_EDITOR", editor)], &[&["edit"], arguments].concat(), "")
}

#[test]
fn edit_saved_changes_object() {
    let (session, editor) = session("sed -i 's/a: \"1\"/a: \"8\"/' \"$1\"");
    let said = edit(&session, &editor, &["cm/values"]);
    assert_eq!(said.as_deref(), Ok("configmap.tilt.dev/values edited\n"));
    assert_eq!(session.get("cm/values")["data"]["a"], "8");
    let before = session.get("cm/values");
    assert_eq!(edit(&session, &editor, &["cm/values"]).as_deref(), Ok(""), "it is left as it is");
    assert_eq!(session.get("cm/values"), before);
    // A resource is switched off the same way.
    session.write("editor", "#!/bin/sh\nsed -i 's/isDisabled: \"false\"/isDisabled: \"true\"/' \"$1\"\n");
    edit(&session, &editor, &["cm/one-disable"]).expect("it can be changed");
    assert_eq!(session.get("uiresource/one")["status"]["disableStatus"]["state"], "Disabled");
    session.lilt.quit();
}

#[test]
fn edit_subresource_status_changes_only_status() {
    let at = "2026-01-01T00:00:00.000000Z";
    let (session, editor) =
        session(&format!("sed -i 's/lastClickedAt: null/lastClickedAt: \"{at}\"/' \"$1\""));
    session.apply(
        "{apiVersion: tilt.dev/v1alpha1, kind: UIButton, metadata: {name: press}, spec: {text: Press,
          location: {componentID: one, componentType: Resource}}}",
    );
    edit(&session, &editor, &["uibutton/press", "--subresource=status"]).expect("it can be changed");
    assert_eq!(session.get("uibutton/press")["status"]["lastClickedAt"], at);
    session.lilt.quit();
}

#[test]
fn edit_refused_reopens_editor_with_reason() {
    let script = "if grep -q 'isDisabled: maybe' \"$1\"; then sed -i 's/maybe/\"true\"/' \"$1\"; \
                  else sed -i 's/isDisabled: \"false\"/isDisabled: maybe/' \"$1\"; fi";
    let (session, editor) = session(script);
    let said = edit(&session, &editor, &["cm/one-disable"]);
    assert_eq!(said.as_deref(), Ok("configmap.tilt.dev/one-disable edited\n"));
    assert_eq!(session.get("cm/one-disable")["data"]["isDisabled"], "true");
    let shown = std::fs::read_to_string(session.file("shown")).expect("it was shown");
    let second = shown.split("=====\n").nth(1).expect("it was opened twice");
    assert!(second.contains("# configmaps.tilt.dev \"one-disable\" was not valid:"), "{second}");
    assert!(second.contains("data.isDisabled: Invalid value"), "{second}");
    session.lilt.quit();
}
