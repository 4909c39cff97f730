//! Signing in: links with one-time codes, cookies, and rotation of the token.

use std::time::Duration;

use lilt_model::Timestamp;
use lilt_model::auth::CodeLifetime;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::harness::{NOW, Server, within};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

async fn start() -> Server {
    Server::start_guarded(&[], Some(TOKEN)).await
}

async fn status(server: &Server, path: &str, headers: &str) -> u16 {
    server.raw(&format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\n{headers}"), "").await.status
}

#[tokio::test]
async fn code_becomes_a_cookie_and_leaves_the_address() {
    let server = start().await;
    let code = server.code();
    let answer = server.get(&format!("/r/web/overview?term=a%26b&code={code}&level=error")).await;
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), Some("/r/web/overview?term=a%26b&level=error"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.starts_with(&format!("lilt-session-{}=", server.port)), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    assert!(!cookie.contains("Max-Age="), "it ends with the browser: {cookie}");
    assert!(!cookie.contains(TOKEN) && !cookie.contains(&code), "{cookie}");
    let pair = cookie.split(';').next().expect("name and value");
    assert_eq!(status(&server, "/api/resources", &format!("Cookie: {pair}\r\n")).await, 200);
    let answer = server.get(&format!("/?code={}", server.code())).await;
    assert_eq!(answer.header("location"), Some("/"));
}

#[tokio::test]
async fn code_works_once_and_its_link_opens_the_page_when_signed_in() {
    let server = start().await;
    let link = format!("/overview?code={}", server.code());
    assert_eq!(server.get(&link).await.status, 303);
    let again = server.get(&link).await;
    assert_eq!((again.status, again.header("set-cookie")), (401, None));
    assert!(again.body.contains("was used already") && again.body.contains("lilt open"), "{}", again.body);
    let cookie = format!("Cookie: {}\r\n", server.cookie().await);
    let head = format!("GET {link} HTTP/1.1\r\nHost: {{host}}\r\n{cookie}");
    let answer = server.raw(&head, "").await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/overview")));
}

/// The browser's history must not hold a link that still works.
#[tokio::test]
async fn code_opened_by_a_signed_in_browser_is_used_up() {
    let server = start().await;
    let link = format!("/?code={}", server.code());
    let cookie = format!("Cookie: {}\r\n", server.cookie().await);
    assert_eq!(status(&server, &link, &cookie).await, 303);
    assert_eq!(status(&server, &link, "").await, 401);
}

#[tokio::test]
async fn code_is_not_used_up_by_link_previews() {
    let server = start().await;
    let link = format!("/?code={}", server.code());
    let head = format!("HEAD {link} HTTP/1.1\r\nHost: {{host}}\r\n");
    assert_eq!(server.raw(&head, "").await.status, 401);
    for header in
        ["Sec-Purpose: prefetch", "Sec-Purpose: prefetch;prerender", "Purpose: prefetch", "X-Moz: prefetch"]
    {
        assert_eq!(status(&server, &link, &format!("{header}\r\n")).await, 401, "{header}");
    }
    assert_eq!(status(&server, &link, "").await, 303);
}

#[tokio::test]
async fn expired_and_foreign_codes_are_refused() {
    let server = start().await;
    let keys = server.auth.as_ref().expect("it has a token").keys();
    let limited = CodeLifetime::Limited(Duration::from_secs(60));
    let earlier = keys.mint_code(Timestamp(NOW.0 - 1), CodeLifetime::UntilSessionEnds).unwrap();
    let other = Server::start_guarded(&[], Some("another token of another session")).await;
    for (code, reason) in [
        (earlier, "has expired"),
        (other.code(), "not one of this session"),
        (TOKEN.to_owned(), "not one of this session"),
        ("wrong".to_owned(), "not one of this session"),
    ] {
        let answer = server.get(&format!("/?code={code}")).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (401, None), "{reason}");
        assert!(answer.body.contains(reason), "{reason}: {}", answer.body);
    }
    let fresh = keys.mint_code(NOW, limited).unwrap();
    assert_eq!(server.get(&format!("/?code={fresh}")).await.status, 303);
}

#[tokio::test]
async fn sign_in_page_reveals_nothing_and_keeps_the_request() {
    let server = start().await;
    for path in ["/", "/?code=", "/?code=wrong", "/overview?codes=x", &format!("/?token={TOKEN}")] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.header("set-cookie").is_none(), "{path}");
        assert!(answer.body.contains("<form") && answer.body.contains("<code>lilt open</code>"), "{path}");
        assert_eq!(answer.body.contains("not one of this session"), path.contains("?code="), "{path}");
    }
    let asked = server.get("/r/web/overview?term=%22%3E%3Cb%3E&code=wrong&level=error").await;
    assert!(asked.body.contains("<form method=\"get\">"), "to the same address: {}", asked.body);
    assert!(asked.body.contains("name=\"term\" value=\"&quot;&gt;&lt;b&gt;\""), "{}", asked.body);
    assert!(asked.body.contains("name=\"level\" value=\"error\"") && !asked.body.contains("wrong"));
    // An open page checks whether its cookie is still valid.
    assert_eq!(server.raw("HEAD /overview HTTP/1.1\r\nHost: {host}\r\n", "").await.status, 401);
    // Only pages accept a code. Other requests have the cookie.
    assert_eq!(server.get(&format!("/api/view?code={}", server.code())).await.status, 403);
}

#[tokio::test]
async fn pasted_link_signs_in() {
    let server = start().await;
    let code = server.code();
    let pasted =
        format!("/overview?code=%20http%3A%2F%2Flocalhost%3A10350%2F%3Fterm%3Da%26code%3D{code}%26b%3D1%0A");
    let answer = server.get(&pasted).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/overview")));
}

/// A forwarded port on localhost gets the cookies of localhost, which are not valid for other names.
#[tokio::test]
async fn cookie_is_valid_for_the_host_it_was_issued_for() {
    let server = start().await;
    let port = server.port;
    let cookie = server.cookie().await;
    let ask = async |host: &str| {
        let head = format!("GET /api/resources HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n");
        server.raw(&head, "").await.status
    };
    assert_eq!(ask(&format!("localhost:{port}")).await, 200);
    assert_eq!(ask(&format!("127.0.0.1:{port}")).await, 403);
}

#[tokio::test]
async fn session_proves_that_it_knows_the_token() {
    let server = start().await;
    let proof = server.get("/api/proof?challenge=abc").await;
    let keys = server.auth.as_ref().expect("it has a token").keys();
    assert_eq!(proof.status, 200);
    assert!(keys.is_proof("abc", &proof.body) && !keys.is_proof("abd", &proof.body));
    assert_eq!(server.get("/api/proof").await.status, 400);
    assert_eq!(server.get(&format!("/api/proof?challenge={}", "a".repeat(200))).await.status, 400);
    assert_eq!(Server::start().await.get("/api/proof?challenge=abc").await.status, 404);
}

#[tokio::test]
async fn rotation_needs_the_token_itself() {
    let server = start().await;
    let rotate = async |headers: &str| {
        let head = format!("POST /api/token/rotate HTTP/1.1\r\nHost: {{host}}\r\n{headers}");
        server.raw(&head, "").await.status
    };
    let cookie = server.cookie().await;
    let origin = format!("Origin: http://localhost:{}\r\n", server.port);
    assert_eq!(rotate("").await, 403);
    assert_eq!(rotate(&format!("Cookie: {cookie}\r\n{origin}")).await, 403);
    assert_eq!(status(&server, "/api/resources", &format!("X-Tilt-Token: {TOKEN}\r\n")).await, 200);
}

#[tokio::test]
async fn rotation_revokes_credentials_and_closes_connections() {
    let server = start().await;
    let (cookie, code) = (format!("Cookie: {}\r\n", server.cookie().await), server.code());
    let old = format!("X-Tilt-Token: {TOKEN}\r\n");
    let ask = |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\n{headers}");
    let socket_token = server.raw(&ask("/api/websocket_token", &old), "").await.body;
    let mut followed = open(&server, "/api/logs?follow=true", &old).await;
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut page = open(&server, "/ws", &format!("{old}{upgrade}")).await;
    let mut view = open(&server, "/ws/view", &format!("{old}{upgrade}")).await;

    let head = format!("POST /api/token/rotate HTTP/1.1\r\nHost: {{host}}\r\n{old}");
    let answer = server.raw(&head, "").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let token = answer["token"].as_str().expect("the new token");

    for stream in [&mut followed, &mut page, &mut view] {
        let mut rest = Vec::new();
        within("the end of what was open", stream.read_to_end(&mut rest)).await.expect("receive");
    }
    assert_eq!(status(&server, "/api/resources", &old).await, 403);
    assert_eq!(status(&server, "/api/resources", &cookie).await, 403);
    assert_eq!(status(&server, &format!("/?code={code}"), "").await, 401);
    let socket = ask(&format!("/ws/view?csrf={socket_token}"), upgrade);
    assert_eq!(server.raw(&socket, "").await.status, 403);
    assert_eq!(status(&server, "/api/resources", &format!("X-Tilt-Token: {token}\r\n")).await, 200);
    assert_eq!(status(&server, &format!("/?code={}", server.code()), "").await, 303);
}

/// A connection whose response has begun.
async fn open(server: &Server, path: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n{headers}\r\n",
        server.port
    );
    let request =
        if headers.contains("Upgrade") { request.replace("Connection: close\r\n", "") } else { request };
    stream.write_all(request.as_bytes()).await.expect("send");
    let mut begin = [0; 12];
    within("a response", stream.read_exact(&mut begin)).await.expect("receive");
    assert!(begin.ends_with(b"200") || begin.ends_with(b"101"), "{}", String::from_utf8_lossy(&begin));
    stream
}
