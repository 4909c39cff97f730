//! `get`, `describe` and `api-resources`.

use lilt_e2e::lilt::Start;
use lilt_testbed_env::Project;

use crate::session::Session;

/// Removes the ages, which vary.
fn columns(text: &str, count: usize) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split_whitespace().take(count).map(str::to_owned).collect()).collect()
}

#[test]
fn get_lists_objects_by_every_name() {
    let session = Session::start();
    let all = session.prints(&["get", "uiresources"]);
    assert_eq!(
        columns(&all, 3),
        [
            ["NAME", "UPDATE", "RUNTIME"],
            ["(Tiltfile)", "ok", "not_applicable"],
            ["one", "ok", "not_applicable"],
            ["two", "ok", "ok"],
        ]
    );
    for words in [&["uiresource", "one"][..], &["UIResource/one"], &["uiresources.tilt.dev", "one"]] {
        let table = session.prints(&[&["get"], words].concat());
        assert_eq!(columns(&table, 2), [["NAME", "UPDATE"], ["one", "ok"]], "{words:?}");
        assert_eq!(
            session.prints(&[&["alpha", "get"], words, &["-o", "name"]].concat()),
            "uiresource.tilt.dev/one\n"
        );
    }
    let kinds = session.prints(&["get", "uiresource/one", "cm/one-disable"]);
    assert!(kinds.contains("uiresource.tilt.dev/one ") && kinds.contains("\n\nNAME"), "{kinds}");
    let several = session.prints(&["get", "cm,uisession", "-o", "name"]);
    assert_eq!(
        several,
        "configmap.tilt.dev/one-disable\nconfigmap.tilt.dev/tilt-trigger-queue\n\
         configmap.tilt.dev/two-disable\nuisession.tilt.dev/Tiltfile\n"
    );
    let everything = session.prints(&["get", "all", "-o", "name"]);
    assert!(
        everything.contains("tiltfile.tilt.dev/(Tiltfile)\n")
            && everything.contains("cmd.tilt.dev/two-serve\n")
    );
    session.lilt.quit();
}

#[test]
fn get_selects_sorts_and_formats() {
    let session = Session::start();
    let names =
        |arguments: &[&str]| session.prints(&[&["get", "uiresource", "-o", "name"], arguments].concat());
    assert_eq!(names(&["-l", "front"]), "uiresource.tilt.dev/one\n");
    assert_eq!(names(&["-l", "!front,!back"]), "uiresource.tilt.dev/(Tiltfile)\n");
    assert_eq!(
        names(&["--field-selector", "metadata.name!=one,status.runtimeStatus=ok"]),
        "uiresource.tilt.dev/two\n"
    );
    assert_eq!(names(&["--sort-by", ".status.order", "--chunk-size=1"]).lines().count(), 3);
    let table = session.prints(&[
        "get",
        "uiresource",
        "--sort-by=.status.runtimeStatus",
        "--no-headers",
        "-l",
        "front",
    ]);
    assert_eq!(columns(&table, 1), [["one"]]);
    let sorted = session.prints(&[
        "get",
        "cm",
        "two-disable",
        "one-disable",
        "--sort-by={.metadata.name}",
        "--no-headers",
    ]);
    assert_eq!(columns(&sorted, 1), [["one-disable"], ["two-disable"]]);
    let labels = session.prints(&["get", "uiresource", "one", "--show-labels", "-L", "front", "--show-kind"]);
    assert!(labels.starts_with("NAME ") && labels.contains("FRONT") && labels.contains("LABELS"), "{labels}");
    assert!(labels.contains("uiresource.tilt.dev/one") && labels.contains("front=front"), "{labels}");
    assert_eq!(
        session.fails(&["get", "cm", "--sort-by=.nothing"]),
        "error: couldn't find any field with path \".nothing\" in the list of objects\n"
    );
    session.lilt.quit();
}

#[test]
fn get_supports_every_output_format() {
    let session = Session::start();
    session.project.write("template", "{{.metadata.name}} of {{.kind}}");
    session.project.write("columns", "WHO\n.metadata.name\n");
    session.project.write("path", "{.metadata.name}!");
    let shown = |form: &str| session.prints(&["get", "uiresource", "one", "-o", form]);
    let one = |form: &str| shown(form).trim_end().to_owned();
    assert_eq!(one("jsonpath={.status.updateStatus}"), "ok");
    assert_eq!(one("jsonpath-file=path"), "one!");
    assert_eq!(
        one("jsonpath-as-json={.metadata.labels}"),
        "[\n    {\n        \"front\": \"front\"\n    }\n]"
    );
    assert_eq!(one("go-template={{len .metadata.labels}}"), "1");
    assert_eq!(one("go-template-file=template"), "one of UIResource");
    assert_eq!(one("templatefile=template"), "one of UIResource");
    assert_eq!(one("custom-columns=A:.metadata.name,B:{.nothing}"), "A     B\none   <none>");
    assert_eq!(one("custom-columns-file=columns"), "WHO\none");
    assert!(one("yaml").starts_with("apiVersion: tilt.dev/v1alpha1\nkind: UIResource\nmetadata:\n"));
    assert!(one("wide").starts_with("NAME "));
    assert_eq!(session.output_of(&["get", "uiresource", "one", "--template={{.kind}}"]), "UIResource");
    let strict =
        ["get", "uiresource", "one", "-o", "jsonpath={.nothing}", "--allow-missing-template-keys=false"];
    assert_eq!(
        session.fails(&strict),
        "error: error executing jsonpath \"{.nothing}\": nothing is not found\n"
    );
    assert!(session.fails(&["get", "uiresource", "-o", "xml"]).contains("unable to match a printer"));
    let list = session.object("cm");
    assert_eq!(list["kind"], "List");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(3));
    assert!(session.prints(&["get", "--raw", "/apis/tilt.dev"]).contains("\"APIGroup\""));
    assert_eq!(session.object("uiresource/one")["metadata"].get("managedFields"), None);
    let status = session.output_of(&[
        "get",
        "uiresource/one",
        "--subresource=status",
        "-o",
        "jsonpath={.status.updateStatus}",
    ]);
    assert_eq!(status, "ok");
    session.lilt.quit();
}

#[test]
fn get_errors_match_kubectl() {
    let session = Session::start();
    let missing = "Error from server (NotFound): uiresources.tilt.dev \"none\" not found\n";
    assert_eq!(session.fails(&["get", "uiresource", "none"]), missing);
    assert_eq!(session.fails(&["get", "uiresource", "none", "-o", "json"]), missing);
    assert_eq!(session.prints(&["get", "uiresource", "none", "--ignore-not-found"]), "");
    let ended = session.command(&["get", "uiresource", "none", "one"]).run().expect_clean_exit(1);
    assert_eq!(ended.stderr(), missing);
    assert_eq!(columns(&ended.stdout(), 1), [["NAME"], ["one"]]);
    let ended = session.command(&["get", "liveupdate"]).run().expect_clean_exit(0);
    assert_eq!((ended.stdout().as_str(), ended.stderr().as_str()), ("", "No resources found\n"));
    let message = session.complaints(&[
        &["get"],
        &["get", "pods"],
        &["get", "cmd/a/b"],
        &["get", "cmd", "cmd/a"],
        &["get", "cmd", "a", "-l", "x=y"],
        &["get", "cmd", "-l", "x in"],
        &["get", "cmd", "-f", "map.yaml"],
        &["get", "-f", "absent.yaml"],
        &["get", "cmd", "-w", "--sort-by=.a"],
        &["get", "cmd,fw", "-w"],
        &["get", "cmd", "--subresource=status"],
        &["get", "cmd/a", "--subresource=scale"],
        &["get", "--raw", "apis"],
        &["get", "cmd", "--show-labels", "-o", "json"],
        &["describe"],
        &["describe", "cmd", "none"],
    ]);
    insta::assert_snapshot!(message);
    session.lilt.quit();
}

#[test]
fn describe_prints_details() {
    let session = Session::start();
    let message = session.prints(&["describe", "uiresource", "two"]);
    assert!(message.starts_with("Name:         two\nNamespace:\nLabels:       back=back\n"), "{message}");
    assert!(message.contains("\n  Update Status:") && message.contains("\nStatus:\n"), "{message}");
    let several = session.prints(&["describe", "cm", "o"]);
    assert!(several.starts_with("Name:         one-disable\n"), "{several}");
    let date = ["get", "uisession", "Tiltfile", "-o", "jsonpath={.status.runningTiltBuild.date}"];
    let date = session.prints(&date);
    let form: String = date.trim().chars().map(|it| if it.is_ascii_digit() { 'd' } else { it }).collect();
    assert!(date.starts_with("20") && form == "dddd-dd-dd", "{date:?}");
    let all = session.prints(&["describe", "cm"]);
    assert!(all.contains("\n\n\nName:         two-disable\n"), "{all}");
    session.lilt.quit();
}

#[test]
fn api_resources_lists_kinds() {
    let session = Session::start();
    let kinds = session.prints(&["api-resources"]);
    assert!(kinds.starts_with("NAME "), "{kinds}");
    assert_eq!(kinds.lines().count(), 23);
    assert_eq!(kinds, session.prints(&["alpha", "api-resources", "--cached"]));
    assert_eq!(session.prints(&["api-resources", "--namespaced", "--no-headers"]), "");
    assert_eq!(session.prints(&["api-resources", "--namespaced=false", "--no-headers"]).lines().count(), 22);
    assert_eq!(session.prints(&["api-resources", "--api-group=apps", "--no-headers"]), "");
    let verbs = session.prints(&["api-resources", "--verbs=get,dance", "--no-headers"]);
    assert_eq!(verbs, "");
    let names = session.prints(&["api-resources", "-o", "name", "--sort-by=kind"]);
    assert!(names.starts_with("clusters.tilt.dev\n"), "{names}");
    assert!(session.prints(&["api-resources", "-o", "wide"]).contains("create,delete,deletecollection,get"));
    assert_eq!(
        session.fails(&["api-resources", "--sort-by=age"]),
        "error: --sort-by accepts only name or kind\n"
    );
    session.lilt.quit();
}

#[test]
fn sessions_are_found_like_tilt_clients_do() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')")]);
    let none = Start::new(&project, &["get", "uiresource"]).run().expect_clean_exit(1);
    assert!(none.stderr().starts_with("Error: No tilt apiserver found: tilt-default\n"), "{}", none.stderr());
    let session = Session::start();
    let port = session.lilt.port().to_string();
    let elsewhere = Project::new(&[]);
    let from = |arguments: &[&str]| {
        Start::new(&elsewhere, arguments).with_home_of(&session.lilt).in_folder(elsewhere.path())
    };
    let names = ["get", "uiresource", "one", "-o", "name"];
    let found = "uiresource.tilt.dev/one\n";
    assert_eq!(from(&[&names[..], &["--port", &port]].concat()).run().expect_clean_exit(0).stdout(), found);
    assert_eq!(from(&names).variable("TILT_PORT", &port).run().expect_clean_exit(0).stdout(), found);
    // The variable with the file has precedence.
    let config = session.lilt.home().join(".tilt-dev/config");
    let copy = elsewhere.file("copy");
    std::fs::copy(config, &copy).expect("it can be copied");
    let named = Start::new(&elsewhere, &names).variable("TILT_CONFIG", &copy).variable("TILT_PORT", &port);
    assert_eq!(named.run().expect_clean_exit(0).stdout(), found);
    let set_mode = |mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&copy, permissions).expect("it is ours");
    };
    set_mode(0o644);
    let open = Start::new(&elsewhere, &names).variable("TILT_CONFIG", &copy).variable("TILT_PORT", &port);
    let open = open.run().expect_clean_exit(1).stderr();
    assert!(open.contains("is open to other users (mode 644)"), "others may know the token: {open}");
    set_mode(0o600);
    let absent = from(&names).variable("TILT_PORT", &port).variable("TILT_CONFIG", elsewhere.file("no"));
    assert!(
        absent.run().expect_clean_exit(1).stderr().contains(&format!("No tilt apiserver found: tilt-{port}"))
    );
    let far = from(&[&names[..], &["--host=devbox", "--port", &port]].concat()).run().expect_clean_exit(1);
    assert!(far.stderr().contains("cannot be reached from here"), "{}", far.stderr());
    session.lilt.quit();
    let gone = Start::new(&elsewhere, &names).variable("TILT_CONFIG", &copy).variable("TILT_PORT", &port);
    assert!(
        gone.run()
            .expect_clean_exit(1)
            .stderr()
            .contains("was refused - did you specify the right host or port?")
    );
}
