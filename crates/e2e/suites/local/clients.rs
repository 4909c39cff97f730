//! Commands that use a running session or inspect this machine.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::page;
use lilt_testbed_env::{Project, eventually};
use serde_json::Value;

const TILTFILE: &str = "\
config.define_string_list('names', args=True)
names = config.parse().get('names', [])
print('names', names)
local_resource('db', 'echo ran db', serve_cmd='echo serving; exec sleep 987', labels=['back'])
local_resource('web', 'echo ran web', resource_deps=['db'], labels=['front'])
local_resource('docs', 'echo ran docs', resource_deps=['web', 'db'], labels=['front'])
local_resource('broken', 'echo warned >&2; exit 3')
";

struct Live {
    project: Project,
    lilt: Lilt,
}

impl Live {
    fn start() -> Live {
        let project = Project::new(&[("Tiltfile", TILTFILE)]);
        let lilt = Start::up(&project).start();
        lilt.wait_until_ready("docs");
        lilt.wait_until("broken", "failed", |it| it["status"]["updateStatus"] == "error");
        Live { project, lilt }
    }

    /// Another command for the same session.
    fn command(&self, arguments: &[&str]) -> Start {
        Start::new(&self.project, arguments).with_home_of(&self.lilt)
    }

    #[track_caller]
    fn prints(&self, arguments: &[&str]) -> String {
        self.command(arguments).run().expect_clean_exit(0).stdout()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.prints(arguments)).expect("it prints JSON")
    }
}

fn is_disabled(resource: &Value) -> bool {
    resource["status"]["disableStatus"]["state"] == "Disabled"
}

#[test]
fn disable_and_enable_switch_resources() {
    let live = Live::start();
    assert_eq!(live.prints(&["disable", "db"]), "");
    live.lilt.wait_until("db", "is disabled", is_disabled);
    eventually("the server has ended", || live.lilt.processes().is_empty().then_some(()));
    let complaint = live.command(&["trigger", "db"]).run().expect_clean_exit(1).stderr();
    assert_eq!(complaint, "Error: resource \"db\" is currently disabled\n");

    live.prints(&["enable", "--only", "db", "-l", "front"]);
    live.lilt.wait_until("db", "is enabled", |it| !is_disabled(it));
    live.lilt.wait_until("broken", "is disabled", is_disabled);
    live.lilt.wait_until_ready("db");

    live.prints(&["disable", "--labels=front,back"]);
    for name in ["db", "web", "docs"] {
        live.lilt.wait_until(name, "is disabled", is_disabled);
    }
    live.prints(&["enable", "--all"]);
    for name in ["db", "web", "docs", "broken"] {
        live.lilt.wait_until(name, "is enabled", |it| !is_disabled(it));
    }
    live.lilt.quit();
}

#[test]
fn args_shows_and_changes_tiltfile_args() {
    let live = Live::start();
    assert_eq!(live.prints(&["args"]), "\n");
    let output_end = live.lilt.output_end();
    let ended = live.command(&["args", "one", "--", "two words"]).run().expect_clean_exit(0);
    let host = format!("localhost:{}", live.lilt.port());
    assert_eq!(
        ended.stderr(),
        format!("Changed config args for Tilt running at {host} to [one two words]\n")
    );
    live.lilt.wait_for_line_after(output_end, "names [\"one\", \"two words\"]");
    eventually("the new ones are shown", || (live.prints(&["args"]) == "one 'two words'\n").then_some(()));
    assert_eq!(live.json(&["args", "--json"]), serde_json::json!(["one", "two words"]));
    let ended = live.command(&["args", "one", "two words"]).run().expect_clean_exit(0);
    assert_eq!(ended.stderr(), "Tilt is already running with those args -- no action taken\n");
    let complaint = live.command(&["args", "--clear", "one"]).run().expect_clean_exit(1).stderr();
    assert_eq!(complaint, "Error: --clear cannot be specified with other values\n");
    let output_end = live.lilt.output_end();
    live.prints(&["args", "--clear"]);
    live.lilt.wait_for_line_after(output_end, "names []");
    live.lilt.quit();
}

#[test]
fn tree_view_shows_dependencies_and_holds() {
    let live = Live::start();
    assert_eq!(
        live.prints(&["alpha", "tree-view"]),
        "Tiltfile\n\
         ├── broken (build error)\n\
         └── db (ok)\n    \
             ├── docs (ok)\n    \
             └── web (ok)\n        \
                 └── docs (ok)\n\
         \n4 resources: 3 ok, 0 pending, 0 building, 1 error\n"
    );
    assert_eq!(
        live.prints(&["alpha", "tree-view", "--dedupe"]),
        "Tiltfile\n\
         ├── broken (build error)\n\
         └── db (ok)\n    \
             ├── docs (ok)\n    \
             └── web (ok)\n        \
                 └── docs (ok) [also depends on: db]\n\
         \n4 resources: 3 ok, 0 pending, 0 building, 1 error\n"
    );
    assert_eq!(
        live.prints(&["alpha", "tree-view", "--blockers"]),
        "Blocked resources (root blockers and their dependents):\n\
         └── broken (build error)\n\
         \n1 resources: 0 ok, 0 pending, 0 building, 1 error\n"
    );
    live.lilt.quit();
}

/// Logs are in it.
fn mode(file: &Path) -> u32 {
    std::fs::metadata(file).expect("it was written").permissions().mode() & 0o777
}

#[test]
fn snapshot_can_be_viewed_without_its_session() {
    let live = Live::start();
    let file = live.project.file("snapshot.json");
    let path = file.display().to_string();
    assert_eq!(live.prints(&["snapshot", "create", &path]), "");
    let printed: Value = live.json(&["snapshot", "create"]);
    assert_eq!(mode(&file), 0o600);
    let text = std::fs::read_to_string(&file).expect("it was written");
    let written: Value = serde_json::from_str(&text).expect("it is JSON");
    for snapshot in [&printed, &written] {
        assert_eq!(snapshot["view"]["uiResources"].as_array().map(Vec::len), Some(5));
        assert!(snapshot["createdAt"].is_string());
    }
    live.lilt.quit();

    let viewer = Start::new(&live.project, &["snapshot", "view", "--no-open", &path]).start();
    let line = viewer.wait_for_line("Serving snapshot at ");
    let port =
        line.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let view = page::get(port, "/api/view").expect("it answers");
    let view: Value = serde_json::from_str(&view).expect("it is JSON");
    assert_eq!(view["uiResources"], written["view"]["uiResources"]);
    assert_eq!(view["logList"]["segments"], written["view"]["logList"]["segments"], "with their times");
    // Nothing can be asked of it.
    let (status, _) = page::post(port, "/api/trigger", &serde_json::json!({"manifest_names": ["web"]}));
    assert_eq!(status, 503);
    viewer.quit();
}

#[test]
fn ci_writes_snapshot_on_success_and_failure() {
    for (command, code) in [("true", 0), ("exit 3", 1)] {
        let project =
            Project::new(&[("Tiltfile", &format!("local_resource('one', 'echo words; {command}')"))]);
        let file = project.file("out.json");
        let flag = format!("--output-snapshot-on-exit={}", file.display());
        Start::ci(&project).argument(&flag).run().expect_clean_exit(code);
        assert_eq!(mode(&file), 0o600);
        let text = std::fs::read_to_string(&file).expect("it was written");
        let snapshot: Value = serde_json::from_str(&text).expect("it is JSON");
        let segments = snapshot["view"]["logList"]["segments"].as_array().expect("a list");
        assert!(segments.iter().any(|segment| segment["text"] == "words\n"), "{text}");
    }
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')")]);
    let ended = Start::ci(&project)
        .argument("--output-snapshot-on-exit=/no/such/folder/x")
        .run()
        .expect_clean_exit(0);
    assert!(ended.stderr().contains("/no/such/folder/x"), "{}", ended.output());
}

#[test]
fn invalid_snapshot_is_refused() {
    let project = Project::new(&[("other.json", "{\"a\": 1}")]);
    let complaint =
        Start::new(&project, &["snapshot", "view", "other.json"]).run().expect_clean_exit(1).stderr();
    assert!(complaint.starts_with("Error: other.json is no snapshot: "), "{complaint}");
    let complaint =
        Start::new(&project, &["snapshot", "view", "absent.json"]).run().expect_clean_exit(1).stderr();
    assert!(complaint.starts_with("Error: cannot read the snapshot absent.json"), "{complaint}");
}

#[test]
fn dump_engine_and_logs_tolerate_closed_stdout() {
    let live = Live::start();
    let engine = live.json(&["dump", "engine"]);
    assert!(engine["resources"].to_string().contains("echo ran web"), "{engine}");
    let store = live.json(&["dump", "logstore"]);
    let segments = store["segments"].as_array().expect("a list");
    assert!(segments.iter().any(|segment| segment["text"] == "ran web\n" && segment["level"] == "INFO"));
    let script = format!("{} dump logstore | head -c 1", env!("CARGO_BIN_EXE_lilt"));
    let shell =
        Start::program("sh".as_ref(), &live.project, &["-c", &script]).with_home_of(&live.lilt).start();
    let ended = shell.wait_for_exit().expect_clean_exit(0);
    assert_eq!(ended.output(), "{\n");
    live.lilt.quit();
}

#[test]
fn doctor_reports_available_and_missing_programs() {
    let live = Live::start();
    let text = live.prints(&["doctor"]);
    for line in [
        "Tilt: v0.37",
        "System: linux-",
        "\nDocker\n- Host: ",
        "\nKubernetes\n- Context: Error: no kubeconfig found",
        "\n- git: ",
        "\n- Running: lilt up of ",
        "\n- User Mode: default\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    let json = live.json(&["doctor", "--json"]);
    assert_eq!(json["lilt"], env!("CARGO_PKG_VERSION"));
    assert!(json["Kubernetes"]["Context"]["error"]["message"].is_string(), "{json}");
    live.lilt.quit();
}

#[test]
fn analytics_choice_is_saved() {
    let project = Project::new(&[]);
    let folder = project.file("kept");
    let run = |arguments: &[&str]| {
        Start::new(&project, arguments).variable("TILT_DEV_DIR", &folder).run().expect_clean_exit(0)
    };
    assert!(run(&["analytics"]).stdout().starts_with("analytics status : default\n"));
    for (choice, status) in [("out", "opt-out"), ("in", "opt-in"), ("opt-out", "opt-out")] {
        let ended = run(&["analytics", "opt", choice]);
        assert!(ended.stderr().starts_with(&format!("wrote user collection strategy \"{status}\"")));
        assert!(run(&["analytics"]).stdout().starts_with(&format!("analytics status : {status}\n")));
    }
    let file = folder.join("analytics/user/choice.txt");
    let mode = file.metadata().expect("it is kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn completion_scripts_are_accepted_by_shells() {
    let project = Project::new(&[]);
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = Start::new(&project, &["completion", shell]).run().expect_clean_exit(0).stdout();
        assert!(script.contains("tiltfile-result"), "{shell}: {script}");
        let bare = Start::new(&project, &["completion", shell, "--no-descriptions"])
            .run()
            .expect_clean_exit(0)
            .stdout();
        assert!(!bare.contains("Bring everything up"), "{shell}: {bare}");
    }
    let script = Start::new(&project, &["completion", "bash"]).run().expect_clean_exit(0).stdout();
    project.write("completion.bash", &script);
    let test = "source completion.bash; COMP_WORDS=(lilt sna); COMP_CWORD=1; _lilt lilt sna lilt; echo ${COMPREPLY[@]}";
    let ended = Start::program("bash".as_ref(), &project, &["-c", test]).run().expect_clean_exit(0);
    assert_eq!(ended.stdout(), "snapshot\n");
}

#[test]
fn dump_openapi_prints_the_document() {
    let project = Project::new(&[]);
    let text = Start::new(&project, &["dump", "openapi"]).run().expect_clean_exit(0).stdout();
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(document["swagger"], "2.0");
    let kinds = document["definitions"].as_object().expect("definitions").keys();
    assert!(kinds.into_iter().any(|kind| kind.ends_with("UIResource")), "{text}");
}

#[test]
fn verify_install_prints_nothing() {
    let project = Project::new(&[]);
    let ended = Start::new(&project, &["verify-install"]).run().expect_clean_exit(0);
    assert_eq!(ended.output(), "");
    let ended = Start::new(&project, &["verify-install"]).variable("XDG_CACHE_HOME", "/proc/none").run();
    assert_eq!(ended.code(), Some(1), "{}", ended.output());
}
