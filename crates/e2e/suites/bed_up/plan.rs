//! `lilt plan` and `lilt up --cleanup`.

use lilt_e2e::lilt::{ExitedLilt, Start};
use lilt_e2e::site::Site;
use lilt_testbed_env::{Project, eventually};
use serde_json::Value;

fn plan(site: &Site, arguments: &[&str]) -> ExitedLilt {
    let arguments: Vec<&str> = ["plan"].iter().chain(arguments).copied().collect();
    Start::new(&site.project, &arguments).in_namespace(&site.namespace).run()
}

#[test]
fn plan_lists_builds_and_changes_without_applying() {
    let site = Site::new("plan");
    let other = site.idle("other").replace("spec:\n  selector", "spec:\n  replicas: 0\n  selector");
    site.project.write("other.yaml", &other);
    site.project.write(
        "Tiltfile",
        &format!("{}k8s_yaml('other.yaml')\nlocal_resource('job', 'touch never')\n", site.tiltfile()),
    );
    let first = plan(&site, &[]).expect_clean_exit(2);
    for line in [&format!("build   {}", site.image()), "create  web:deployment", "run     touch never"] {
        assert!(first.stdout().contains(line), "{line:?} in {}", first.stdout());
    }
    assert!(!site.exists("deployment/web") && !site.project.exists("never"));

    site.namespace.kubectl(&["apply", "-f", &site.project.file("other.yaml").display().to_string()]);
    let changed = other.replace("replicas: 0", "replicas: 1").replace("sleep 987", "sleep 654");
    site.project.write("other.yaml", &changed);
    let second = plan(&site, &["other"]).expect_clean_exit(2).stdout();
    assert!(
        second.contains("change  other:deployment") && second.contains("spec.replicas: 0 → 1"),
        "{second}"
    );
    assert!(second.contains("sleep 654"), "{second}");

    site.project.write("other.yaml", &changed.replace("replicas: 1", "replicas: many"));
    let refused = plan(&site, &["-o", "json", "other"]).expect_clean_exit(1);
    let json: Value = serde_json::from_str(&refused.stdout()).expect("one document");
    let object = &json["resources"][0]["objects"][0];
    assert_eq!((&object["action"], &object["name"]), (&"refused".into(), &"other".into()), "{json}");
    assert!(object["reason"].as_str().is_some_and(|reason| reason.contains("replicas")), "{json}");

    let down = plan(&site, &["--down", "other"]).expect_clean_exit(2).stdout();
    assert!(down.contains("delete  other:deployment"), "{down}");
    assert!(site.exists("deployment/other"));
}

#[test]
fn plan_exits_0_without_changes() {
    let site = Site::new("plan-same");
    site.project.write("web.yaml", &site.idle("web"));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let same = plan(&site, &[]).expect_clean_exit(0).stdout();
    assert!(same.contains("leave   web:deployment") && same.contains("1 as they should be"), "{same}");

    // What it would delete were the Tiltfile another.
    let more = "if os.getenv('MORE', '1') == '1':\n  k8s_yaml('other.yaml')\n";
    site.project.write("other.yaml", &site.idle("other"));
    site.project.write("Tiltfile", &format!("k8s_yaml('web.yaml')\n{more}"));
    lilt.wait_until_ready("other");
    let second_command =
        || Start::new(&site.project, &["plan"]).in_namespace(&site.namespace).with_home_of(&lilt);
    let same = second_command().run().expect_clean_exit(0).stdout();
    assert!(!same.contains("delete"), "{same}");
    let less = second_command().variable("MORE", "0").run().expect_clean_exit(2).stdout();
    assert!(less.contains("other (the running session deletes it)\n  delete  other:deployment"), "{less}");
    assert!(less.contains("1 to delete") && !less.contains("delete  web"), "{less}");

    // Objects filled in by others are kept.
    let once = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, annotations: {{lilt.dev/create-once: 'true'}}}}\ndata: {{a: ''}}\n"
        )
    };
    site.project
        .write("other.yaml", &format!("{}{}{}", site.idle("other"), once("filled"), once("as-it-was")));
    eventually("they are made", || {
        (site.exists("configmap/filled") && site.exists("configmap/as-it-was")).then_some(())
    });
    lilt.wait_until_ready("other");
    site.namespace.kubectl(&["patch", "configmap/filled", "-p", "{\"data\":{\"a\":\"mine\"}}"]);
    let less = second_command().variable("MORE", "0").run().expect_clean_exit(2).stdout();
    assert!(less.contains("delete  as-it-was:configmap") && !less.contains("filled"), "{less}");
    lilt.quit();
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    plan(&site, &["--down"]).expect_clean_exit(2);
    site.down().run().expect_clean_exit(0);
    plan(&site, &["--down"]).expect_clean_exit(0);
}

#[test]
fn plan_skips_unchanged_image() {
    let site = Site::new("plan-built");
    let cache = Project::new(&[]);
    let with_cache = |start: Start| start.variable("XDG_CACHE_HOME", cache.path());
    let plan = || with_cache(Start::new(&site.project, &["plan"]).in_namespace(&site.namespace)).run();
    // Something builds on it, too.
    let top = format!("{}-top", site.image());
    site.project.write("top/Dockerfile", &format!("FROM {}\nRUN echo top >/top\n", site.image()));
    site.project.write("top.yaml", &site.yaml("top", &top));
    let more = format!("docker_build('{top}', 'top')\nk8s_yaml('top.yaml')\n");
    site.project.write("Tiltfile", &format!("{}{more}", site.tiltfile()));
    with_cache(site.ci()).run().expect_clean_exit(0);

    let same = plan().expect_clean_exit(0).stdout();
    assert!(!same.contains("  build ") && same.contains("2 as they should be"), "{same}");

    site.project.write("app/words.txt", "others\n");
    let other = plan().expect_clean_exit(2).stdout();
    for line in [&format!("  build   {}\n", site.image()), &format!("  build   {top}\n")] {
        assert!(other.contains(line), "{line:?} in {other}");
    }
    assert!(other.contains("2 to change") && other.contains("→ (what is built)"), "{other}");
}

#[test]
fn up_cleanup_deletes_on_exit() {
    let site = Site::new("cleanup");
    site.project.write("web.yaml", &site.idle("web"));
    site.project.write("Tiltfile", "k8s_yaml('web.yaml')\n");
    let lilt = site.up().argument("--cleanup").start();
    lilt.wait_until_ready("web");
    lilt.signal(nix::sys::signal::Signal::SIGTERM);
    let ended = lilt.wait_for_exit();
    assert_eq!(ended.code(), Some(0), "{}", ended.output());
    assert!(ended.output().contains("→ Deployment/web\n"), "{}", ended.output());
    assert!(!site.exists("deployment/web"));

    // A second Ctrl-C leaves the rest.
    let stuck = site
        .idle("web")
        .replace("metadata: {name: web}", "metadata: {name: web, finalizers: [example.com/never]}");
    site.project.write("web.yaml", &stuck);
    let lilt = site.up().argument("--cleanup").start();
    lilt.wait_until_ready("web");
    lilt.ctrl_c();
    eventually("it is being deleted", || {
        (!site.read("deployment/web", ".metadata.deletionTimestamp").is_empty()).then_some(())
    });
    lilt.ctrl_c();
    let ended = lilt.wait_for_exit();
    assert_eq!(ended.code(), Some(1), "{}", ended.output());
    assert!(ended.output().contains("interrupted; some objects may be left"), "{}", ended.output());
    site.namespace.kubectl(&[
        "patch",
        "deployment/web",
        "--type=merge",
        "-p",
        "{\"metadata\":{\"finalizers\":null}}",
    ]);
    eventually("it is gone", || (!site.exists("deployment/web")).then_some(()));
}
