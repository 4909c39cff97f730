//! Arguments are parsed as in Tilt.

use lilt_e2e::lilt::Start;
use lilt_testbed_env::Project;

const TILTFILE: &str = "\
config.define_string_list('args', args=True)
config.define_bool('fast')
config.define_string('env')
parsed = config.parse()
print('parsed', parsed.get('args', []), parsed.get('fast', False), parsed.get('env', '-'))
local_resource('only', 'true')
";

fn parsed(arguments: &[&str]) -> String {
    let project = Project::new(&[("Tiltfile", TILTFILE), ("other/Tiltfile", TILTFILE)]);
    let output = Start::new(&project, arguments).run().expect_clean_exit(0).stdout();
    let line = output.lines().find_map(|line| line.strip_prefix("parsed "));
    line.unwrap_or_else(|| panic!("{output}")).to_owned()
}

#[test]
fn flags_may_follow_arguments_until_double_dash() {
    assert_eq!(parsed(&["ci", "--port=random"]), "[] False -");
    assert_eq!(parsed(&["ci", "a", "--port", "random", "b"]), r#"["a", "b"] False -"#);
    assert_eq!(parsed(&["ci", "--port=random", "--", "--fast", "a"]), r#"["a"] True -"#);
    assert_eq!(parsed(&["ci", "a", "--port=random", "--", "--env=x", "b"]), r#"["a", "b"] False x"#);
}

#[test]
fn last_flag_counts_and_booleans_take_values() {
    assert_eq!(parsed(&["ci", "--port=1", "--port=random"]), "[] False -");
    assert_eq!(parsed(&["-v=false", "ci", "--debug=0", "-f=other/Tiltfile", "--port=random"]), "[] False -");
    assert_eq!(parsed(&["ci", "--debug", "--debug=false", "--port=random"]), "[] False -");
}

#[test]
fn verbose_and_debug_print_diagnostics() {
    let project = Project::new(&[("Tiltfile", "local_resource('only', 'true')")]);
    let quiet = Start::new(&project, &["ci", "--port=random"]).run().expect_clean_exit(0);
    assert_eq!(quiet.stderr(), "");
    // Before and behind the command.
    for arguments in [["-d", "ci", "--port=random"], ["ci", "--debug", "--port=random"]] {
        let ended = Start::new(&project, &arguments).run().expect_clean_exit(0);
        assert!(ended.stderr().contains("DEBUG"), "{}", ended.output());
        assert!(!ended.stdout().contains("DEBUG"), "{}", ended.output());
    }
    let verbose = Start::new(&project, &["ci", "-v", "--port=random"]).run().expect_clean_exit(0).stderr();
    assert!(verbose.contains("the session begins") && !verbose.contains("DEBUG"), "{verbose}");
}

#[test]
fn ci_timeout_0_is_no_timeout() {
    assert_eq!(parsed(&["ci", "--timeout=0", "--port=random"]), "[] False -");
}
