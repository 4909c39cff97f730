//! What the commands print and how they exit.

use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use lilt_e2e::lilt::Start;
use lilt_testbed_env::Project;
use serde_json::Value;

const NOTHING: &[(&str, &str)] = &[("Tiltfile", "local_resource('nothing', 'true')")];

#[test]
fn version_prints_own_and_compatible_version() {
    let project = Project::new(&[]);
    let version = Start::new(&project, &["version"]).run().expect_clean_exit(0).stdout();
    let (tilt, own) = version.trim_end().split_once(", lilt v").unwrap_or_else(|| panic!("{version:?}"));
    assert!(tilt.starts_with("v0.37."), "{version:?}");
    assert_eq!(own, env!("CARGO_PKG_VERSION"));

    assert_eq!(Start::new(&project, &["--version"]).run().expect_clean_exit(0).stdout(), version);

    let json = Start::new(&project, &["version", "--json"]).run().expect_clean_exit(0).stdout();
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["lilt"], own);
    assert_eq!(json["tilt"], tilt.trim_start_matches('v'));
}

#[test]
fn link_named_tilt_behaves_as_lilt() {
    let project = Project::new(NOTHING);
    let link = project.file("tilt");
    symlink(env!("CARGO_BIN_EXE_lilt"), &link).expect("a link can be made");
    let version =
        |program| Start::program(program, &project, &["version"]).run().expect_clean_exit(0).stdout();
    assert_eq!(version(&link), version(env!("CARGO_BIN_EXE_lilt").as_ref()));
    Start::program(&link, &project, &["ci", "--port", "random"])
        .run()
        .expect_clean_exit(0)
        .expect_output("Running cmd: true");
}

#[test]
fn unknown_command_error_suggests_known_ones() {
    let project = Project::new(NOTHING);
    for (arguments, word) in [
        (&["up", "--prot", "0"][..], "--port"),
        (&["down", "--no-such-flag"], "--no-such-flag"),
        (&["ci", "--timeout", "soon"], "30m"),
        (&["up", "--port", "many"], "many"),
        (&["upp"], "'up'"),
        (&["dump", "engin"], "'engine'"),
        (&["up", "--stream=maybe"], "true or false"),
        (&["up", "--update-mode=quick"], "image"),
        (&["up", "--web-mode=local"], "vite"),
        (&["analytics", "opt", "maybe"], "maybe"),
    ] {
        // The exit code is 1, as in Tilt.
        let ended = Start::new(&project, arguments).run().expect_clean_exit(1);
        assert!(ended.stderr().contains(word), "{arguments:?}: {}", ended.output());
        assert_eq!(ended.stdout(), "", "{arguments:?}: nothing was run");
    }
}

#[test]
fn help_exits_0() {
    let project = Project::new(&[]);
    let help = Start::new(&project, &["--help"]).run().expect_clean_exit(0).stdout();
    // Like in Tilt, a missing command prints the help.
    assert_eq!(Start::new(&project, &[]).run().expect_clean_exit(0).stdout(), help);
    for group in ["alpha", "completion", "dump", "snapshot"] {
        let ended = Start::new(&project, &[group]).run().expect_clean_exit(0);
        assert!(ended.stdout().contains("Commands:"), "{}", ended.output());
    }
    for command in ["up", "ci", "down", "demo", "version"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
}

/// `lilt version | head -0`
#[test]
fn closed_stdout_does_not_panic() {
    let project = Project::new(NOTHING);
    for arguments in [&["version"][..], &["ci", "--port", "random"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lilt"))
            .args(arguments)
            .current_dir(project.path())
            .env("XDG_CACHE_HOME", project.file("cache"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("lilt starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && complaint.is_empty(), "{}: {complaint}", output.status);
    }
}

#[test]
fn port_in_use_error_has_the_text_scripts_match() {
    let project = Project::new(NOTHING);
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = taken.local_addr().expect("an address").port();
    for command in ["up", "ci", "demo"] {
        let ended = Start::new(&project, &[command, "--port", &port.to_string()]).run().expect_clean_exit(1);
        let complaint = ended.stderr();
        let wanted = format!(
            "Error: Tilt cannot start because you already have another process on port {port}\nIt is "
        );
        assert!(complaint.starts_with(&wanted), "{complaint}");
        assert!(complaint.contains(&format!("process {}", std::process::id())), "{complaint}");
        assert!(complaint.contains("--port"), "{complaint}");
        assert!(!ended.output().contains("Usage"), "{}", ended.output());
        assert_eq!(ended.stdout(), "", "nothing was run");
    }
}

#[test]
fn ci_exits_0_when_everything_is_ready() {
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('build', 'echo built', labels=['site'])\n\
         local_resource('server', serve_cmd='echo serving; exec sleep 987', resource_deps=['build'])\n\
         local_resource('by-hand', 'exit 9', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)\n",
    )]);
    let ended = Start::ci(&project).run().expect_clean_exit(0);
    let printed = ended.output();
    assert!(printed.contains("        build │ built\n"), "{printed}");
    assert!(printed.ends_with("SUCCESS. All workloads are healthy.\n"), "{printed}");
}

#[test]
fn ci_exits_1_with_the_cause_when_a_command_fails() {
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('fine', 'true')\nlocal_resource('bad', 'echo about to fail; exit 3')\n",
    )]);
    let ended = Start::ci(&project).run().expect_clean_exit(1);
    let failure = "Command \"echo about to fail; exit 3\" failed: exit status 3";
    assert_eq!(
        ended.stderr(),
        format!(
            "Error: bad: {failure}\nThe last lines of bad:\n  Initial Build\n  Running cmd: echo about to fail; exit 3\n  \
             about to fail\n  ERROR: Build Failed: {failure}\n"
        )
    );
    ended
        .expect_output("          bad │ about to fail\n")
        .expect_output(&format!("          bad │ ERROR: Build Failed: {failure}\n"));
}

#[test]
fn ci_exits_1_with_the_cause_when_a_server_ends() {
    // Without the other one, everything could be ready just before the server ends.
    let project = Project::new(&[(
        "Tiltfile",
        "local_resource('server', serve_cmd='echo up; exit 5')\nlocal_resource('slow', 'sleep 987')\n",
    )]);
    let ended = Start::ci(&project).run().expect_clean_exit(1);
    let complaint = ended.stderr();
    assert!(complaint.starts_with("Error: server: server exited with code 5\n"), "{complaint}");
    assert!(complaint.contains("  up\n"), "{complaint}");
}

#[test]
fn ci_exits_1_with_the_cause_when_the_tiltfile_is_broken() {
    let project = Project::new(&[("Tiltfile", "print('hello')\nlokal_resource('a', 'true')\n")]);
    let ended = Start::ci(&project).run().expect_clean_exit(1);
    let complaint = ended.stderr();
    assert!(complaint.contains("Tiltfile:2:1: undefined: lokal_resource"), "{complaint}");
    assert!(complaint.contains("2 | lokal_resource('a', 'true')"), "{complaint}");
    assert!(complaint.contains("hint: did you mean local_resource?"), "{complaint}");
}

#[test]
fn ci_exits_1_after_timeout() {
    let project = Project::new(&[("Tiltfile", "local_resource('slow', 'sleep 987')\n")]);
    let ended = Start::ci(&project).argument("--timeout=4s").run().expect_clean_exit(1);
    ended.expect_output("Timeout after 4s: 1 resource was not ready").expect_output("hint: --timeout");
}

#[test]
fn file_flag_selects_tiltfile() {
    let project = Project::new(&[
        ("Tiltfile", "fail('not this one')"),
        ("other/Tiltfile.ci", "local_resource('here', 'pwd')"),
    ]);
    let folder = project.file("other");
    Start::ci(&project)
        .argument("--file=other/Tiltfile.ci")
        .run()
        .expect_clean_exit(0)
        .expect_output(&format!("         here │ {}\n", folder.display()));
}

#[test]
fn down_without_objects_needs_no_cluster() {
    let project = Project::new(NOTHING);
    Start::new(&project, &["down"]).run().expect_clean_exit(0).expect_output("Nothing to delete");
}

/// Copies to the clipboard of a terminal that would get it.
const OSC_52: &str = r"\033]52;c;cGFzcw==\007";

#[test]
fn plan_prints_no_control_sequences() {
    let tiltfile = "local_resource('web', 'echo one\x1b]52;c;cGFzcw==\x07 \x1b[31mred\x1b[0m')\n";
    let project = Project::new(&[("Tiltfile", tiltfile)]);
    let plan = Start::new(&project, &["plan"]).run();
    assert!(plan.stdout().contains("run     echo one \x1b[31mred\x1b[0m"), "{:?}", plan.output());
    assert!(!plan.output().contains("]52") && !plan.output().contains('\x07'), "{:?}", plan.output());
}

#[test]
fn down_prints_no_control_sequences() {
    // In two pieces, neither of which is one.
    let (begin, end) = OSC_52.split_at(10);
    let tiltfile = format!(
        "k8s_custom_deploy('web', apply_cmd='true', delete_cmd=r'printf \"one{begin}\"; sleep 0.2; printf \"{end}two\\n\"', \
         deps=[])\nprint('\x1b]52;c;cGFzcw==\x07evaluated')\n"
    );
    let project = Project::new(&[("Tiltfile", &tiltfile)]);
    let down = Start::new(&project, &["down"]).run();
    assert!(down.stdout().contains("onetwo\n"), "{:?}", down.output());
    assert!(down.stdout().contains("evaluated\n"), "{:?}", down.output());
    assert!(!down.output().contains('\x1b') && !down.output().contains('\x07'), "{:?}", down.output());
}

#[test]
fn down_exits_1_with_the_cause_when_the_tiltfile_is_broken() {
    let project = Project::new(&[("Tiltfile", "k8s_yaml('missing.yaml')")]);
    let ended = Start::new(&project, &["down"]).run().expect_clean_exit(1);
    assert!(ended.stderr().contains("Tiltfile:1:1: no such file: missing.yaml"), "{}", ended.output());
}

#[test]
fn session_raises_open_file_limit_but_not_for_commands() {
    let project = Project::new(&[("Tiltfile", "local_resource('web', 'echo limit $(ulimit -Sn)')\n")]);
    let shell = format!("ulimit -Sn 256; exec {} up --stream --port random", env!("CARGO_BIN_EXE_lilt"));
    let lilt = Start::program(Path::new("/bin/sh"), &project, &["-c", &shell]).start();
    lilt.wait_for_line("web │ limit 256");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", lilt.pid())).expect("its limits");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("the limit");
    let numbers: Vec<&str> = line.trim_start_matches("Max open files").split_whitespace().collect();
    assert_ne!(numbers[0], "256", "{line}");
    lilt.quit();
}

#[test]
fn api_docs_are_stub_files_of_all_builtins() {
    let project = Project::new(&[("stubs/.keep", "")]);
    let ended = Start::new(&project, &["dump", "api-docs", "--dir", "stubs"]).run().expect_clean_exit(0);
    ended.expect_output("wrote stubs/api/__init__.py");
    assert!(project.read("stubs/api/__init__.py").contains("def k8s_yaml("));
    assert!(project.read("stubs/api/os/path.py").contains("def join("));
    Start::new(&project, &["dump", "api-docs", "--dir", "nowhere"])
        .run()
        .expect_clean_exit(1)
        .expect_output("nowhere does not exist");
}
