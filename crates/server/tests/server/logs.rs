//! `GET /api/logs`, as `lilt logs` uses it.

use lilt_api::UIBuildTerminated;
use lilt_model::Timestamp;
use lilt_model::log::{Level, Line};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::harness::{Answer, Server, resource, within};

fn lines(answer: &Answer) -> Vec<Line> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let lines = answer.body.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).expect("a line")).collect()
}

fn texts(answer: &Answer) -> Vec<String> {
    lines(answer).into_iter().map(|line| line.text).collect()
}

#[tokio::test]
async fn lines_are_filtered_by_the_query() {
    let mut server = Server::start().await;
    server.put(&["web", "api"]);
    let (mut web, mut api) = (server.span("web"), server.span("api"));
    web.write(b"one\ntwo\n");
    api.write(b"three\n");
    web.print(Level::Error, "ERROR: four");
    assert_eq!(texts(&server.get("/api/logs").await), ["one", "two", "three", "ERROR: four"]);
    assert_eq!(texts(&server.get("/api/logs?resource=web&level=error").await), ["ERROR: four"]);
    assert_eq!(
        texts(&server.get("/api/logs?resource=web&resource=api&tail=2").await),
        ["three", "ERROR: four"]
    );
    assert_eq!(texts(&server.get("/api/logs?match=%5Et").await), ["two", "three"]);
    assert_eq!(texts(&server.get("/api/logs?source=build").await), [] as [String; 0]);
    assert_eq!(texts(&server.get("/api/logs?from=2").await), ["three", "ERROR: four"]);
    assert_eq!(texts(&server.get("/api/logs?from=2&resource=web&tail=3").await), ["ERROR: four"]);
    assert_eq!(texts(&server.get("/api/logs?from=99").await), [] as [String; 0]);
    let since = Timestamp(1_700_000_000_000_001);
    assert_eq!(texts(&server.get(&format!("/api/logs?since={since}")).await), [] as [String; 0]);
    let first = &lines(&server.get("/api/logs?tail=4").await)[0];
    assert_eq!((first.seq, first.time), (0, Timestamp(1_700_000_000_000_000)));
}

#[tokio::test]
async fn invalid_queries_are_refused() {
    let server = Server::start().await;
    for query in [
        "tail=many",
        "from=here",
        "level=loud",
        "source=pod",
        "since=now",
        "follow=perhaps",
        "colour=red",
        "match=(",
    ] {
        let answer = server.get(&format!("/api/logs?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(!answer.body.is_empty(), "{query}");
    }
    let head = "GET /api/logs HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n";
    assert_eq!(server.raw(head, "").await.status, 403);
}

#[tokio::test]
async fn unknown_resource_is_an_error_once_the_tiltfile_is_loaded() {
    let mut server = Server::start().await;
    assert_eq!(server.get("/api/logs?resource=wbe").await.status, 200, "it may still come");
    let mut tiltfile = resource("(Tiltfile)", 0);
    tiltfile.status.build_history.push(UIBuildTerminated::default());
    server.commit([tiltfile, resource("web", 1)]);
    let answer = server.get("/api/logs?resource=wbe").await;
    let words = "there is no resource named \"wbe\"\nhint: did you mean web?\n";
    assert_eq!((answer.status, answer.body.as_str()), (404, words));
}

#[tokio::test]
async fn many_lines_are_complete_and_in_order() {
    let server = Server::start().await;
    let mut span = server.span("web");
    for number in 0..20_000 {
        span.write(format!("line {number}\n").as_bytes());
    }
    let answer = server.get("/api/logs").await;
    assert_eq!(texts(&answer).len(), 20_000);
    assert!(lines(&answer).iter().enumerate().all(|(index, line)| line.seq == index as u64));
}

#[tokio::test]
async fn follower_gets_lines_until_the_end() {
    let server = Server::start().await;
    let mut span = server.span("web");
    span.write(b"before\n");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    let head = format!("GET /api/logs?follow=true HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server.port);
    stream.write_all(head.as_bytes()).await.expect("send");
    let mut reader = BufReader::new(stream);
    let mut wait_for = async |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let read = within(text, reader.read_line(&mut line)).await.expect("a line");
            assert!(read > 0, "it ended before {text}");
        }
    };
    wait_for("before").await;
    span.write(b"after\n");
    wait_for("after").await;
    server.cancel.cancel();
    let mut rest = Vec::new();
    // Closed or reset: it ends.
    let _ = within("the end", reader.read_to_end(&mut rest)).await;
}

#[tokio::test]
async fn log_is_downloaded_as_a_text_file() {
    let server = Server::start().await;
    let (mut web, mut api) = (server.span("web"), server.span("api"));
    web.write(b"\x1b[31mred\x1b[0m\n");
    api.write(b"{\"level\":\"warn\"}\n");
    let answer = server.get("/api/logs?format=text&download=a%22b%0d%0aX%2f..txt").await;
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"a_b__X_..txt\""));
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(answer.body.contains("web │ red\napi │ {\"level\":\"warn\"}\n"), "{}", answer.body);
    let answer = server.get("/api/logs?format=text&resource=web").await;
    assert!(answer.body.contains("red\n") && !answer.body.contains('│'), "{}", answer.body);
    assert_eq!(texts(&server.get("/api/logs?field=level%3Dwarn").await), ["{\"level\":\"warn\"}"]);
    assert_eq!(server.get("/api/logs?format=pdf").await.status, 400);
}
