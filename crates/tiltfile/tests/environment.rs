//! The environment of a load: what a Tiltfile reads and sets, what its commands get, and what is reported.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::fs;
use std::path::PathBuf;

use lilt_tiltfile::{LoadRequest, Loaded, load};
use support::TestSystem;

struct Case {
    directory: tempfile::TempDir,
    environment: Vec<(&'static str, &'static str)>,
    variables: Vec<(&'static str, &'static str)>,
    programs: Vec<PathBuf>,
    earlier: Vec<(String, Option<String>)>,
}

impl Case {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            environment: vec![("PATH", "/usr/bin:/bin")],
            variables: Vec::new(),
            programs: Vec::new(),
            earlier: Vec::new(),
        }
    }

    fn load(&self, text: &str) -> (Loaded, Vec<String>) {
        let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        let path = self.directory.path().join("Tiltfile");
        fs::write(&path, text).unwrap();
        let request = LoadRequest {
            path,
            subcommand: "up".into(),
            variables: owned(&self.variables),
            programs: self.programs.clone(),
            environment: self.earlier.clone(),
            ..LoadRequest::default()
        };
        let mut lines = Vec::new();
        let system = TestSystem {
            environment: Some(owned(&self.environment)),
            called_as: Some((vec!["lilt".into(), "up".into()], "/bin/lilt".into())),
            ..TestSystem::default()
        };
        let loaded = load(&request, &system, &|| false, &mut |line| lines.push(line.to_string()));
        (loaded, lines)
    }

    fn printed(&self, text: &str) -> Vec<String> {
        let (loaded, lines) = self.load(text);
        loaded.project.unwrap();
        lines
    }
}

fn show(variables: &str) -> String {
    format!("print(str(local('echo {variables}', quiet=True, echo_off=True)).strip())\n")
}

#[test]
fn commands_see_set_variables_and_no_removed_ones() {
    let mut case = Case::new();
    case.environment.push(("GONE", "still here"));
    let text =
        "os.putenv('ONE', '1')\nos.environ['TWO'] = '2'\nos.environ.update(THREE='3')\nos.unsetenv('GONE')\n";
    assert_eq!(case.printed(&(text.to_owned() + &show("$ONE $TWO $THREE ${GONE-gone}"))), ["1 2 3 gone"]);
    // Its own comes last.
    let own =
        "os.environ['A'] = 'load'\nprint(local('echo $A', env={'A': 'own'}, quiet=True, echo_off=True))\n";
    assert_eq!(case.printed(own), ["own\n"]);
}

#[test]
fn each_changed_variable_is_reported_once() {
    let mut case = Case::new();
    case.environment.push(("GONE", "x"));
    let (loaded, _) =
        case.load("os.environ['B'] = '1'\nos.environ['B'] = '2'\nos.putenv('A', '3')\nos.unsetenv('GONE')\n");
    let changes =
        [("A".into(), Some("3".into())), ("B".into(), Some("2".into())), ("GONE".into(), None)].to_vec();
    assert_eq!(loaded.environment, changes);
    assert!(case.load("print(os.environ['PATH'])\n").0.environment.is_empty());
}

#[test]
fn changed_variables_persist_for_later_loads() {
    let mut case = Case::new();
    case.environment.push(("GONE", "x"));
    let text =
        "print(os.getenv('ROUND'), os.getenv('GONE'))\nos.putenv('ROUND', 'second')\nos.unsetenv('GONE')\n";
    let (loaded, lines) = case.load(text);
    assert_eq!(lines, ["None x"]);
    case.earlier = loaded.environment;
    let (loaded, lines) = case.load(text);
    assert_eq!(lines, ["second None"]);
    assert_eq!(loaded.environment, case.earlier);
}

#[test]
fn load_changes_no_environment_of_the_process_or_other_loads() {
    let case = Case::new();
    case.printed("os.environ['LILT_LEAK'] = '1'\n");
    assert!(std::env::var("LILT_LEAK").is_err());
    assert_eq!(case.printed("print(os.getenv('LILT_LEAK'))\n"), ["None"]);
}

#[test]
fn files_of_a_load_share_one_environment() {
    let case = Case::new();
    let library = "os.environ['FROM_LIBRARY'] = 'yes'\ndef get(name): return os.environ[name]\n";
    fs::write(case.directory.path().join("library.star"), library).unwrap();
    let text = "load('library.star', 'get')\nprint(os.getenv('FROM_LIBRARY'))\nos.environ['LATER'] = 'x'\nprint(get('LATER'))\n";
    assert_eq!(case.printed(text), ["yes", "x"]);
}

#[test]
fn local_commands_get_the_session_variables() {
    let mut case = Case::new();
    case.variables = vec![("TILT_HOST", "localhost"), ("TILT_PORT", "10350"), ("FORCE_COLOR", "1")];
    let all = "$TILT_HOST $TILT_PORT $TILT_DISABLE_ANALYTICS $LINES $COLUMNS $PYTHONUNBUFFERED $FORCE_COLOR";
    assert_eq!(case.printed(&show(all)), ["localhost 10350 1 24 80 1 1"]);
    // The Tiltfile itself does not.
    assert_eq!(case.printed("print(os.getenv('TILT_PORT'), os.getenv('LINES'))\n"), ["None None"]);
}

#[test]
fn variables_of_the_environment_override_session_variables() {
    let mut case = Case::new();
    case.variables = vec![("TILT_HOST", "localhost"), ("FORCE_COLOR", "1")];
    case.environment.extend([("TILT_HOST", "elsewhere"), ("COLUMNS", "200"), ("FORCE_COLOR", "0")]);
    let text = "os.environ['LINES'] = '7'\n".to_owned() + &show("$TILT_HOST $LINES $COLUMNS $FORCE_COLOR");
    assert_eq!(case.printed(&text), ["elsewhere 7 200 0"]);
}

#[test]
fn extra_program_folders_are_searched_after_path() {
    use std::os::unix::fs::PermissionsExt;
    let mut case = Case::new();
    let programs = case.directory.path().join("programs");
    fs::create_dir(&programs).unwrap();
    for name in ["tilt-of-the-test", "true"] {
        let program = programs.join(name);
        fs::write(&program, "#!/bin/sh\necho mine\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    case.programs = vec![programs];
    assert_eq!(case.printed(&show("$(tilt-of-the-test) $(/usr/bin/env true)")), ["mine"]);
}

#[test]
fn sys_argv_and_executable_are_those_of_lilt() {
    let case = Case::new();
    assert_eq!(case.printed("print(sys.argv, sys.executable)\n"), ["[\"lilt\", \"up\"] /bin/lilt"]);
    let (loaded, _) = case.load("sys.argv.append('x')\n");
    assert_eq!(loaded.project.unwrap_err().message, "this value cannot be changed");
}

#[test]
fn links_are_resolved() {
    let case = Case::new();
    let directory = case.directory.path().canonicalize().unwrap();
    fs::create_dir(directory.join("real")).unwrap();
    std::os::unix::fs::symlink(directory.join("real"), directory.join("link")).unwrap();
    assert_eq!(
        case.printed("print(os.path.realpath('link'))\n"),
        [directory.join("real").display().to_string()]
    );
    let (loaded, _) = case.load("os.path.realpath('nowhere')\n");
    assert!(loaded.project.unwrap_err().message.contains("nowhere"));
}

#[test]
fn warnings_are_printed_at_once_and_kept_in_the_result() {
    let case = Case::new();
    let (loaded, lines) = case.load("warn('careful')\nwarn(msg='again')\n");
    assert_eq!(loaded.project.unwrap().warnings, ["careful", "again"]);
    assert_eq!(lines, ["WARNING: careful", "WARNING: again"]);
    let (loaded, lines) = case.load("warn('careful')\nfail('x')\n");
    assert!(loaded.project.is_err());
    assert_eq!(lines, ["WARNING: careful"]);
}
