//! How many lines are wanted.

use lilt_model::log::Level;
use lilt_server::count::LineCount;

use super::harness::Server;

async fn count(server: &Server, query: &str) -> LineCount {
    let answer = server.get(&format!("/api/count?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).expect("a count")
}

#[tokio::test]
async fn lines_are_counted_over_the_whole_log() {
    let server = Server::start().await;
    let mut span = server.span("web");
    for number in 0..50_000 {
        span.write(format!("line {number}\n").as_bytes());
    }
    span.print(Level::Error, "it broke");
    let all = count(&server, "").await;
    assert_eq!((all.count, all.done), (50_001, true));
    assert_eq!(count(&server, "text=LINE+4999").await.count, 11);
    assert_eq!(count(&server, "level=error").await.count, 1);
    assert_eq!(count(&server, "resource=other").await.count, 0);
    // The place of a match among all of them.
    assert_eq!(count(&server, "match=0%24&until=101").await.count, 11);
    assert_eq!(count(&server, "match=0%24&from=101").await.count, 4989);
    assert_eq!(server.get("/api/count?from=x").await.status, 400);
    assert_eq!(server.get("/api/count?match=(").await.status, 400);
}

#[tokio::test]
async fn count_continues_where_the_last_one_ended() {
    let server = Server::start().await;
    let mut span = server.span("web");
    span.write(b"one\ntwo\n");
    let before = count(&server, "match=o").await;
    assert_eq!((before.count, before.next), (2, 2));
    span.write(b"four\nsix\n");
    let more = count(&server, &format!("match=o&from={}", before.next)).await;
    assert_eq!((more.count, more.next, more.done), (1, 4, true));
}
