//! Interactive questions of commands.

use lilt_e2e::lilt::Start;
use lilt_e2e::tty::Terminal;
use lilt_testbed_env::Project;

#[test]
fn up_without_tiltfile_offers_a_starter() {
    let project = Project::new(&[]);
    let terminal = Terminal::start(&project, &["up", "--stream", "--port", "random"]);
    terminal.wait_for("Create a starter Tiltfile? (y/n)");
    terminal.types("what?\n");
    terminal.types("yes\n");
    terminal.wait_for_written("Hello from your Tiltfile");
    assert!(project.exists("Tiltfile"));
    terminal.types("\x03");
    assert!(terminal.ends_clean().success());
}

#[test]
fn up_without_a_tiltfile_waits_for_it_or_ends() {
    let project = Project::new(&[]);
    let terminal = Terminal::start(&project, &["up", "--stream", "--port", "random"]);
    terminal.wait_for("Create a starter Tiltfile? (y/n)");
    terminal.types("n\n");
    terminal.wait_for_written("Tilt started on");
    assert!(!project.exists("Tiltfile"));
    project.write("Tiltfile", "print('here it is')\n");
    terminal.wait_for_written("here it is");
    terminal.types("\x03");
    assert!(terminal.ends_clean().success());

    let project = Project::new(&[]);
    let terminal = Terminal::start(&project, &["up", "--port", "random"]);
    terminal.wait_for("Create a starter Tiltfile? (y/n)");
    terminal.types("\x04");
    assert!(terminal.ends_clean().success());
    assert!(!project.exists("Tiltfile"));
}

#[test]
fn args_without_arguments_opens_editor() {
    let tiltfile =
        "config.define_string_list('names', args=True)\nprint('names', config.parse().get('names', []))\n";
    let project = Project::new(&[
        ("Tiltfile", tiltfile),
        ("edit.sh", "grep -q '^# edit' $2 && echo \"$1 'two words'\" >> $2"),
    ]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_line("names []");
    let port = lilt.port().to_string();
    let edit = |variable: &str, words: &str| {
        let editor = format!("sh {} {words}", project.file("edit.sh").display());
        let variables = [(variable, editor.as_str()), ("EDITOR", "false")];
        // The first one that is set counts.
        let variables = if variable == "EDITOR" { &variables[..1] } else { &variables };
        Terminal::start_with(&project, &["args", "--port", &port], variables)
    };
    let terminal = edit("EDITOR", "one");
    terminal.wait_for_written("Changed config args for Tilt running at localhost:");
    assert!(terminal.ends_clean().success());
    lilt.wait_for_line("names [\"one\", \"two words\"]");
    // There is a line already: two are one too many.
    let terminal = edit("TILT_EDITOR", "two");
    terminal.wait_for_written("cannot have multiple non-comment lines");
    assert_eq!(terminal.ends_clean().code(), Some(1));
    let terminal = Terminal::start_with(&project, &["args", "--port", &port], &[("TILT_EDITOR", "exit 3;")]);
    terminal.wait_for_written("ended with exit code 3");
    assert_eq!(terminal.ends_clean().code(), Some(1));
    lilt.quit();
}
