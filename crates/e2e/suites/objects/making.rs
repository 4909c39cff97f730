//! `create` and `patch`.

use serde_json::json;

use crate::session::{MAP, Session};

#[test]
fn create_makes_objects_from_arguments() {
    let session = Session::start();
    let folder = session.project.path().canonicalize().expect("it is there");
    let folder = folder.to_str().expect("text");
    assert_eq!(
        session.prints(&["create", "filewatch", "src", "a", "./b/../c", "--ignore=*.o,*.a"]),
        "filewatch.tilt.dev/src created\n"
    );
    // Flags may precede their command.
    let port = session.lilt.port().to_string();
    assert_eq!(
        session.prints(&["--port", &port, "create", "-o", "name", "filewatch", "early", "a"]),
        "filewatch.tilt.dev/early\n"
    );
    let watch = session.object("fw/src");
    assert_eq!(watch["spec"]["watchedPaths"], json!([format!("{folder}/a"), format!("{folder}/c")]));
    assert_eq!(watch["spec"]["ignores"], json!([{"basePath": folder, "patterns": ["*.o", "*.a"]}]));

    let command = [
        "create",
        "cmd",
        "-e",
        "A=1",
        "--env=B=2",
        "--filewatch=src",
        "-o",
        "name",
        "hello",
        "sh",
        "-c",
        "echo -o $A",
    ];
    assert_eq!(session.prints(&command), "cmd.tilt.dev/hello\n");
    let made = session.object("cmd/hello");
    assert_eq!(made["spec"]["args"], json!(["sh", "-c", "echo -o $A"]));
    assert_eq!(made["spec"]["env"], json!(["A=1", "B=2"]));
    assert_eq!(made["spec"]["restartOn"], json!({"fileWatches": ["src"]}));
    assert_eq!(made["spec"]["dir"], folder);
    session.prints(&["wait", "--for=jsonpath={.status.terminated.exitCode}=0", "cmd/hello"]);

    session.prints(&["create", "repo", "mine", "file:///nowhere", "--ref=main"]);
    assert_eq!(session.object("repo/mine")["spec"], json!({"url": "file:///nowhere", "ref": "main"}));
    session.prints(&["create", "ext", "tool", "--repo=mine", "--path=deep/tool", "--", "--flag", "x"]);
    let spec = json!({"repoName": "mine", "repoPath": "deep/tool", "args": ["--flag", "x"]});
    assert_eq!(session.object("ext/tool")["spec"], spec);
    assert_eq!(
        session.fails(&["create", "fw", "src", "a"]),
        "Error from server (AlreadyExists): filewatches.tilt.dev \"src\" already exists\n"
    );
    let few = session.command(&["create", "cmd", "only-name"]).run().expect_clean_exit(1);
    assert!(few.stderr().contains("COMMAND"), "{}", few.stderr());
    session.lilt.quit();
}

#[test]
fn create_makes_objects_from_files() {
    let session = Session::start();
    assert_eq!(
        session.prints(&["create", "-f", "map.yaml", "--dry-run=client"]),
        "configmap.tilt.dev/values created (dry run)\n"
    );
    assert_eq!(
        session.output_of(&["create", "-f", "map.yaml", "--dry-run=server", "-o", "jsonpath={.data}"]),
        "{\"a\":\"1\",\"b\":\"2\"}"
    );
    let two = format!("{MAP}---\n{}", MAP.replace("name: values", "name: more").replace("shop", "other"));
    let (code, out, _) = session.given(&two, &["create", "-f", "-", "-l", "app=shop", "--save-config"]);
    assert_eq!((code, out.as_str()), (0, "configmap.tilt.dev/values created\n"));
    let annotations = session.object("cm/values")["metadata"]["annotations"].clone();
    assert!(annotations["kubectl.kubernetes.io/last-applied-configuration"].is_string(), "{annotations}");
    let (code, out, complaint) = session.given(&two, &["create", "-f", "-"]);
    assert_eq!((code, out.as_str()), (1, "configmap.tilt.dev/more created\n"));
    assert_eq!(
        complaint,
        "Error from server (AlreadyExists): error when creating \"STDIN\": configmaps.tilt.dev \"values\" already exists\n"
    );
    let wrong = MAP.replace("\ndata:", "\ndate:").replace("values", "wrong");
    let (code, _, complaint) = session.given(&wrong, &["create", "-f", "-"]);
    assert_eq!(code, 1);
    assert!(
        complaint.contains(
            "(BadRequest): error when creating \"STDIN\": strict decoding error: unknown field \"date\""
        ),
        "{complaint}"
    );
    let (code, _, complaint) = session.given(&wrong, &["create", "-f", "-", "--validate=warn"]);
    assert_eq!((code, complaint.contains("Warning: unknown field")), (0, true), "{complaint}");
    let (_, _, complaint) = session.given(
        "{apiVersion: tilt.dev/v1alpha1, kind: UIButton, metadata: {name: b}}",
        &["create", "-f", "-"],
    );
    assert!(complaint.starts_with("The UIButton \"b\" is invalid: "), "{complaint}");
    assert_eq!(session.fails(&["create"]), "error: must specify one of -f and -k\n");
    assert!(
        session
            .fails(&["create", "-f", "map.yaml", "--windows-line-endings"])
            .contains("only relevant with --edit")
    );
    session.lilt.quit();
}

#[test]
fn patch_supports_three_types() {
    let session = Session::start();
    session.prints(&["create", "-f", "map.yaml"]);
    let patch = |arguments: &[&str]| session.prints(&[&["patch", "cm", "values"], arguments].concat());
    assert_eq!(patch(&["-p", "{\"data\": {\"a\": null}}"]), "configmap.tilt.dev/values patched\n");
    assert_eq!(
        patch(&["-p", "{\"data\": {\"a\": null}}"]),
        "configmap.tilt.dev/values patched (no change)\n"
    );
    patch(&["--type=merge", "-p", "data: {c: '3'}"]);
    patch(&["--type=json", "-p", "[{\"op\": \"add\", \"path\": \"/data/d\", \"value\": \"4\"}]"]);
    session.project.write("change", "data: {e: '5'}");
    assert_eq!(
        patch(&["--patch-file=change", "--dry-run=server", "-o", "jsonpath={.data}"]).trim_end(),
        "{\"b\":\"2\",\"c\":\"3\",\"d\":\"4\",\"e\":\"5\"}"
    );
    assert_eq!(patch(&["--patch-file=change", "--dry-run"]), "configmap.tilt.dev/values patched (dry run)\n");
    assert_eq!(session.object("cm/values")["data"], json!({"b": "2", "c": "3", "d": "4"}));
    let local = session.output_of(&[
        "patch",
        "--local",
        "-f",
        "map.yaml",
        "-p",
        "data: {a: '9'}",
        "-o",
        "jsonpath={.data.a}",
    ]);
    assert_eq!(local, "9");
    let message = session.complaints(&[
        &["patch", "cm", "values"],
        &["patch", "cm", "values", "-p", "a", "--patch-file=b"],
        &["patch", "cm", "values", "-p", "{}", "--type=other"],
        &["patch", "cm", "none", "-p", "{}"],
        &["patch", "-p", "{}"],
        &["patch", "cm", "values", "-p", "{]"],
        &[
            "patch",
            "cm",
            "values",
            "--type=json",
            "-p",
            "[{\"op\": \"test\", \"path\": \"/data/b\", \"value\": \"x\"}]",
        ],
        &["patch", "--local", "cm", "values", "-p", "{}"],
        &["patch", "cm", "values", "-p", "{}", "--subresource=scale"],
    ]);
    insta::assert_snapshot!(message);
    session.lilt.quit();
}

#[test]
fn patch_disables_resource_and_clicks_button() {
    let session = Session::start();
    session.prints(&["patch", "cm", "two-disable", "-p", "data: {isDisabled: 'true'}"]);
    session.prints(&["wait", "--for=jsonpath={.status.disableStatus.state}=Disabled", "uiresource/two"]);
    let button = "{apiVersion: tilt.dev/v1alpha1, kind: UIButton, metadata: {name: press}, \
                  spec: {text: Press, location: {componentID: one, componentType: Resource}}}";
    assert_eq!(session.given(button, &["apply", "-f", "-"]).0, 0);
    let click = "status: {lastClickedAt: '2026-01-01T00:00:00.000000Z'}";
    session.prints(&["patch", "uibutton", "press", "--subresource=status", "-p", click]);
    assert_eq!(session.object("uibutton/press")["status"]["lastClickedAt"], "2026-01-01T00:00:00.000000Z");
    session.lilt.quit();
}
