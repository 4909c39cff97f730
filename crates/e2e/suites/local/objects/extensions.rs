//! Repositories of extensions, extensions, and Tiltfiles beside the main one.

use std::process::Command;

use lilt_testbed_env::Project;
use serde_json::{Value, json};

use super::client::{Session, button};

const MAIN: (&str, &str) = ("Tiltfile", "local_resource('one', 'true')\n");

/// A repository with an extension that says its arguments.
fn repository() -> Project {
    let tiltfile = "config.define_string('word')\nword = config.parse().get('word', 'none')\n\
        local_resource('guest', 'echo guest says ' + word)\n\
        v1alpha1.cmd(name='guest-cmd', args=['sleep', '1000'])\n";
    Project::new(&[("greeting/Tiltfile", tiltfile)])
}

fn url(repository: &Project) -> String {
    format!("file://{}", repository.path().display())
}

fn git(folder: &Project, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, value) in [("NAME", "me"), ("EMAIL", "me@example.com")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let output = command.args(arguments).current_dir(folder.path()).output().expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[test]
fn extension_object_adds_and_removes_resources() {
    let session = Session::start(&[MAIN]);
    let repository = repository();
    let greeting = json!({"spec": {"repoName": "team", "repoPath": "greeting", "args": ["--word=hello"]}});
    session.create("extensions", "greeting", greeting);
    session.wait("extensions/greeting", "misses its repository", |it| {
        it["status"]["error"] == "extension repo not found: team"
    });
    session.create("extensionrepos", "team", json!({"spec": {"url": url(&repository)}}));
    let repo = session.wait("extensionrepos/team", "is there", |it| it["status"]["path"].is_string());
    assert_eq!(repo["status"]["path"], json!(repository.path()));
    assert!(repo["status"]["lastFetchedAt"].is_string(), "{repo}");
    session.lilt.wait_for_log_line("guest", "guest says hello");
    let extension = session.get("extensions/greeting");
    assert_eq!(extension["status"], json!({"path": repository.file("greeting/Tiltfile")}));
    let tiltfile = session
        .wait("tiltfiles/greeting", "is loaded", |it| it["status"]["terminated"]["finishedAt"].is_string());
    assert_eq!(tiltfile["metadata"]["ownerReferences"][0]["kind"], "Extension");
    assert_eq!(
        session.get("uiresources/guest")["metadata"]["labels"]["extension.greeting"],
        "extension.greeting"
    );
    assert_eq!(session.get("uiresources/greeting")["status"]["updateStatus"], "ok");
    session.wait("cmds/guest-cmd", "runs", |it| it["status"]["running"]["pid"].is_i64());
    session.patch("extensions/greeting", &json!({"spec": {"args": ["--word=other"]}}));
    session.lilt.wait_for_log_line("guest", "guest says other");
    repository.write(
        "greeting/Tiltfile",
        "config.define_string('word')\nconfig.parse()\nlocal_resource('guest', 'echo edited')\n",
    );
    session.lilt.wait_for_log_line("guest", "edited");
    session.wait("cmds/guest-cmd", "goes, since it is no longer made", Value::is_null);
    session.delete("extensions/greeting");
    for gone in ["tiltfiles/greeting", "uiresources/guest", "uiresources/greeting"] {
        session.wait(gone, "goes with the extension", Value::is_null);
    }
    assert!(!session.get("uiresources/one").is_null());
    session.lilt.quit();
}

#[test]
fn extension_repo_is_fetched_at_ref() {
    let session = Session::start(&[MAIN]);
    let repository = repository();
    git(&repository, &["init", "--quiet", "--initial-branch=main"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "first"]);
    git(&repository, &["tag", "v1"]);
    let commit = git(&repository, &["rev-parse", "HEAD"]);
    repository.write("greeting/Tiltfile", "fail('not this one')\n");
    let spec = json!({"spec": {"url": url(&repository), "ref": "v1"}});
    session.create("extensionrepos", "team", spec);
    let repo =
        session.wait("extensionrepos/team", "is fetched", |it| it["status"]["checkoutRef"].is_string());
    assert_eq!(repo["status"]["checkoutRef"], json!(commit));
    session.create("extensions", "greeting", json!({"spec": {"repoName": "team", "repoPath": "greeting"}}));
    session.lilt.wait_for_log_line("guest", "guest says none");
    session.create("extensions", "missing", json!({"spec": {"repoName": "team", "repoPath": "nothing"}}));
    let missing = session.wait("extensions/missing", "is told", |it| it["status"]["error"].is_string());
    let words = missing["status"]["error"].as_str().unwrap_or_default();
    assert!(words.contains("there is no extension missing in"), "{words}");
    session.create("extensions", "escape", json!({"spec": {"repoName": "team", "repoPath": "../.."}}));
    let escape = session.wait("extensions/escape", "is told", |it| it["status"]["error"].is_string());
    assert!(escape["status"]["error"].as_str().is_some_and(|it| it.contains("leads out of its repository")));
    let gone = json!({"spec": {"url": "file:///no/such/folder"}});
    session.create("extensionrepos", "gone", gone);
    let gone = session.wait("extensionrepos/gone", "is told", |it| it["status"]["error"].is_string());
    assert!(
        gone["status"]["error"].as_str().is_some_and(|it| it.contains("there is no such folder")),
        "{gone}"
    );
    session.lilt.quit();
}

#[test]
fn registered_extension_is_loaded_once_and_ci_waits() {
    let repository = repository();
    let tiltfile = format!(
        "v1alpha1.extension_repo(name='team', url='{}')\n\
         v1alpha1.extension(name='greeting', repo_name='team', repo_path='greeting', args=['--word=ci'])\n\
         local_resource('one', 'true')\n",
        url(&repository)
    );
    let project = Project::new(&[("Tiltfile", &tiltfile)]);
    let ended = lilt_e2e::lilt::Start::ci(&project).run();
    let output = ended.expect_clean_exit(0).output();
    assert!(output.contains("guest says ci"), "{output}");
    assert!(!output.contains("not supported yet"), "{output}");
}

#[test]
fn button_reloads_tiltfile_but_its_path_is_fixed() {
    let session = Session::start(&[("Tiltfile", "print('loading now')\nlocal_resource('one', 'true')\n")]);
    session.create("uibuttons", "again", button(json!([])));
    let spec = session.get("tiltfiles/(Tiltfile)")["spec"].clone();
    assert_eq!(spec["restartOn"]["fileWatches"], json!(["configs:(Tiltfile)"]));
    session.patch("tiltfiles/(Tiltfile)", &json!({"spec": {"restartOn": {"uiButtons": ["again"]}}}));
    session.lilt.has_lines("loading now", 1);
    session.click("again", "2026-01-01T00:00:00.000000Z", json!([]));
    session.lilt.has_lines("loading now", 2);
    let (status, answer) =
        session.request("PATCH", "tiltfiles/(Tiltfile)", &json!({"spec": {"path": "/elsewhere/Tiltfile"}}));
    assert_eq!(status, 403, "{answer}");
    session.lilt.quit();
}
