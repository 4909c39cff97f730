//! Who comes in at the web port of a real session.

use std::os::unix::fs::PermissionsExt as _;

use lilt_testbed_env::Project;

use crate::objects::client::ask;
use crate::support::lilt::{Lilt, Start};

const RESOURCES: &str = "/api/resources";

fn start(project: &Project, port: &str) -> (Lilt, String) {
    let start = Start::new(project, &["up", "--stream", "--port", port]);
    let lilt = start.variable("TILT_DEV_DIR", project.file("dev")).without("TILT_DISABLE_HUD_AUTH").start();
    let line = lilt.wait_for_line("Tilt started on http://");
    let (_, token) = line.trim().split_once("?token=").expect("the link has a token");
    let token = token.to_owned();
    lilt.wait_for_line("Successfully loaded Tiltfile");
    (lilt, token)
}

#[test]
fn the_printed_link_and_the_own_commands_come_in_and_nobody_else() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'echo hello')\n")]);
    let (lilt, token) = start(&project, "random");
    let port = lilt.port();
    assert_eq!(ask(port, "GET", "/", "", "").0, 401);
    assert_eq!(ask(port, "GET", RESOURCES, "", "").0, 403);
    assert_eq!(ask(port, "POST", "/api/trigger", "", "{\"manifest_names\":[\"one\"]}").0, 403);
    assert_eq!(ask(port, "POST", "/proxy/apis/tilt.dev/v1alpha1/cmds", "", "{}").0, 403);
    assert_eq!(ask(port, "GET", RESOURCES, &format!("X-Tilt-Token: {token}0\r\n"), "").0, 403);
    assert_eq!(ask(port, "GET", RESOURCES, &format!("X-Tilt-Token: {token}\r\n"), "").0, 200);

    let (status, head, _) = ask(port, "GET", &format!("/?token={token}"), "", "");
    assert_eq!(status, 303);
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let pair = cookie.split(';').next().expect("name and value");
    assert_eq!(ask(port, "GET", RESOURCES, &format!("Cookie: {pair}\r\n"), "").0, 200);

    for arguments in
        [&["trigger", "one"][..], &["logs", "one"], &["alpha", "tree-view"], &["dump", "webview"]]
    {
        let ended = Start::new(&project, arguments).beside(&lilt).without("TILT_DISABLE_HUD_AUTH").run();
        assert_eq!(ended.code(), Some(0), "{arguments:?}: {}", ended.output());
    }
    lilt.quit();
}

#[test]
fn a_user_who_wants_no_token_is_asked_for_none() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let lilt = Start::up(&project).variable("TILT_DISABLE_HUD_AUTH", "1").start();
    assert!(!lilt.wait_for_line("Tilt started on http://").contains("token"));
    assert_eq!(ask(lilt.port(), "GET", RESOURCES, "", "").0, 200);
    lilt.quit();
}

/// As behind a proxy that encrypts and asks for a password of its own.
#[test]
fn pages_of_a_proxy_that_the_user_names_come_in() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let lilt = Start::up(&project).variable("LILT_ALLOWED_HOSTS", "dev.example,other.example:8443").start();
    let from = |origin: &str| ask(lilt.port(), "GET", RESOURCES, &format!("Origin: {origin}\r\n"), "").0;
    assert_eq!((from("https://dev.example"), from("https://other.example:8443")), (200, 200));
    assert_eq!((from("https://evil.example"), from("https://other.example")), (403, 403));
    lilt.quit();
    let wrong = Start::up(&project).variable("LILT_ALLOWED_HOSTS", "*.example").run().clean(1);
    assert!(wrong.stderr().contains("LILT_ALLOWED_HOSTS: \"*.example\" is no name"), "{}", wrong.output());
}

#[test]
fn a_port_keeps_its_token_so_that_a_browser_stays_in() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = free.local_addr().expect("an address").port().to_string();
    drop(free);
    let (lilt, first) = start(&project, &port);
    lilt.quit();
    let file = project.file("dev").join("tokens").join(&port);
    let mode = std::fs::metadata(&file).expect("it is kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (lilt, second) = start(&project, &port);
    assert_eq!(first, second);
    lilt.quit();
    // A file that was cut off is no token.
    project.write(&format!("dev/tokens/{port}"), "short");
    let (lilt, third) = start(&project, &port);
    assert!(third.len() >= 32 && third != second);
    lilt.quit();
}

#[test]
fn who_listens_to_other_machines_is_told_what_that_means() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let open = Start::new(&project, &["up", "--stream", "--port", "random", "--host", "0.0.0.0"]);
    let lilt = open.variable("TILT_DEV_DIR", project.file("dev")).without("TILT_DISABLE_HUD_AUTH").start();
    let words =
        lilt.wait_for_line("--host 0.0.0.0: the page can be reached from other machines, unencrypted");
    assert!(words.contains("can run commands as you"), "{words}");
    lilt.wait_for_line("Tilt started on http://");
    assert_eq!(ask(lilt.port(), "GET", RESOURCES, "", "").0, 403);
    lilt.quit();
    // Nobody else is told: it listens to this machine alone.
    let (lilt, _) = start(&project, "random");
    assert!(!lilt.output().contains("other machines"), "{}", lilt.output());
    lilt.quit();
}
