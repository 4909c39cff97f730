//! No route answers to a foreign name or to a foreign page.

use super::harness::Server;

/// Every route of `routes.rs`, and one that does not exist: what a stranger learns is the same everywhere.
const ROUTES: [(&str, &str, u16); 9] = [
    ("GET", "/", 200),
    ("GET", "/overview", 200),
    ("GET", "/r/web", 200),
    ("GET", "/r/web/overview", 200),
    ("GET", "/favicon.svg", 200),
    ("GET", "/assets/nothing.js", 404),
    ("POST", "/api/trigger", 400),
    ("GET", "/ws", 101),
    ("GET", "/no/such/route", 404),
];

const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

async fn status(server: &Server, method: &str, path: &str, headers: &str) -> u16 {
    let upgrade = if path == "/ws" { UPGRADE } else { "" };
    // A socket that opens stays open: cancelling is what ends the answer.
    let head = format!("{method} {path} HTTP/1.1\r\n{headers}{upgrade}");
    if path != "/ws" {
        return server.raw(&head, "").await.status;
    }
    server.handshake(&head).await
}

impl Server {
    /// Only the status line, since an opened WebSocket does not end.
    async fn handshake(&self, head: &str) -> u16 {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.expect("connect");
        let head = head.replace("{host}", &format!("localhost:{}", self.port));
        stream.write_all(format!("{head}\r\n").as_bytes()).await.expect("send");
        let mut line = [0; 12];
        super::harness::within("a status line", stream.read_exact(&mut line)).await.expect("receive");
        String::from_utf8_lossy(&line[9..]).parse().expect("a status")
    }
}

/// The page may or may not have been built where the tests run.
fn same(found: u16, wanted: u16) -> bool {
    found == wanted || (wanted == 200 && (found == 503 || found == 404))
}

#[tokio::test]
async fn every_route_checks_host_and_origin() {
    let server = Server::start_with(&["devbox"]).await;
    let port = server.port;
    let cases = [
        ("own name, no origin", "Host: {host}\r\n".to_owned(), true),
        ("own name, own origin", format!("Host: {{host}}\r\nOrigin: http://localhost:{port}\r\n"), true),
        ("another own name", format!("Host: 127.0.0.1:{port}\r\n"), true),
        ("the given name", format!("Host: devbox:{port}\r\nOrigin: http://devbox:{port}\r\n"), true),
        ("foreign host", format!("Host: evil.example:{port}\r\n"), false),
        ("foreign host that looks own", format!("Host: localhost.evil.example:{port}\r\n"), false),
        ("foreign port", "Host: localhost:1\r\n".to_owned(), false),
        ("no host", String::new(), false),
        ("two hosts", "Host: {host}\r\nHost: evil.example\r\n".to_owned(), false),
        ("foreign origin", "Host: {host}\r\nOrigin: http://evil.example\r\n".to_owned(), false),
        ("another port's origin", "Host: {host}\r\nOrigin: http://localhost:1\r\n".to_owned(), false),
        ("hidden origin", "Host: {host}\r\nOrigin: null\r\n".to_owned(), false),
        (
            "foreign host and origin",
            format!("Host: evil.example:{port}\r\nOrigin: http://evil.example:{port}\r\n"),
            false,
        ),
    ];
    for (method, path, wanted) in ROUTES {
        for (case, headers, welcome) in &cases {
            let found = status(&server, method, path, headers).await;
            if *welcome {
                assert!(same(found, wanted), "{method} {path}, {case}: {found}");
            } else {
                // hyper itself answers 400 to some of these.
                assert!(found == 403 || found == 400, "{method} {path}, {case}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_is_a_plain_sentence() {
    let server = Server::start().await;
    let answer = server.raw("GET / HTTP/1.1\r\nHost: evil.example\r\n", "").await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(answer.body.contains("does not answer to that name"), "{}", answer.body);
    let foreign = "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n";
    let answer = server.raw(foreign, "").await;
    assert!(answer.body.contains("other sites"), "{}", answer.body);
}

#[tokio::test]
async fn every_answer_is_hardened() {
    let server = Server::start().await;
    for (method, path, _) in ROUTES.into_iter().filter(|(_, path, _)| *path != "/ws") {
        let answer = server.raw(&format!("{method} {path} HTTP/1.1\r\nHost: {{host}}\r\n"), "").await;
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("script-src 'self';"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
}
