//! Authentication at the web port of a real session.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use lilt_e2e::lilt::{Lilt, Start};
use lilt_testbed_env::Project;

use crate::objects::client::ask;

const RESOURCES: &str = "/api/resources";

/// A session that asks for a token, and the code of the link that it printed.
fn start(project: &Project, arguments: &[&str]) -> (Lilt, String) {
    let start = Start::new(project, &[&["up", "--stream"], arguments].concat());
    let lilt = start.variable("TILT_DEV_DIR", project.file("dev")).without("TILT_DISABLE_HUD_AUTH").start();
    let line = lilt.wait_for_line("Tilt started on http://");
    let (_, code) = line.trim().split_once("?code=").expect("the link has a code");
    let code = code.to_owned();
    lilt.wait_for_line("Successfully loaded Tiltfile");
    (lilt, code)
}

fn command(project: &Project, lilt: &Lilt, arguments: &[&str]) -> Start {
    let start = Start::new(project, arguments).with_home_of(lilt).without("TILT_DISABLE_HUD_AUTH");
    start.variable("TILT_DEV_DIR", project.file("dev"))
}

fn token(project: &Project, lilt: &Lilt) -> String {
    let port = format!("--port={}", lilt.port());
    command(project, lilt, &["token", &port]).run().expect_clean_exit(0).stdout().trim().to_owned()
}

/// The cookie that a code is exchanged for, as a header; none if it is refused.
fn redeem(port: u16, code: &str) -> Option<String> {
    let (status, head, _) = ask(port, "GET", &format!("/?code={code}"), "", "");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    assert_eq!(status, if cookie.is_some() { 303 } else { 401 });
    Some(format!("Cookie: {}\r\n", cookie?.split(';').next().expect("name and value")))
}

fn header(token: &str) -> String {
    format!("X-Tilt-Token: {token}\r\n")
}

fn free_port() -> String {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    free.local_addr().expect("an address").port().to_string()
}

#[test]
fn only_link_and_own_commands_are_authorized() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'echo hello')\n")]);
    let (lilt, code) = start(&project, &["--port", "random"]);
    let port = lilt.port();
    assert_eq!(ask(port, "GET", "/", "", "").0, 401);
    assert_eq!(ask(port, "GET", RESOURCES, "", "").0, 403);
    assert_eq!(ask(port, "POST", "/api/trigger", "", "{\"manifest_names\":[\"one\"]}").0, 403);
    assert_eq!(ask(port, "POST", "/proxy/apis/tilt.dev/v1alpha1/cmds", "", "{}").0, 403);
    let token = token(&project, &lilt);
    let printed = command(&project, &lilt, &["token", "--header", &format!("--port={port}")])
        .run()
        .expect_clean_exit(0);
    assert_eq!(printed.stdout(), header(&token).replace('\r', ""));
    assert!(!lilt.output().contains(&token), "the token is not printed");
    assert_eq!(ask(port, "GET", RESOURCES, &header(&format!("{token}0")), "").0, 403);
    assert_eq!(ask(port, "GET", RESOURCES, &header(&token), "").0, 200);

    let cookie = redeem(port, &code).expect("the printed link works");
    assert_eq!(ask(port, "GET", RESOURCES, &cookie, "").0, 200);
    assert!(!cookie.contains(&token), "the cookie is not the token");
    assert_eq!(redeem(port, &code), None, "and works once");

    for arguments in
        [&["trigger", "one"][..], &["logs", "one"], &["alpha", "tree-view"], &["dump", "webview"]]
    {
        let ended =
            Start::new(&project, arguments).with_home_of(&lilt).without("TILT_DISABLE_HUD_AUTH").run();
        assert_eq!(ended.code(), Some(0), "{arguments:?}: {}", ended.output());
    }
    lilt.quit();
}

#[test]
fn open_prints_a_new_link_and_hides_the_token_from_the_process_list() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let (lilt, _) = start(&project, &["--port", "random"]);
    let token = token(&project, &lilt);
    let printed = command(&project, &lilt, &["open", "--print"]).run().expect_clean_exit(0).stdout();
    let (address, code) = printed.trim().split_once("?code=").expect("the link has a code");
    assert_eq!(address, format!("http://localhost:{}/", lilt.port()));
    assert!(redeem(lilt.port(), code).is_some());

    // Where there is no browser the link is printed as well.
    let start = command(&project, &lilt, &["open"]);
    let ended = ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"]
        .iter()
        .fold(start, |start, name| start.without(name))
        .run()
        .expect_clean_exit(0);
    assert!(ended.stderr().contains("no browser here"), "{}", ended.output());
    assert!(ended.stdout().contains("?code="), "{}", ended.output());

    // What the browser's command line has is a code of its own.
    let (browser, opened) = (project.file("browser"), project.file("opened"));
    project.write("browser", &format!("#!/bin/sh\necho \"$@\" > {}\n", opened.display()));
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let ended = command(&project, &lilt, &["open"]).variable("BROWSER", &browser).run().expect_clean_exit(0);
    assert_eq!(ended.stdout(), format!("Opened {address} in the browser\n"));
    let argument = std::fs::read_to_string(opened).expect("the browser was started");
    assert!(!argument.contains(&token) && !argument.contains(code), "{argument}");
    let (_, code) = argument.trim().split_once("?code=").expect("it was given a code");
    assert!(redeem(lilt.port(), code).is_some());
    lilt.quit();
}

#[test]
fn rotation_replaces_the_token_of_a_running_session() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let (lilt, code) = start(&project, &["--port", "random"]);
    let port = lilt.port();
    let old = token(&project, &lilt);
    let printed = command(&project, &lilt, &["open", "--print"]).run().expect_clean_exit(0).stdout();
    let (_, unused) = printed.trim().split_once("?code=").expect("the link has a code");
    let cookie = redeem(port, &code).expect("the printed link works");
    let words = command(&project, &lilt, &["token", "--rotate"]).run().expect_clean_exit(0).stdout();
    assert!(words.starts_with(&format!("Replaced the token of http://localhost:{port}/")), "{words}");
    let new = token(&project, &lilt);
    assert_ne!(old, new);
    assert_eq!(ask(port, "GET", RESOURCES, &header(&old), "").0, 403);
    assert_eq!(ask(port, "GET", RESOURCES, &cookie, "").0, 403);
    assert_eq!(redeem(port, unused), None);
    assert_eq!(ask(port, "GET", RESOURCES, &header(&new), "").0, 200);
    command(&project, &lilt, &["trigger", "one"]).run().expect_clean_exit(0);
    lilt.quit();
}

#[test]
fn disabled_auth_requires_no_token() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let lilt = Start::up(&project).variable("TILT_DISABLE_HUD_AUTH", "1").start();
    assert!(!lilt.wait_for_line("Tilt started on http://").contains("code"));
    assert_eq!(ask(lilt.port(), "GET", RESOURCES, "", "").0, 200);
    let link =
        Start::new(&project, &["open", "--print"]).with_home_of(&lilt).run().expect_clean_exit(0).stdout();
    assert_eq!(link, format!("http://localhost:{}/\n", lilt.port()));
    let refused = Start::new(&project, &["token"]).with_home_of(&lilt).run().expect_clean_exit(1).stderr();
    assert!(refused.contains("has no token") && refused.contains("TILT_DISABLE_HUD_AUTH"), "{refused}");
    lilt.quit();
}

/// As behind a proxy that terminates TLS and authenticates.
#[test]
fn allowed_hosts_are_accepted() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let start = Start::up(&project).argument("--allowed-host=dev.example,other.example:8443");
    let lilt =
        start.argument("--allowed-host=box.example").argument("--allowed-host=a.example,b.example").start();
    let from = |origin: &str| ask(lilt.port(), "GET", RESOURCES, &format!("Origin: {origin}\r\n"), "").0;
    assert_eq!((from("https://dev.example"), from("https://other.example:8443")), (200, 200));
    assert_eq!((from("https://box.example"), from("http://b.example")), (200, 200));
    assert_eq!((from("https://evil.example"), from("https://other.example")), (403, 403));
    lilt.quit();
    let wrong = Start::up(&project).argument("--allowed-host=*.example").run().expect_clean_exit(1);
    assert!(
        wrong.stderr().contains("--allowed-host: \"*.example\" is not a host name"),
        "{}",
        wrong.output()
    );
    let wrong = Start::up(&project).argument("--allowed-host=a/b").run().expect_clean_exit(1);
    assert!(wrong.stderr().contains("--allowed-host: \"a/b\" is not a host name"), "{}", wrong.output());
}

#[test]
fn token_ends_with_the_session_unless_it_is_kept() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let port = free_port();
    let number = port.parse().expect("a number");
    let (lilt, code) = start(&project, &["--port", &port]);
    let (first, cookie) = (token(&project, &lilt), redeem(number, &code).expect("the link works"));
    lilt.quit();
    assert!(!project.file("dev/tokens").exists(), "nothing is kept");

    let (lilt, code) = start(&project, &["--port", &port, "--keep-token"]);
    let kept = token(&project, &lilt);
    assert_ne!(first, kept);
    assert_eq!(ask(number, "GET", RESOURCES, &header(&first), "").0, 403);
    assert_eq!(ask(number, "GET", RESOURCES, &cookie, "").0, 403, "a cookie ends with its session");
    let cookie = redeem(number, &code).expect("the link works");
    let printed = command(&project, &lilt, &["open", "--print"]).run().expect_clean_exit(0).stdout();
    let (_, unused) = printed.trim().split_once("?code=").expect("the link has a code");
    lilt.quit();
    let file = project.file("dev").join("tokens").join(&port);
    let mode = std::fs::metadata(&file).expect("it is kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let (lilt, _) = start(&project, &["--port", &port, "--keep-token"]);
    assert_eq!(kept, token(&project, &lilt));
    assert_eq!(ask(number, "GET", RESOURCES, &cookie, "").0, 200, "the browser stays signed in");
    assert_eq!(redeem(number, unused), None, "links end with their session");
    command(&project, &lilt, &["token", "--rotate"]).run().expect_clean_exit(0);
    let rotated = token(&project, &lilt);
    lilt.quit();
    let (lilt, _) = start(&project, &["--port", &port, "--keep-token"]);
    assert!(rotated != kept && rotated == token(&project, &lilt), "the new token is kept");
    lilt.quit();
    // A file that was cut off is no token.
    project.write(&format!("dev/tokens/{port}"), "short");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let (lilt, _) = start(&project, &["--port", &port, "--keep-token"]);
    assert!(token(&project, &lilt).len() >= 32);
    lilt.quit();
}

#[test]
fn token_file_that_others_can_read_is_refused() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let port = free_port();
    project.write(&format!("dev/tokens/{port}"), &"a".repeat(64));
    let file = project.file("dev").join("tokens").join(&port);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
    for arguments in [&["up", "--keep-token"][..], &["trigger", "one"]] {
        let start = Start::new(&project, arguments).argument("--port").argument(&port);
        let start = start.variable("TILT_DEV_DIR", project.file("dev")).without("TILT_DISABLE_HUD_AUTH");
        let refused = start.run().expect_clean_exit(1).stderr();
        assert!(
            refused.contains(&format!("{} is open to other users (mode 644)", file.display())),
            "{refused}"
        );
        assert!(refused.contains(&format!("chmod 600 {}", file.display())), "{refused}");
    }
}

/// Any process may listen on the port of an earlier session.
#[test]
fn kept_token_is_sent_to_a_session_that_knows_it_only() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let stranger = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = stranger.local_addr().expect("an address").port();
    let secret = "a".repeat(64);
    project.write(&format!("dev/tokens/{port}"), &secret);
    let file = project.file("dev").join("tokens").join(port.to_string());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = stranger.accept().expect("a connection");
        let mut heard = String::new();
        // The challenge and what follows, both answered as a session that lies would.
        for answer in ["proof", "{}"] {
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).expect("a request");
            heard.push_str(&String::from_utf8_lossy(&buffer[..length]));
            let length = answer.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{answer}");
            stream.write_all(answer.as_bytes()).expect("it is read");
        }
        heard
    });
    let trigger = Start::new(&project, &["trigger", "one"]).argument(&format!("--port={port}"));
    trigger.variable("TILT_DEV_DIR", project.file("dev")).run();
    let heard = heard.join().expect("no panic");
    assert!(heard.contains("/api/proof") && heard.contains("/api/"), "{heard}");
    assert!(!heard.contains(&secret), "{heard}");

    // One that knows it gets it, also if it is not found by its folder.
    let port = free_port();
    let (lilt, _) = start(&project, &["--port", &port, "--keep-token"]);
    let ended = Start::new(&project, &["trigger", "one"])
        .argument(&format!("--port={port}"))
        .variable("TILT_DEV_DIR", project.file("dev"))
        .run();
    assert_eq!(ended.code(), Some(0), "{}", ended.output());
    lilt.quit();
}

#[test]
fn names_below_localhost_separate_cookies() {
    let project = Project::new(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let (lilt, code) = start(&project, &["--port", "random", "--host", "lilt.localhost"]);
    let port = lilt.port();
    let line = lilt.wait_for_line("Tilt started on http://");
    assert!(line.contains(&format!("http://lilt.localhost:{port}/")), "{line}");
    assert!(!lilt.output().contains("other machines"), "{}", lilt.output());
    let cookie = redeem(port, &code).expect("the link works by either name");
    assert_eq!(ask(port, "GET", RESOURCES, &cookie, "").0, 200);
    command(&project, &lilt, &["trigger", "one"]).run().expect_clean_exit(0);
    lilt.quit();
}

#[test]
fn listening_on_all_interfaces_warns() {
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
    let (lilt, _) = start(&project, &["--port", "random"]);
    assert!(!lilt.output().contains("other machines"), "{}", lilt.output());
    lilt.quit();
}
