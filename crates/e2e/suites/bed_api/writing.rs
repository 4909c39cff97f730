//! What may be written, and what is refused.

use serde_json::{Value, json};

use crate::client::Session;

const MAP: &str =
    "{apiVersion: tilt.dev/v1alpha1, kind: ConfigMap, metadata: {name: values}, data: {a: '1', b: '2'}}";

fn session() -> Session {
    Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")])
}

#[test]
fn every_verb_works_on_a_user_object() {
    let session = session();
    assert!(session.apply(MAP).contains("created"));
    assert!(session.apply(MAP).contains("unchanged"));
    session.apply(&MAP.replace("b: '2'", "c: '3'"));
    assert_eq!(session.get("cm/values")["data"], json!({"a": "1", "c": "3"}));
    session.kubectl(&[
        "patch",
        "cm",
        "values",
        "--type=json",
        "-p",
        r#"[{"op":"add","path":"/data/d","value":"4"}]"#,
    ]);
    session.kubectl(&["patch", "cm", "values", "--type=merge", "-p", r#"{"data":{"a":null}}"#]);
    session.kubectl(&["label", "cm", "values", "tier=back"]);
    let map = session.get("cm/values");
    assert_eq!(map["data"], json!({"c": "3", "d": "4"}));
    assert_eq!(map["metadata"]["labels"]["tier"], "back");
    let mut changed = map.clone();
    changed["data"]["e"] = json!("5");
    session.try_kubectl(&["replace", "-f", "-"], &changed.to_string()).expect("replaced");
    let stale = session.try_kubectl(&["replace", "-f", "-"], &changed.to_string());
    assert!(stale.is_err_and(|words| words.contains("the object has been modified")));
    session.kubectl(&["delete", "cm", "-l", "tier=back"]);
    assert!(
        session.try_kubectl(&["get", "cm", "values"], "").is_err_and(|words| words.contains("not found"))
    );
    session.lilt.quit();
}

#[test]
fn server_side_apply_tracks_field_owners() {
    let session = session();
    let apply = |manager: &str, yaml: &str, force: bool| {
        let force = format!("--force-conflicts={force}");
        let manager = format!("--field-manager={manager}");
        session.try_kubectl(&["apply", "--server-side", &manager, &force, "-f", "-"], yaml)
    };
    apply("me", MAP, false).expect("applied");
    let refused = apply("you", &MAP.replace("a: '1'", "a: '9'"), false);
    assert!(
        refused.as_ref().is_err_and(|words| words.contains("conflict with \"me\": .data.a")),
        "{refused:?}"
    );
    apply("you", &MAP.replace("a: '1'", "a: '9'"), true).expect("applied by force");
    apply("me", &MAP.replace("a: '1', ", ""), false).expect("applied");
    assert_eq!(session.get("cm/values")["data"], json!({"a": "9", "b": "2"}));
    session.lilt.quit();
}

#[test]
fn every_write_records_field_manager() {
    let session = session();
    let writers = || {
        let shown = session.kubectl(&["get", "cm/values", "-o", "json", "--show-managed-fields"]);
        let object: Value = serde_json::from_str(&shown).expect("JSON");
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let words = |entry: &Value| {
            let word = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            assert!(!word("time").is_empty(), "{entry}");
            format!("{} {}", word("manager"), word("operation"))
        };
        entries.iter().map(words).collect::<Vec<String>>()
    };
    session.apply(MAP);
    assert_eq!(writers(), ["kubectl-client-side-apply Update"]);
    session.kubectl(&["patch", "cm/values", "--type=merge", "-p", r#"{"data":{"a":"5"}}"#]);
    session.kubectl(&["label", "cm/values", "tier=back"]);
    assert_eq!(
        writers(),
        ["kubectl-client-side-apply Update", "kubectl-patch Update", "kubectl-label Update"]
    );
    // kubectl hands over what it applied itself; what others wrote stays theirs.
    let apply = |force: &str| session.try_kubectl(&["apply", "--server-side", force, "-f", "-"], MAP);
    let refused = apply("--force-conflicts=false");
    assert!(
        refused.as_ref().is_err_and(|words| words.contains("conflict with \"kubectl-patch\"")),
        "{refused:?}"
    );
    apply("--force-conflicts=true").expect("applied by force");
    assert_eq!(writers(), ["kubectl-label Update", "kubectl-last-applied Apply", "kubectl Apply"]);
    assert_eq!(session.get("cm/values")["data"]["a"], "1");
    session.lilt.quit();
}

#[test]
fn dry_run_changes_nothing() {
    let session = session();
    let message = session.try_kubectl(&["apply", "--dry-run=server", "-f", "-"], MAP).expect("checked");
    assert!(message.contains("created (server dry run)"), "{message}");
    assert!(session.try_kubectl(&["get", "cm", "values"], "").is_err());
    session.apply(MAP);
    session.kubectl(&["delete", "cm", "values", "--dry-run=server"]);
    session.kubectl(&["get", "cm", "values"]);
    session.lilt.quit();
}

#[test]
fn invalid_object_error_names_the_field() {
    let session = session();
    let refused = |yaml: &str| session.try_kubectl(&["apply", "-f", "-"], yaml).expect_err("refused");
    let button = "{apiVersion: tilt.dev/v1alpha1, kind: UIButton, metadata: {name: b}, spec: {SPEC}}";
    assert!(refused(&button.replace("SPEC", "txt: x")).contains("unknown field \"spec.txt\""));
    assert!(
        refused(&button.replace("SPEC", "text: 3")).contains("spec.text: a string wanted, a number found")
    );
    let missing = refused(&button.replace("SPEC", "text: x"));
    assert!(missing.contains("spec.location.componentID: Required value"), "{missing}");
    let kept = session.try_kubectl(&["delete", "uiresource", "one"], "").expect_err("refused");
    assert!(kept.contains("lilt itself keeps this object"), "{kept}");
    session.lilt.quit();
}

#[test]
fn finalizers_and_owner_references_are_honoured() {
    let session = session();
    let map = |name: &str, metadata: &str| {
        format!("{{apiVersion: tilt.dev/v1alpha1, kind: ConfigMap, metadata: {{name: {name}{metadata}}}}}")
    };
    session.apply(&map("held", ", finalizers: [example.com/me]"));
    session.kubectl(&["delete", "cm", "held", "--wait=false"]);
    assert!(session.get("cm/held")["metadata"]["deletionTimestamp"].is_string());
    session.kubectl(&["patch", "cm", "held", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
    assert!(session.try_kubectl(&["get", "cm", "held"], "").is_err());
    session.apply(&map("owner", ""));
    let uid: Value = session.get("cm/owner")["metadata"]["uid"].clone();
    let owner = format!(
        ", ownerReferences: [{{apiVersion: tilt.dev/v1alpha1, kind: ConfigMap, name: owner, uid: {uid}}}]"
    );
    session.apply(&map("child", &owner));
    session.kubectl(&["delete", "cm", "owner"]);
    assert!(session.try_kubectl(&["get", "cm", "child"], "").is_err_and(|words| words.contains("not found")));
    session.lilt.quit();
}
