//! Extensions: how `ext://` is resolved, and what each bundled one declares.
//!
//! Every folder of `extensions` is a project whose outcome is a snapshot. Repositories are real ones, made with git in a
//! temporary folder; kubectl and helm are stand-ins that print what they are called with (the real ones: `bed_extensions`).

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::{Machine, yaml};

mod bundled {
    use super::*;

    fn cases() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/extensions")
    }

    /// The project is copied, so that what an extension writes stays out of the sources.
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy(&entry.path(), &target),
                false => drop(fs::copy(entry.path(), target).unwrap()),
            }
        }
    }

    /// The folder of unpacked extensions is named after their content.
    fn without_key(text: &str) -> String {
        let mut parts = text.split("/data/tilt-dev/bundled/");
        let mut shown = parts.next().unwrap().to_owned();
        for part in parts {
            shown.push_str("/bundled");
            shown.push_str(&part[16..]);
        }
        shown
    }

    fn outcome(case: &str) -> String {
        let machine = Machine::new();
        let project = machine.path("project");
        copy(&cases().join(case), &project);
        let programs = project.join("programs");
        for entry in fs::read_dir(&programs).into_iter().flatten() {
            let entry = entry.unwrap();
            let script = fs::read_to_string(entry.path()).unwrap();
            machine.program(entry.file_name().to_str().unwrap(), &script);
        }
        let subcommand = fs::read_to_string(project.join("subcommand")).unwrap_or("up".into());
        let (loaded, mut text) = machine.load(&project.join("Tiltfile"), subcommand.trim());
        match &loaded.project {
            Ok(project) => {
                let project = serde_json::to_value(project).unwrap();
                write!(text, "--- project\n{}\n", yaml(&project, 0)).unwrap();
            }
            Err(failure) => write!(text, "--- error\n{failure}\n").unwrap(),
        }
        text.push_str("--- files\n");
        for file in &loaded.files.roots {
            writeln!(text, "{}", file.display()).unwrap();
        }
        let shown = text.replace(&project.display().to_string(), "/project");
        without_key(&shown.replace(&machine.folder.path().display().to_string(), ""))
    }

    macro_rules! cases {
        ($($case:ident)*) => {
            $(
                #[test]
                fn $case() {
                    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
                        insta::assert_snapshot!(concat!("extension_", stringify!($case)), outcome(stringify!($case)));
                    });
                }
            )*

            #[test]
            fn every_case_is_tested() {
                let tested: BTreeSet<String> = [$(stringify!($case)),*].map(str::to_owned).into();
                let found = fs::read_dir(cases()).unwrap();
                let found =
                    found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>();
                assert_eq!(tested, found);
            }
        };
    }

    cases! {
        cancel
        cert_manager
        color
        configmap
        deployment
        docker_build_sub
        dotenv
        error_dotenv
        error_min_k8s_version
        error_min_tilt_version
        error_namespace
        error_restart_process
        error_restart_process_steps
        error_secret
        error_syncback
        error_uibutton
        execute_in_pod
        git_resource
        helm_remote
        helm_resource
        k8s_attach
        ko
        kubebuilder
        kubefwd
        list_port_forwards
        local_output
        min_k8s_version
        min_tilt_version
        namespace
        pack
        print_tiltfile_dir
        restart_process
        secret
        syncback
        team_controller
        team_loader
        team_tutorial
        tests_golang
        uibutton
    }
}

/// `ext://` and repositories.
mod loading {
    use super::*;

    const ADDRESS: &str = "https://git.example.test/team/extensions";

    /// A repository with one commit on its branch `main`.
    fn repository(machine: &Machine) -> PathBuf {
        let folder = machine.path("repository");
        machine.write(
            "repository/greet/Tiltfile",
            "load('./words.star', 'word')\ndef greet(): print(word, 1)\n",
        );
        machine.write("repository/greet/words.star", "word = 'hello'\n");
        machine.write("repository/below/deep/Tiltfile", "def deep(): print('deep')\n");
        machine.git(&folder, &["init", "--quiet", "--initial-branch=main"]);
        commit(machine, &folder, "first");
        folder
    }

    fn commit(machine: &Machine, folder: &Path, message: &str) {
        machine.git(folder, &["add", "."]);
        machine.git(folder, &["commit", "--quiet", "--message", message]);
    }

    fn registered(more: &str, then: &str) -> String {
        format!("v1alpha1.extension_repo(name='default', url='{ADDRESS}'{more})\n{then}\n")
    }

    const GREET: &str = "load('ext://greet', 'greet')\ngreet()";

    fn last_line(printed: &str) -> &str {
        printed.lines().last().unwrap_or_default()
    }

    #[test]
    fn default_repository_is_fetched_and_then_used_offline() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.redirect("https://github.com/tilt-dev/tilt-extensions", &folder);
        let printed = machine.load_text(GREET).unwrap();
        assert_eq!(
            printed,
            "Fetching the extension repository https://github.com/tilt-dev/tilt-extensions\nhello 1\n"
        );
        let cached = "data/tilt-dev/tilt_modules/github.com/tilt-dev/tilt-extensions/greet/Tiltfile";
        assert!(machine.path(cached).exists());
        machine.system.has_no_programs = true;
        assert_eq!(machine.load_text(GREET).unwrap(), "hello 1\n");
    }

    #[test]
    fn old_clone_is_fetched_again() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.redirect(ADDRESS, &folder);
        let tiltfile = registered("", GREET);
        machine.load_text(&tiltfile).unwrap();
        machine.write("repository/greet/words.star", "word = 'good day'\n");
        commit(&machine, &folder, "second");
        assert_eq!(machine.load_text(&tiltfile).unwrap(), "hello 1\n");
        machine.system.file_age = Some(Duration::from_secs(2 * 60 * 60));
        assert_eq!(last_line(&machine.load_text(&tiltfile).unwrap()), "good day 1");
    }

    #[test]
    fn old_clone_is_used_without_a_network() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.redirect(ADDRESS, &folder);
        let tiltfile = registered("", GREET);
        machine.load_text(&tiltfile).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        machine.system.file_age = Some(Duration::from_secs(2 * 60 * 60));
        let printed = machine.load_text(&tiltfile).unwrap();
        assert!(printed.contains("cannot fetch the extension repository"), "{printed}");
        assert!(printed.contains("which may be old"), "{printed}");
        assert_eq!(last_line(&printed), "hello 1");
    }

    #[test]
    fn renamed_default_branch_is_followed() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.redirect(ADDRESS, &folder);
        let tiltfile = registered("", GREET);
        machine.load_text(&tiltfile).unwrap();
        machine.git(&folder, &["checkout", "--quiet", "-b", "trunk"]);
        machine.git(&folder, &["branch", "--quiet", "-D", "main"]);
        machine.write("repository/greet/words.star", "word = 'trunk'\n");
        commit(&machine, &folder, "second");
        machine.system.file_age = Some(Duration::from_secs(2 * 60 * 60));
        assert_eq!(last_line(&machine.load_text(&tiltfile).unwrap()), "trunk 1");
    }

    #[test]
    fn each_ref_has_its_own_clone_and_is_not_refreshed() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.git(&folder, &["tag", "v1"]);
        machine.git(&folder, &["branch", "team/old"]);
        machine.write("repository/greet/words.star", "word = 'newer'\n");
        commit(&machine, &folder, "second");
        machine.redirect(ADDRESS, &folder);
        for reference in ["v1", "team/old", "main~1"] {
            let printed = machine.load_text(&registered(&format!(", ref='{reference}'"), GREET)).unwrap();
            assert_eq!(last_line(&printed), "hello 1", "{reference}");
        }
        assert_eq!(last_line(&machine.load_text(&registered("", GREET)).unwrap()), "newer 1");
        machine.system.has_no_programs = true;
        machine.system.file_age = Some(Duration::from_secs(1_000_000));
        assert_eq!(machine.load_text(&registered(", ref='v1'", GREET)).unwrap(), "hello 1\n");
    }

    /// Calls git, and records command lines and the credentials that git would send to the server.
    const NOTING_GIT: &str = r#"#!/bin/sh
PATH=${PATH#*:}
echo "$*" >> "$HOME/command-lines"
case "$*" in
*" fetch "*)
    (
        left=$# keep=1
        while [ $left -gt 0 ]; do
            word=$1 left=$((left - 1))
            shift
            [ "$word" = fetch ] && keep=
            [ -n "$keep" ] && set -- "$@" "$word"
        done
        printf 'protocol=https\nhost=git.example.test\n\n' | git "$@" credential fill >> "$HOME/sent"
    )
    ;;
esac
exec git "$@"
"#;

    #[test]
    fn credentials_stay_out_of_command_lines_files_and_messages() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.git(&folder, &["tag", "v1"]);
        machine.redirect(ADDRESS, &folder);
        machine.program("git", NOTING_GIT);
        let text = registered("", GREET).replace("https://", "https://me:s3cr%65t@");
        let printed = machine.load_text(&text).unwrap();
        assert_eq!(printed, format!("Fetching the extension repository {ADDRESS}\nhello 1\n"));
        let sent = fs::read_to_string(machine.path("sent")).unwrap();
        assert!(sent.contains("username=me\npassword=s3cret\n"), "{sent}");
        let lines = fs::read_to_string(machine.path("command-lines")).unwrap();
        assert!(lines.contains(" fetch ") && !lines.contains("s3cr"), "{lines}");
        let clone = machine.path("data/tilt-dev/tilt_modules/git.example.test/team/extensions");
        let configuration = fs::read_to_string(clone.join(".git/config")).unwrap();
        assert!(configuration.contains(ADDRESS) && !configuration.contains("s3cr"), "{configuration}");
        // A clone that has them loses them, also if nothing is fetched.
        let full = ADDRESS.replace("https://", "https://me:s3cr%65t@");
        machine.git(&clone, &["config", "remote.origin.url", &full]);
        machine.load_text(&text).unwrap();
        let configuration = fs::read_to_string(clone.join(".git/config")).unwrap();
        assert!(configuration.contains(ADDRESS) && !configuration.contains("s3cr"), "{configuration}");
        // Also those of another password than today's.
        machine
            .git(&clone, &["config", "remote.origin.url", &ADDRESS.replace("https://", "https://me:0ld@")]);
        machine.load_text(&registered("", GREET)).unwrap();
        let configuration = fs::read_to_string(clone.join(".git/config")).unwrap();
        assert!(configuration.contains(ADDRESS) && !configuration.contains("0ld"), "{configuration}");
        let pinned = registered(", ref='v9'", GREET).replace("https://", "https://me:s3cr%65t@");
        let failure = machine.load_text(&pinned).unwrap_err().to_string();
        assert!(failure.contains(ADDRESS) && !failure.contains("s3cr"), "{failure}");
    }

    #[test]
    fn http_repository_is_a_warning_and_separate_from_https() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.redirect(ADDRESS, &folder);
        let secure = registered("", GREET);
        assert!(!machine.load_text(&secure).unwrap().contains("WARNING"));
        let other = machine.path("other");
        machine.write("other/greet/Tiltfile", "def greet(): print('plain')\n");
        machine.git(&other, &["init", "--quiet", "--initial-branch=main"]);
        commit(&machine, &other, "first");
        machine.redirect(&ADDRESS.replace("https", "http"), &other);
        let printed = machine.load_text(&secure.replace("https://", "http://")).unwrap();
        let warning = "WARNING: the extension repository http://git.example.test/team/extensions is fetched without encryption";
        assert!(printed.contains(warning), "{printed}");
        assert_eq!(last_line(&printed), "plain");
        assert_eq!(last_line(&machine.load_text(&secure).unwrap()), "hello 1");
    }

    #[test]
    fn commit_that_another_program_checked_out_is_not_used() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.git(&folder, &["tag", "v1"]);
        machine.write("repository/greet/words.star", "word = 'newer'\n");
        commit(&machine, &folder, "second");
        machine.redirect(ADDRESS, &folder);
        let text = registered(", ref='v1'", GREET);
        assert_eq!(last_line(&machine.load_text(&text).unwrap()), "hello 1");
        let clone = machine.path("data/tilt-dev/tilt_modules/git.example.test/team/extensions@v1");
        machine.git(&clone, &["checkout", "--quiet", "--detach", "origin/main"]);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(machine.load_text(&text).unwrap(), "hello 1\n", "checked out again without a fetch");
    }

    #[test]
    fn replaced_newest_commit_is_fetched_again() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.write("repository/greet/words.star", "word = 'newer'\n");
        commit(&machine, &folder, "second");
        machine.redirect(ADDRESS, &folder);
        let text = registered("", GREET);
        assert_eq!(last_line(&machine.load_text(&text).unwrap()), "newer 1");
        let clone = machine.path("data/tilt-dev/tilt_modules/git.example.test/team/extensions");
        machine.git(&clone, &["reset", "--quiet", "--hard", "HEAD~1"]);
        assert_eq!(last_line(&machine.load_text(&text).unwrap()), "newer 1");
        machine.git(&clone, &["pack-refs", "--all"]);
        machine.system.has_no_programs = true;
        assert_eq!(machine.load_text(&text).unwrap(), "newer 1\n", "it is what was fetched");
    }

    #[test]
    fn copy_that_came_over_http_is_not_used_for_https() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.git(&folder, &["tag", "v1"]);
        let other = machine.path("other");
        machine.write("other/greet/Tiltfile", "def greet(): print('plain')\n");
        machine.git(&other, &["init", "--quiet", "--initial-branch=main"]);
        commit(&machine, &other, "first");
        for (reference, name) in [("", "extensions"), (", ref='v1'", "extensions@v1")] {
            // As Tilt makes it: one folder for both schemes.
            let place = machine.path(&format!("data/tilt-dev/tilt_modules/git.example.test/team/{name}"));
            let (source, target) = (other.display().to_string(), place.display().to_string());
            machine.git(machine.folder.path(), &["clone", "--quiet", &source, &target]);
            machine.git(&place, &["tag", "--force", "v1"]);
            machine.git(&place, &["config", "remote.origin.url", &ADDRESS.replace("https", "http")]);
            let text = registered(reference, GREET);
            // Twice: the first attempt corrects the address.
            let variables = machine.system.command_variables.clone();
            machine.redirect(ADDRESS, &machine.path("nowhere"));
            for _ in 0..2 {
                let failure = machine.load_text(&text).unwrap_err();
                assert!(failure.message.contains("cannot fetch the extension repository"), "{failure}");
            }
            machine.system.command_variables.clone_from(&variables);
            machine.redirect(ADDRESS, &folder);
            assert_eq!(last_line(&machine.load_text(&text).unwrap()), "hello 1", "{name}");
            machine.system.command_variables = variables;
        }
    }

    #[test]
    fn submodule_over_http_is_a_warning() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        let modules = "[submodule \"x\"]\n\tpath = x\n\turl = http://me:s3cret@git.example.test/x\n";
        machine.write("repository/.gitmodules", modules);
        commit(&machine, &folder, "second");
        machine.redirect(ADDRESS, &folder);
        let printed = machine.load_text(&registered("", GREET)).unwrap();
        let warning = "has the submodule http://git.example.test/x, which is fetched without encryption";
        assert!(printed.contains(warning) && !printed.contains("s3cret"), "{printed}");
    }

    #[test]
    fn missing_ref_is_an_error() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.redirect(ADDRESS, &folder);
        let failure = machine.load_text(&registered(", ref='v9'", GREET)).unwrap_err();
        assert_eq!(failure.message, format!("the extension repository {ADDRESS} has no \"v9\""));
        assert!(failure.location.is_some());
        // The failed attempt does not affect the next.
        machine.git(&folder, &["tag", "v9"]);
        assert_eq!(last_line(&machine.load_text(&registered(", ref='v9'", GREET)).unwrap()), "hello 1");
    }

    #[test]
    fn clone_made_by_hand_or_by_tilt_is_reused() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        let place = machine.path("data/tilt-dev/tilt_modules/git.example.test/team/extensions");
        let source = folder.display().to_string();
        machine.git(machine.folder.path(), &["clone", "--quiet", &source, &place.display().to_string()]);
        machine.redirect(ADDRESS, &machine.path("nowhere"));
        let printed = machine.load_text(&registered("", GREET)).unwrap();
        assert_eq!(last_line(&printed), "hello 1");
    }

    #[test]
    fn interrupted_fetch_is_completed() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        let place = "data/tilt-dev/tilt_modules/git.example.test/team/extensions";
        machine.redirect(ADDRESS, &folder);
        fs::create_dir_all(machine.path(place)).unwrap();
        machine.git(&machine.path(place), &["init", "--quiet"]);
        assert_eq!(last_line(&machine.load_text(&registered("", GREET)).unwrap()), "hello 1");
    }

    #[test]
    fn failed_fetch_has_a_hint() {
        let mut machine = Machine::new();
        machine.redirect(ADDRESS, &machine.path("nowhere"));
        let failure = machine.load_text(&registered("", GREET)).unwrap_err();
        assert!(failure.message.contains(ADDRESS), "{failure}");
        assert!(failure.detail.as_ref().unwrap().contains("its stderr:"), "{failure}");
        assert!(failure.hint.as_ref().unwrap().contains("v1alpha1.extension_repo("), "{failure}");
        machine.system.has_no_programs = true;
        let failure = machine.load_text(&registered("", GREET)).unwrap_err();
        assert!(failure.message.contains("git is needed"), "{failure}");
    }

    #[test]
    fn misspelt_extension_gets_a_suggestion() {
        let mut machine = Machine::new();
        machine.system.has_no_programs = true;
        let failure = machine.load_text("load('ext://restart_proces', 'x')").unwrap_err();
        assert!(
            failure.hint.as_ref().unwrap().starts_with("did you mean ext://restart_process?"),
            "{failure}"
        );
    }

    #[test]
    fn local_repository_is_used_in_place() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.system.has_no_programs = true;
        let text = format!(
            "v1alpha1.extension_repo(name='team', url='file://{}')\n\
             v1alpha1.extension(name='hi', repo_name='team', repo_path='greet')\nload('ext://hi', 'greet')\ngreet()\n",
            folder.display()
        );
        assert_eq!(machine.load_text(&text).unwrap(), "hello 1\n");
        // Its files count: a change reloads.
        let (loaded, _) = machine.load(&machine.path("project/Tiltfile"), "up");
        for file in ["greet/Tiltfile", "greet/words.star"] {
            assert!(loaded.files.roots.contains(&folder.join(file)), "{file}");
        }
    }

    #[test]
    fn local_repository_with_a_ref_is_cloned() {
        let machine = Machine::new();
        let folder = repository(&machine);
        machine.git(&folder, &["tag", "v1"]);
        machine.write("repository/greet/words.star", "word = 'not committed'\n");
        let url = format!("file://{}", folder.display());
        let text = format!("v1alpha1.extension_repo(name='default', url='{url}', ref='v1')\n{GREET}\n");
        assert_eq!(last_line(&machine.load_text(&text).unwrap()), "hello 1");
    }

    #[test]
    fn load_host_and_subpath_resolve_into_a_repository() {
        let mut machine = Machine::new();
        let folder = repository(&machine);
        machine.redirect(ADDRESS, &folder);
        let text = format!(
            "v1alpha1.extension_repo(name='team', url='{ADDRESS}', load_host='team', git_subpath='below')\n\
             load('ext://team/deep', 'deep')\ndeep()\n"
        );
        assert_eq!(last_line(&machine.load_text(&text).unwrap()), "deep");
    }

    #[test]
    fn registered_default_repository_overrides_bundled_extensions() {
        let machine = Machine::new();
        machine.write("own/dotenv/Tiltfile", "def dotenv(): print('my own')\n");
        let url = format!("file://{}", machine.path("own").display());
        let text = format!(
            "v1alpha1.extension_repo(name='default', url='{url}')\nload('ext://dotenv', 'dotenv')\ndotenv()\n"
        );
        assert_eq!(machine.load_text(&text).unwrap(), "my own\n");
    }

    #[test]
    fn invalid_repositories_and_paths_are_refused() {
        let machine = Machine::new();
        let folder = repository(&machine).display().to_string();
        let message = |repository: &str, path: &str| {
            let text = format!(
                "v1alpha1.extension_repo(name='team', {repository})\n\
                 v1alpha1.extension(name='x', repo_name='team', repo_path='{path}')\nload('ext://x', 'y')\n"
            );
            let failure = machine.load_text(&text).unwrap_err();
            assert!(failure.location.is_some(), "{failure}");
            failure.message
        };
        let here = format!("url='file://{folder}'");
        assert!(message(&here, "../x").contains("leads out of its repository"));
        assert!(message(&here, "missing").contains("there is no extension x in file://"));
        assert!(message("url='file:///no/such/folder'", "x").contains("there is no such folder"));
        assert!(message(&format!("url='file://{folder}/greet/Tiltfile'"), "x").contains("it is no folder"));
    }

    #[test]
    fn extension_runs_once_in_its_own_folder() {
        let machine = Machine::new();
        let folder = machine.path("own");
        machine.write(
            "own/where/Tiltfile",
            "print('loading', __file__, os.getcwd())\ndef where(): print(__file__, os.getcwd(), read_file('note'))\n",
        );
        machine.write("own/where/note", "of the extension");
        machine.write("project/note", "of the project");
        machine.write("project/other.star", "load('ext://where', 'where')\nagain = where\n");
        let printed = machine
            .load_text(&format!(
                "v1alpha1.extension_repo(name='default', url='file://{}')\nload('ext://where', 'where')\nwhere()\n\
                 load('./other.star', 'again')\nagain()\n",
                folder.display()
            ))
            .unwrap();
        let (file, project) = (folder.join("where/Tiltfile"), machine.path("project"));
        let (file, project) = (file.display(), project.display());
        let call = format!("{file} {project} of the project\n");
        assert_eq!(printed, format!("loading {file} {}\n{call}{call}", folder.join("where").display()));
    }

    #[test]
    fn extensions_are_loaded_dynamically_and_included() {
        let machine = Machine::new();
        machine.write("own/greet/Tiltfile", "print('loading')\ndef greet(): print('hello')\n");
        let url = format!("file://{}", machine.path("own").display());
        let text = format!(
            "v1alpha1.extension_repo(name='default', url='{url}')\n\
             load_dynamic('ext://greet')['greet']()\ninclude('ext://greet')\n"
        );
        assert_eq!(machine.load_text(&text).unwrap(), "loading\nhello\n");
    }

    #[test]
    fn error_in_an_extension_shows_its_line_and_the_stack() {
        let machine = Machine::new();
        machine.write("own/broken/Tiltfile", "\nlocal_resource('a', no_such='x')\n");
        let url = format!("file://{}", machine.path("own").display());
        let failure = machine
            .load_text(&format!(
                "v1alpha1.extension_repo(name='default', url='{url}')\nload('ext://broken', 'x')\n"
            ))
            .unwrap_err();
        let location = failure.location.clone().unwrap();
        assert_eq!((location.path, location.line), (machine.path("own/broken/Tiltfile"), 2));
        let way = format!("{}:2", machine.path("project/Tiltfile").display());
        assert!(failure.detail.as_ref().unwrap().contains(&way), "{failure}");
    }

    #[test]
    fn modified_bundled_extension_is_restored() {
        let machine = Machine::new();
        let text = "load('ext://local_output', 'local_output')\nprint(local_output('echo x', echo_off=True, quiet=True))\n";
        assert_eq!(machine.load_text(text).unwrap(), "x\n");
        let bundled = machine.path("data/tilt-dev/bundled");
        let key = fs::read_dir(bundled).unwrap().next().unwrap().unwrap().path();
        fs::write(key.join("local_output/Tiltfile"), "cut sh").unwrap();
        assert_eq!(machine.load_text(text).unwrap(), "x\n");
        // Only what is used is unpacked.
        assert_eq!(fs::read_dir(key).unwrap().count(), 1);
    }

    #[test]
    fn other_schemes_are_refused() {
        let failure = Machine::new().load_text("load('https://example.test/x', 'y')").unwrap_err();
        assert_eq!(failure.message, "cannot load https://example.test/x: https:// is not known");
    }
}
