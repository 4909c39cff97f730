//! Invalid kubeconfigs, and slow exec plugins. Nothing listens at the server's address.

use std::os::unix::fs::PermissionsExt as _;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_e2e::tty::Terminal;
use lilt_testbed_env::{Project, eventually};

const POD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";

fn kubeconfig(user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: kind-mine\n\
         clusters:\n- {{name: kind-mine, cluster: {{server: 'https://127.0.0.1:1'}}}}\n\
         contexts:\n- {{name: kind-mine, context: {{cluster: kind-mine, user: me}}}}\n\
         users:\n- {{name: me, user: {user}}}\n"
    )
}

fn project(user: &str) -> Project {
    Project::new(&[
        ("Tiltfile", "k8s_yaml('settings.yaml')\n"),
        ("settings.yaml", POD),
        ("config", &kubeconfig(user)),
    ])
}

fn up(project: &Project) -> Lilt {
    Start::up(project).variable("KUBECONFIG", project.file("config")).start()
}

/// An unusable kubeconfig is read again when it, or a file that it names, changes: not before.
#[test]
fn invalid_kubeconfig_is_reloaded_when_changed() {
    let project = project("{token: t, username: me}");
    let lilt = up(&project);
    lilt.wait_for_line("ERROR: kubeconfig's context kind-mine cannot be used");
    lilt.wait_for_line("a token and a username cannot be combined");
    lilt.wait_for_line("Connecting again when the kubeconfig changes.");
    assert_eq!(lilt.count("Trying again"), 0, "{}", lilt.output());

    project.write("config", &kubeconfig("{tokenFile: token}"));
    lilt.wait_for_line("cannot read the tokenFile");
    assert_eq!(lilt.count("Trying again"), 0, "{}", lilt.output());

    project.write("token", "t\n");
    lilt.wait_for_line("ERROR: cannot reach the cluster kind-mine");
    lilt.wait_for_line("Trying again until it answers.");
    assert_eq!(lilt.count("Connecting again when the kubeconfig changes."), 2, "{}", lilt.output());
    lilt.quit();
}

/// A project whose login waits for a device code to be entered: until the file `entered` exists.
fn project_with_login() -> Project {
    let user =
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, interactiveMode: Never}}";
    let project = project(user);
    let answer = r#"{"kind": "ExecCredential", "status": {"token": "t"}}"#;
    project.write(
        "login",
        &format!(
            "#!/bin/sh\ncd \"$(dirname \"$0\")\"\necho 'enter the code ABCD-42' >&2\n\
             until [ -e entered ]; do sleep 0.1; done\necho '{answer}'\n"
        ),
    );
    std::fs::set_permissions(project.file("login"), std::fs::Permissions::from_mode(0o755))
        .expect("it is there");
    project
}

/// A device code must be shown while the plugin waits for it.
#[test]
fn exec_plugin_stderr_is_logged_while_it_runs() {
    let project = project_with_login();
    let lilt = up(&project);
    lilt.wait_for_line("enter the code ABCD-42");
    assert_eq!(lilt.count("cannot reach"), 0, "the plugin still waits: {}", lilt.output());
    project.write("entered", "");
    lilt.wait_for_line("ERROR: cannot reach the cluster kind-mine");
    lilt.quit();
}

#[test]
fn commands_without_a_session_print_exec_plugin_stderr_while_it_runs() {
    for arguments in [&["down"][..], &["plan", "--down"]] {
        let project = project_with_login();
        let start = Start::new(&project, arguments).variable("KUBECONFIG", project.file("config"));
        let lilt = start.start();
        lilt.wait_for_line("enter the code ABCD-42");
        assert_eq!(lilt.count("cannot reach"), 0, "the plugin still waits: {}", lilt.output());
        project.write("entered", "");
        let ended = lilt.wait_for_exit().expect_clean_exit(1);
        assert!(ended.stderr().contains("enter the code ABCD-42"), "{}", ended.output());
    }
}

/// Some plugins open a browser window each time.
#[test]
fn failing_exec_plugin_is_retried_with_backoff() {
    let user =
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, interactiveMode: Never}}";
    let project = project(user);
    project.write("login", "#!/bin/sh\necho started >> \"$(dirname \"$0\")/starts\"\nexit 1\n");
    std::fs::set_permissions(project.file("login"), std::fs::Permissions::from_mode(0o755))
        .expect("it is there");
    let lilt = up(&project);
    lilt.wait_for_line("login of kubeconfig failed: exit status: 1");
    lilt.wait_for_line("Trying again when the kubeconfig changes, and until then ever less often");
    project.write("config", &kubeconfig("{token: t}"));
    lilt.wait_for_line("ERROR: cannot reach the cluster kind-mine");
    // The second one only where this test is slower than the first pause.
    let starts = std::fs::read_to_string(project.file("starts")).expect("it was started");
    assert!(starts.lines().count() <= 2, "{starts}");
    lilt.quit();
}

/// As with kubectl: `IfAvailable` is also the default of `v1beta1`.
#[test]
fn exec_plugin_can_prompt_in_terminal() {
    let user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, interactiveMode: IfAvailable}}";
    let project = project(user);
    let answer = r#"{"kind": "ExecCredential", "status": {"token": "t"}}"#;
    let ask =
        "printf 'password: ' >&2; read -r word && printf '%s %s' \"$word\" \"$KUBERNETES_EXEC_INFO\" > typed";
    project.write("login", &format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"\n{ask}\necho '{answer}'\n"));
    std::fs::set_permissions(project.file("login"), std::fs::Permissions::from_mode(0o755))
        .expect("it is there");
    let config = project.file("config").display().to_string();
    let terminal = Terminal::start_with(&project, &["doctor"], &[("KUBECONFIG", &config)]);
    terminal.wait_for("password:");
    terminal.types("s3cret\n");
    let stdin = eventually("the plugin has the password", || {
        std::fs::read_to_string(project.file("typed")).ok().filter(|text| text.ends_with('}'))
    });
    assert!(stdin.starts_with("s3cret ") && stdin.contains("\"interactive\":true"), "{stdin}");
    assert_eq!(terminal.ends_clean().code(), Some(0));
}
