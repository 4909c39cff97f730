//! Servers with a readiness probe. The test itself listens on their ports.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;

use lilt_e2e::lilt::Start;
use lilt_testbed_env::{Project, free_port};

/// Answers with the file at this path as long as it is there. Ends with the test's process.
fn listen(port: u16, page: PathBuf) {
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let head = BufReader::new(&stream).lines().map_while(Result::ok);
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let answer = match std::fs::read_to_string(&page) {
                Ok(text) => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()),
                Err(_) => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
            };
            // The probe may have timed out.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
}

#[test]
fn server_is_ready_when_probe_succeeds() {
    let port = free_port();
    let tiltfile = format!(
        "local_resource('web', serve_cmd='echo up; exec sleep 987',\n\
        \u{20}              readiness_probe=probe(http_get=http_get_action({port}, path='/page'), period_secs=1))\n\
         local_resource('after', 'echo after', resource_deps=['web'])\n"
    );
    let project = Project::new(&[("Tiltfile", &tiltfile)]);
    let lilt = Start::up(&project).start();
    lilt.wait_until("web", "runs and is not ready", |it| {
        it["status"]["runtimeStatus"] == "pending" && it["status"]["localResourceInfo"]["pid"] != 0
    });
    lilt.wait_for_log_line(
        "web",
        &format!("[readiness probe: failure] http://localhost:{port}/page: connection refused"),
    );
    assert_eq!(lilt.count("after │ after"), 0, "what depends on it waits");
    listen(port, project.file("page"));
    project.write("page", "here I am\n");
    lilt.wait_for_log_line("web", "[readiness probe: success] here I am");
    lilt.wait_until_ready("web");
    lilt.wait_for_log_line("after", "after");
    let output_end = lilt.output_end();
    project.remove("page");
    let answer = format!("[readiness probe: failure] http://localhost:{port}/page answers 404 Not Found");
    lilt.wait_for_log_line_after(output_end, "web", &answer);
    lilt.wait_until("web", "is no longer ready", |it| it["status"]["runtimeStatus"] == "pending");
    lilt.quit();
}

#[test]
fn exec_probe_decides_readiness() {
    let tiltfile = "local_resource('db', serve_cmd='echo up; exec sleep 987', serve_dir='sub',\n\
                   \u{20}   readiness_probe=probe(exec=exec_action(['sh', 'check.sh']), period_secs=1, failure_threshold=1))\n";
    let check = "test -e ready || { echo not yet; exit 1; }; echo yes";
    let project = Project::new(&[("Tiltfile", tiltfile), ("check.sh", check), ("sub/x", "")]);
    let lilt = Start::up(&project).start();
    lilt.wait_for_log_line("db", "[readiness probe: failure] not yet");
    project.write("ready", "");
    lilt.wait_for_log_line("db", "[readiness probe: success] yes");
    lilt.wait_until_ready("db");
    lilt.quit();
}

#[test]
fn ci_waits_for_probe() {
    let port = free_port();
    let tiltfile = format!(
        "local_resource('web', serve_cmd='echo up; exec sleep 987',\n\
        \u{20}              readiness_probe=probe(tcp_socket=tcp_socket_action({port}), failure_threshold=1))\n"
    );
    let project = Project::new(&[("Tiltfile", &tiltfile)]);
    let lilt = Start::ci(&project).start();
    lilt.wait_for_log_line(
        "web",
        &format!("[readiness probe: failure] localhost:{port}: connection refused"),
    );
    listen(port, project.file("none"));
    lilt.wait_for_exit().expect_clean_exit(0);
}
