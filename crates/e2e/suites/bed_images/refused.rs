//! Failing pushes: the error, and the recovery.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use lilt_e2e::lilt::Start;
use lilt_e2e::page::get;
use lilt_e2e::proxy::Proxy;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually, free_port};

use crate::account::write_kubeconfig;

/// Pushes to a port of this machine and pulls from the test bed's registry. The base image is here, so that no build needs one.
fn start(site: &Site, port: u16) -> Start {
    let testbed = Testbed::get();
    let cluster = format!("team-{}", site.image());
    write_kubeconfig(site, &cluster);
    let base = format!("{}-base", site.image());
    testbed.docker(&["tag", &format!("{}/library/busybox", testbed.registry()), &base]);
    let dockerfile = site.project.read("app/Dockerfile").replace("FROM busybox", &format!("FROM {base}"));
    site.project.write("app/Dockerfile", &dockerfile);
    let tiltfile = format!(
        "allow_k8s_contexts('{cluster}')\ndefault_registry('localhost:{port}', host_from_cluster='{}')\n{}",
        testbed.registry(),
        site.tiltfile()
    );
    site.project.write("Tiltfile", &tiltfile);
    site.up().variable("KUBECONFIG", site.project.file("kubeconfig"))
}

/// The connection to the registry breaks during a push.
#[test]
fn push_waits_for_registry_that_stops() {
    let site = Site::new("push-broken");
    let port = free_port();
    let registry = Proxy::to(port, Testbed::get().registry().to_owned());
    let lilt = start(&site, port).start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();

    registry.hold();
    let output_end = lilt.output_end();
    site.project.write("app/words.txt", "second\n");
    lilt.wait_for_line_after(output_end, "web │      Pushing with Docker client");
    drop(registry);
    let failure = lilt.wait_for_line_after(output_end, "web │ ERROR: Build Failed: ");
    assert!(failure.contains(&format!("cannot push localhost:{port}/{}:tilt-", site.image())), "{failure}");
    lilt.wait_for_line_after(output_end, &format!("hint: check that the registry localhost:{port} runs"));
    lilt.wait_until("web", "has failed", |it| it["status"]["updateStatus"] == "error");
    site.serves("one");
    assert_eq!(site.pods(), [pod], "what runs goes on");

    // It resumes when the registry is back.
    let output_end = lilt.output_end();
    let _registry = Proxy::to(port, Testbed::get().registry().to_owned());
    lilt.wait_for_line_after(output_end, "web │      Pushing with Docker client");
    eventually("the new content is served", || {
        get(site.port, "/words.txt").filter(|page| page == "second\n")
    });
    lilt.wait_until_ready("web");
    lilt.quit();
}

/// Answers every request like a registry that requires a login.
fn refusing(status: &'static str, header: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let Ok(reader) = client.try_clone() else { return };
                // Engines try TLS first, and get an HTTP error.
                let mut first = [0];
                if matches!(client.peek(&mut first), Ok(1) if first == [0x16]) {
                    let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
                    return;
                }
                let mut lines = BufReader::new(reader).lines().map_while(Result::ok);
                while let Some(request) = lines.next() {
                    if lines.find(String::is_empty).is_none() {
                        return;
                    }
                    let body = r#"{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}"#;
                    let mut answer = format!(
                        "HTTP/1.1 {status}\r\n{header}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                        body.len()
                    );
                    // Further bytes would be taken for the next response.
                    if !request.starts_with("HEAD ") {
                        answer.push_str(body);
                    }
                    if client.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn push_denied_hints_at_docker_login() {
    for (topic, status, header) in [
        ("push-401", "401 Unauthorized", "WWW-Authenticate: Basic realm=\"test\"\r\n"),
        ("push-403", "403 Forbidden", ""),
    ] {
        let site = Site::new(topic);
        let port = refusing(status, header);
        let lilt = start(&site, port).start();
        let failure = lilt.wait_for_line("web │ ERROR: Build Failed: ");
        assert!(
            failure.contains(&format!("cannot push localhost:{port}/{}:tilt-", site.image())),
            "{failure}"
        );
        lilt.wait_for_line(&format!("hint: log in with `docker login localhost:{port}`"));
        lilt.quit();
    }
}
