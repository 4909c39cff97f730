//! Tilt's WebSocket, as its scripts see it.

use futures_util::StreamExt;
use lilt_api::{ObjectKind, UpdateStatus};
use lilt_store::Key;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::harness::{Page, Server, resource, within};

/// The next view.
async fn view(page: &mut Page) -> Value {
    within("a view", async {
        loop {
            match page.socket.next().await.expect("the socket stays open").expect("a message") {
                Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                _ => continue,
            }
        }
    })
    .await
}

#[tokio::test]
async fn view_is_sent_first_and_then_its_changes() {
    let mut server = Server::start().await;
    server.put(&["web", "api"]);
    let mut span = server.span("web");
    span.write(b"hello\n");
    let mut page = server.page_at("/ws/view").await;
    let first = view(&mut page).await;
    assert_eq!(first["isComplete"], true);
    assert_eq!(first["uiResources"].as_array().map(Vec::len), Some(2));
    let list = &first["logList"];
    assert_eq!(list["segments"][0]["text"], "hello\n");
    assert_eq!(list["segments"][0]["level"], "INFO");
    assert_eq!(list["spans"]["span"]["manifestName"], "web");
    assert_eq!((&list["fromCheckpoint"], &list["toCheckpoint"]), (&json!(0), &json!(1)));

    let mut changed = resource("api", 0);
    changed.status.update_status = UpdateStatus::InProgress;
    server.writer.remove(Key::new(ObjectKind::UIResource, "web"));
    server.commit([changed]);
    let next = view(&mut page).await;
    assert!(next.get("isComplete").is_none() && next.get("logList").is_none(), "{next}");
    assert_eq!(next["uiResources"][0]["metadata"]["name"], "api");
    assert_eq!(next["uiResources"][0]["status"]["updateStatus"], "in_progress");
    assert_eq!(next["uiResources"][1]["metadata"]["name"], "web");
    assert!(next["uiResources"][1]["metadata"]["deletionTimestamp"].is_string(), "{next}");

    span.write(b"one\ntwo\n");
    let mut lines = Vec::new();
    while lines.len() < 2 {
        let next = view(&mut page).await;
        assert!(next.get("uiResources").is_none(), "{next}");
        let segments = next["logList"]["segments"].as_array().expect("segments").clone();
        lines.extend(segments.into_iter().map(|segment| segment["text"].clone()));
    }
    assert_eq!(lines, ["one\n", "two\n"]);
}

#[tokio::test]
async fn long_log_is_sent_with_its_newest_part() {
    let server = Server::start().await;
    let mut span = server.span("web");
    let text = "x".repeat(990);
    for number in 0..6_000 {
        span.write(format!("{number:09} {text}\n").as_bytes());
    }
    let mut page = server.page_at("/ws/view").await;
    let first = view(&mut page).await;
    let list = &first["logList"];
    let segments = list["segments"].as_array().expect("segments");
    assert!((1_900..4_000).contains(&segments.len()), "{}", segments.len());
    assert_eq!(list["toCheckpoint"], 6_000);
    assert_eq!(list["fromCheckpoint"], 6_000 - segments.len());
    assert!(segments.last().expect("one")["text"].as_str().expect("text").starts_with("000005999 "));
}
