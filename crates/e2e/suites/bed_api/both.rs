//! lilt's own commands and an unmodified kubectl on one session: the same words, the same exit codes.

use crate::client::Session;

const MAP: &str = "{apiVersion: tilt.dev/v1alpha1, kind: ConfigMap, metadata: {name: values, labels: {app: shop}}, data: {a: '1'}}";

fn kubectl(session: &Session, arguments: &[&str]) -> Result<String, String> {
    session.try_kubectl(arguments, "")
}

fn lilt(session: &Session, arguments: &[&str]) -> Result<String, String> {
    let ended = session.command(arguments).run();
    if ended.code() == Some(0) { Ok(ended.stdout()) } else { Err(ended.stderr()) }
}

#[test]
fn lilt_and_kubectl_print_the_same() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true', labels=['a'])\n")]);
    session.lilt.wait_until_ready("one");
    session.write("map.yaml", MAP);
    let cases: &[&[&str]] = &[
        &["get", "uiresource", "one", "-o", "yaml"],
        &["get", "uiresource,cm", "-o", "json"],
        &["get", "uiresource", "-o", "name"],
        &[
            "get",
            "uiresource",
            "-o",
            "jsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.status.order}{\"\\n\"}{end}",
        ],
        &["get", "uiresource", "one", "-o", "jsonpath={.status}{\"\\n\"}"],
        &[
            "get",
            "uiresource",
            "-o",
            "go-template={{range .items}}{{.metadata.name}} {{.nope}}{{\"\\n\"}}{{end}}",
        ],
        &["get", "uiresource", "-o", "custom-columns=N:.metadata.name,L:.metadata.labels,X:.x"],
        &["get", "uiresource", "none"],
        &["get", "pods"],
        &["get", "cmd/a/b"],
        &["wait", "--for=condition=Ready", "uiresource/one"],
        &["wait", "--for=condition=Ready=false", "uiresource/one", "--timeout=100ms"],
        &["explain", "cmd"],
        &["explain", "cmd.spec.restartOn"],
        &["explain", "uibutton.spec.inputs"],
        &["explain", "kubernetesapply.spec"],
        &["explain", "uiresource.status.triggerMode"],
        &["explain", "tiltfile.metadata.labels"],
        &[
            "get",
            "uiresource",
            "-o",
            "go-template={{define \"one\"}}<{{.metadata.name}}>{{end}}{{range .items}}{{template \"one\" .}}{{end}}{{\"\\n\"}}",
        ],
        &["explain", "filewatch", "--recursive"],
        &["api-resources"],
        &["delete", "cm"],
        &["delete", "uiresource", "one"],
        &["patch", "cm", "one-disable"],
    ];
    for arguments in cases {
        assert_eq!(lilt(&session, arguments), kubectl(&session, arguments), "{arguments:?}");
    }
    session.lilt.quit();
}

#[test]
fn apply_of_lilt_and_kubectl_see_no_change() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    session.write("map.yaml", MAP);
    let path = session.config().with_file_name("map.yaml");
    let path = path.to_str().expect("text");
    let apply = ["apply", "-f", path];
    let unchanged = Ok("configmap.tilt.dev/values unchanged\n".to_owned());
    assert_eq!(kubectl(&session, &apply), Ok("configmap.tilt.dev/values created\n".to_owned()));
    assert_eq!(lilt(&session, &apply), unchanged);
    lilt(&session, &["delete", "cm/values"]).expect("deleted");
    assert_eq!(lilt(&session, &apply), Ok("configmap.tilt.dev/values created\n".to_owned()));
    assert_eq!(kubectl(&session, &apply), unchanged);
    session.lilt.quit();
}
