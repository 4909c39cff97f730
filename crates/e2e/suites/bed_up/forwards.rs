//! Port forwards to pods.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use lilt_e2e::lilt::Start;
use lilt_e2e::page::get;
use lilt_e2e::site::Site;
use lilt_e2e::workload::{deployment, project, python};
use lilt_testbed_env::{Testbed, eventually, free_port};
use serde_json::json;
use tungstenite::Message;

const SERVE: &str = "mkdir /www; echo hello >/www/index.html; exec httpd -f -p 8080 -h /www";

fn serves(port: u16) {
    eventually("the forward serves", || get(port, "/").filter(|page| page == "hello\n"));
}

fn trouble(resource: &serde_json::Value) -> String {
    resource["metadata"]["annotations"]["lilt.dev/forwards"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_form_of_port_forward_works() {
    let namespace = Testbed::get().namespace("forms");
    let [plain, pair, host, named] = [(); 4].map(|()| free_port());
    let web = deployment("web", SERVE, |spec| {
        spec["containers"][0]["ports"] = json!([{"containerPort": 8080}, {"containerPort": 9090}]);
    });
    let tiltfile = format!(
        "k8s_resource('web', port_forwards=[{plain}, '{pair}:8080', '127.0.0.1:{host}:8080',\n    \
         port_forward({named}, 8080, name='api', link_path='/index.html', host='127.0.0.2')])\n"
    );
    let project = project(&[web], &tiltfile);
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    let ready = lilt.wait_until_ready("web");
    for port in [plain, pair, host] {
        serves(port);
    }
    let mut stream = TcpStream::connect(("127.0.0.2", named)).expect("it listens on its own address");
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("it takes a request");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("it answers");
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert!(TcpStream::connect(("127.0.0.1", named)).is_err(), "and on no other");

    let link = |link: &serde_json::Value| {
        let text = |key: &str| link[key].as_str().unwrap_or_default().to_owned();
        (text("url"), text("name"))
    };
    let links: Vec<_> =
        ready["status"]["endpointLinks"].as_array().expect("links").iter().map(link).collect();
    let expected = [
        (format!("http://localhost:{plain}/"), String::new()),
        (format!("http://localhost:{pair}/"), String::new()),
        (format!("http://127.0.0.1:{host}/"), String::new()),
        (format!("http://127.0.0.2:{named}/index.html"), "api".to_owned()),
    ];
    assert_eq!(links, expected);
    lilt.quit();

    // And none at all, where that is asked for.
    let lilt = Start::up(&project).argument("--disable-port-forwards").in_namespace(&namespace).start();
    lilt.wait_until_ready("web");
    for port in [plain, pair, host] {
        TcpListener::bind(("127.0.0.1", port)).expect("nobody has the port");
    }
    lilt.quit();
}

#[test]
fn forward_accepts_connections_before_pod_exists() {
    let namespace = Testbed::get().namespace("early");
    let port = free_port();
    let web = deployment("web", SERVE, |spec| spec["schedulingGates"] = json!([{"name": "lilt.test/wait"}]));
    let project = project(&[web], &format!("k8s_resource('web', port_forwards='{port}:8080')\n"));
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    eventually("the port is open", || TcpStream::connect(("127.0.0.1", port)).ok());
    lilt.wait_until("web", "waits", |it| it["status"]["k8sResourceInfo"]["podStatus"] == "SchedulingGated");
    let open = r#"[{"op": "remove", "path": "/spec/schedulingGates"}]"#;
    let pod = namespace.kubectl(&["get", "pods", "-o", "name"]);
    namespace.kubectl(&["patch", pod.trim(), "--type=json", "-p", open]);
    serves(port);
    lilt.quit();
}

#[test]
fn forward_to_closed_port_is_reported_once() {
    let namespace = Testbed::get().namespace("nobody");
    let port = free_port();
    let web = deployment("web", SERVE, |_| {});
    let project = project(&[web], &format!("k8s_resource('web', port_forwards='{port}:8081')\n"));
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    lilt.wait_until_ready("web");
    for _ in 0..30 {
        assert_eq!(get(port, "/"), None);
    }
    let message = lilt.wait_until("web", "shows the trouble", |it| !trouble(it).is_empty());
    assert!(trouble(&message).contains("nobody listens on port 8081 in the pod web-"), "{message}");
    lilt.has_lines("web │ ERROR: nobody listens on port 8081 in the pod web-", 1);
    lilt.has_lines("web │ hint: is the server still starting", 1);
    namespace.kubectl(&["exec", "deployment/web", "--", "httpd", "-p", "8081", "-h", "/www"]);
    serves(port);
    lilt.wait_until("web", "is content", |it| trouble(it).is_empty());
    lilt.has_lines("web │ ERROR: ", 1);
    lilt.quit();
}

/// Sends requests without a pause until it is stopped; returns how many succeeded. The port is never closed.
fn ask(port: u16, stop: &AtomicBool, answered: &AtomicU32) {
    while !stop.load(Ordering::Relaxed) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the port stays open");
        let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
        let mut answer = [0; 12];
        let asked = stream.write_all(b"GET / HTTP/1.0\r\n\r\n").and_then(|()| stream.read_exact(&mut answer));
        if asked.is_ok() && &answer == b"HTTP/1.1 200" {
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn busy_forward_survives_twenty_pod_replacements() {
    let site = Site::new("replaced");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let (stop, answered) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| ask(site.port, &stop, &answered));
        }
        let replace = || {
            for round in 0..20 {
                let pod = site.only_pod();
                site.namespace.kubectl(&["delete", "pod", &pod, "--wait=false", "--grace-period=1"]);
                eventually("another pod is there", || (site.only_pod() != pod).then_some(()));
                let before = answered.load(Ordering::Relaxed);
                eventually(&format!("it is served after {round} pods"), || {
                    (answered.load(Ordering::Relaxed) > before + 20).then_some(())
                });
            }
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(replace));
        stop.store(true, Ordering::Relaxed);
        result.expect("every pod is served");
    });
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_until("web", "is content", |it| trouble(it).is_empty());
    lilt.quit();
}

/// In a pod: passes bytes on to a port of this machine, where the test itself serves.
const RELAY: &str = r#"
import socket, threading
def pump(a, b):
    try:
        while data := a.recv(65536): b.sendall(data)
    except OSError: pass
    for s in (a, b):
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass
server = socket.create_server(("", 9000), backlog=512)
while True:
    client, _ = server.accept()
    try: other = socket.create_connection(("10.244.0.1", PORT))
    except OSError: client.close(); continue
    for a, b in ((client, other), (other, client)): threading.Thread(target=pump, args=(a, b), daemon=True).start()
"#;

/// Answers every message with itself, for as long as the test process lives.
fn echo_messages(listener: TcpListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                // The pod's probe comes through as well, and says nothing.
                let Ok(mut socket) = tungstenite::accept(stream) else { return };
                while let Ok(message) = socket.read() {
                    if message.is_close() || socket.send(message).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn forward_holds_200_web_sockets() {
    const MANY: usize = 200;
    let namespace = Testbed::get().namespace("sockets");
    let listener = TcpListener::bind("10.244.0.1:0").expect("the node's address is this machine's");
    let target = listener.local_addr().expect("it is bound").port();
    let port = free_port();
    let relay = python("relay", &RELAY.replace("PORT", &target.to_string()), 9000);
    let project = project(&[relay], &format!("k8s_resource('relay', port_forwards='{port}:9000')\n"));
    echo_messages(listener);
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    lilt.wait_until_ready("relay");
    let talk = move |number: usize| {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the port is open");
        let (mut socket, _) = tungstenite::client("ws://localhost/", stream).expect("a handshake");
        for round in 0..20 {
            let text = format!("{number} {round} {}", "x".repeat(round * 500));
            socket.send(Message::text(text.clone())).expect("it is open");
            assert_eq!(socket.read().expect("it answers"), Message::text(text));
        }
        socket
    };
    let clients: Vec<_> = (0..MANY).map(|number| std::thread::spawn(move || talk(number))).collect();
    // Each stays open until the last one has been served.
    let sockets: Vec<_> = clients.into_iter().map(|client| client.join().expect("it is served")).collect();
    assert_eq!(sockets.len(), MANY);
    lilt.quit();
}

/// Nobody ever closes the connections, and lilt may have few files open.
#[test]
fn forward_with_too_many_connections_leaves_the_session_working() {
    let site = Site::new("flooded");
    let second = free_port();
    let forward = format!("port_forwards='{}:8080'", site.port);
    let forwards = format!("port_forwards=['{}:8080', '{second}:8080']", site.port);
    assert!(site.tiltfile().contains(&forward), "{}", site.tiltfile());
    site.project.write("Tiltfile", &site.tiltfile().replace(&forward, &forwards));
    let shell = format!("ulimit -n 256; exec {} up --stream --port random", env!("CARGO_BIN_EXE_lilt"));
    let lilt = Start::program(Path::new("/bin/sh"), &site.project, &["-c", &shell])
        .in_namespace(&site.namespace)
        .start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pods = site.pods();

    // Until no more wait to be accepted.
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, site.port));
    let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok();
    let flood: Vec<TcpStream> = (0..300).map_while(connect).collect();
    assert!(flood.len() > 64, "{}", flood.len());
    lilt.wait_for_line("connections are open through forwarded ports");
    site.project.write("app/www/index.html", "two\n");
    eventually("the save is served by the other forward", || get(second, "/").filter(|page| page == "two\n"));
    assert!(get(lilt.port(), "/").is_some(), "the page is served");
    drop(flood);
    site.serves("two");
    assert_eq!(site.pods(), pods);
    lilt.has_lines("STEP 1/3", 1);
    lilt.quit();
}
