//! The scripts of extensions, run with stand-ins for the programs they call.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with programs of its own in front of the machine's.
struct ScriptFolder(TempDir);

impl ScriptFolder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path("programs")).unwrap();
        folder
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn program(&self, name: &str, body: &str) {
        let path = self.path("programs").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, script: &str, words: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("extensions").join(script);
        let path = format!("{}:{}", self.path("programs").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.arg(script).args(words).current_dir(self.0.path()).env("PATH", path);
        command.env("TMPDIR", self.0.path()).env("PLACE", self.0.path());
        command.output().unwrap()
    }

    fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap_or_default()
    }
}

fn success(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_script_is_valid_sh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("extensions");
    let mut checked = 0;
    for folder in fs::read_dir(root).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "sh") {
                let output = Command::new("sh").arg("-n").arg(&path).output().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                checked += 1;
            }
        }
    }
    assert!(checked > 5);
}

/// The "container" is this machine: what comes after `--` runs here.
const KUBECTL: &str = r#"echo "$*" >> "$PLACE/calls"
while [ "$1" != -- ]; do shift; done
shift
"$@""#;

const SYNC: [&str; 8] = [
    "deploy/web -c app",
    "/bin/rsync.tilt",
    "source/",
    "target",
    "-aOv",
    "--delete",
    "--exclude=a b***",
    "-x",
];

#[test]
fn syncback_uses_the_rsync_of_the_container() {
    let folder = ScriptFolder::new();
    folder.program("kubectl", KUBECTL);
    folder.program(
        "rsync",
        r#"case "$*" in --version) echo 'rsync  version 3.2.7  protocol version 31' ;; *) printf '<%s>' "$@" > "$PLACE/rsync" ;; esac"#,
    );
    success(&folder.run("syncback/syncback.sh", &SYNC));
    let words = folder.read("rsync");
    let begin = "<--rsync-path=rsync><--blocking-io><--rsh=sh '";
    assert!(words.starts_with(begin), "{words}");
    assert!(
        words
            .ends_with("/remote_shell.sh'><-aOv><--delete><--exclude=a b***><-x><container:source/><target>"),
        "{words}"
    );
}

#[test]
fn syncback_uses_an_archive_without_rsync_in_the_container() {
    let folder = ScriptFolder::new();
    folder.program("kubectl", &KUBECTL.replace("\"$@\"", r#"case "$1" in *rsync*) exit 127 ;; esac; "$@""#));
    // The last two words are the folders.
    folder.program(
        "rsync",
        r#"case "$*" in --version) echo 'rsync  version v3.2.7  protocol version 31'; exit ;; esac
printf '<%s>' "$@" > "$PLACE/rsync"
while [ $# -gt 2 ]; do shift; done
cp -r "$1." "$2""#,
    );
    fs::create_dir_all(folder.path("source/deep")).unwrap();
    fs::create_dir(folder.path("target")).unwrap();
    fs::write(folder.path("source/deep/file"), "content").unwrap();
    success(&folder.run("syncback/syncback.sh", &SYNC));
    assert_eq!(folder.read("target/deep/file"), "content");
    assert!(folder.read("rsync").starts_with("<-aOv><--delete><--exclude=a b***><-x></"));
    assert!(folder.read("calls").contains("exec -i deploy/web -c app -- tar -C source/ -cf - ."));
    let left: Vec<_> =
        fs::read_dir(folder.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 5, "a temporary folder was left: {left:?}");
}

#[test]
fn syncback_reports_missing_or_old_rsync() {
    let folder = ScriptFolder::new();
    for body in ["exit 127", "echo 'rsync  version 2.6.9  protocol version 29'"] {
        folder.program("rsync", body);
        let output = folder.run("syncback/syncback.sh", &SYNC);
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("rsync 3.0.0 or newer"));
    }
}

#[test]
fn rsync_remote_shell_drops_the_host() {
    let folder = ScriptFolder::new();
    folder.program("kubectl", "printf '<%s>' \"$@\"");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("extensions/syncback/remote_shell.sh");
    let mut command = Command::new("sh");
    command.arg(script).args(["container", "rsync", "--server"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.path("programs").display()));
    let output = command.env("SYNCBACK_OBJECT", "deploy/web -n dev").output().unwrap();
    assert_eq!(success(&output), "<exec><-i><deploy/web><-n><dev><--><rsync><--server>");
}

/// A stand-in for tilt that knows one command: the file `fields` has lines of path and value.
const TILT: &str = r#"echo "$*" >> "$PLACE/calls"
case "$1" in
    get)
        while [ "$1" != -o ]; do shift; done
        path=$(printf '%s' "$2" | sed 's/^jsonpath={//; s/}$//')
        while read -r name value; do
            if [ "$name" = "$path" ]; then printf '%s' "$value"; fi
        done < "$PLACE/fields"
        ;;
    apply) cat > "$PLACE/applied" ;;
esac"#;

const RUNNING: &str = r".metadata.name build
.metadata.annotations.tilt\.dev/resource web
.metadata.annotations.tilt\.dev/owner-kind Tiltfile
.status.running.pid 17
";

#[test]
fn running_command_gets_a_cancel_button() {
    let folder = ScriptFolder::new();
    folder.program("tilt", TILT);
    fs::write(folder.path("fields"), RUNNING).unwrap();
    success(&folder.run("cancel/button.sh", &["build"]));
    let applied = folder.read("applied");
    for part in [
        "name: \"build:cancel\"",
        "disabled: false",
        "componentID: \"web\"",
        "args: [\"sh\", \"end.sh\", \"build\"]",
    ] {
        assert!(applied.contains(part), "{part} in {applied}");
    }
    fs::write(folder.path("fields"), RUNNING.replace(".status.running.pid 17\n", "")).unwrap();
    success(&folder.run("cancel/button.sh", &["build"]));
    assert!(folder.read("applied").contains("disabled: true"));
}

#[test]
fn only_existing_commands_of_resources_have_a_cancel_button() {
    let folder = ScriptFolder::new();
    folder.program("tilt", TILT);
    for fields in [RUNNING.replace("Tiltfile", "UIButton"), RUNNING.replace("resource web", "other web")] {
        fs::write(folder.path("fields"), fields).unwrap();
        success(&folder.run("cancel/button.sh", &["build"]));
        assert_eq!(folder.read("applied"), "");
    }
    fs::write(folder.path("fields"), "").unwrap();
    success(&folder.run("cancel/button.sh", &["build"]));
    let calls = folder.read("calls");
    assert!(calls.contains("delete cmd --ignore-not-found -- build:cancel"), "{calls}");
    assert!(calls.contains("delete uibutton --ignore-not-found -- build:cancel"), "{calls}");
}

#[test]
fn cancel_button_ends_the_process() {
    let folder = ScriptFolder::new();
    folder.program("tilt", TILT);
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    fs::write(folder.path("fields"), format!(".status.running.pid {}\n", child.id())).unwrap();
    success(&folder.run("cancel/end.sh", &["build"]));
    assert!(!child.wait().unwrap().success());
    fs::write(folder.path("fields"), "").unwrap();
    assert!(!folder.run("cancel/end.sh", &["build"]).status.success());
}

#[test]
fn every_watched_command_is_checked() {
    let folder = ScriptFolder::new();
    let watch = "case \"$*\" in *--watch*) echo cmd.tilt.dev/build; echo cmd.tilt.dev/test; exit ;; esac\n";
    folder.program("tilt", &format!("{watch}{TILT}"));
    fs::write(folder.path("fields"), "").unwrap();
    success(&folder.run("cancel/watch.sh", &[]));
    let calls = folder.read("calls");
    assert!(calls.contains("-- build:cancel") && calls.contains("-- test:cancel"), "{calls}");
}

#[test]
fn forwards_are_listed_by_resource() {
    let folder = ScriptFolder::new();
    folder.program("tilt", "echo 'web 80=localhost:8080 81=localhost:8081 '; echo 'db 5432=localhost:5432 '");
    assert_eq!(
        success(&folder.run("list_port_forwards/list.sh", &[])),
        "Port forwards:\n  web: port 80 is at localhost:8080\n  web: port 81 is at localhost:8081\n  \
         db: port 5432 is at localhost:5432\n"
    );
}

#[test]
fn kubefwd_namespaces_follow_the_deployed_resources() {
    let folder = ScriptFolder::new();
    folder.program("tilt", "case \"$*\" in *--watch*) echo kd/a ;; *) printf 'web dev web' ;; esac");
    fs::write(folder.path("wish"), "").unwrap();
    success(&folder.run("kubefwd/namespaces.sh", &["wish"]));
    assert_eq!(folder.read("wish"), "dev\nweb\n");
}

#[test]
fn kubefwd_restarts_when_the_namespaces_change() {
    let folder = ScriptFolder::new();
    // Ends the whole by removing the wish when it was started for both.
    folder.program(
        "kubefwd",
        r#"echo "$*" >> calls
case "$*" in *two*) rm wish ;; *) echo two >> wish; exec sleep 1000 ;; esac"#,
    );
    fs::write(folder.path("wish"), "one\n").unwrap();
    let kubefwd = folder.path("programs/kubefwd").display().to_string();
    success(&folder.run("kubefwd/forward.sh", &[&kubefwd, "config", "wish"]));
    assert_eq!(folder.read("calls"), "svc -n one\nsvc -n one -n two\n");
}
