//! What a page sees over its WebSocket.

use futures_util::SinkExt;
use lilt_model::ResourceName;
use lilt_model::api::UpdateStatus;
use lilt_model::log::Line;
use lilt_model::request::Request;
use lilt_server::protocol::{LINES_AT_START, LINES_PER_MESSAGE, PageMessage, ServerMessage};
use lilt_store::Commit;
use tokio_tungstenite::tungstenite::Message;

use super::harness::{Page, Server, resource, within};

impl Page {
    async fn ask(&mut self, message: &PageMessage) {
        let text = serde_json::to_string(message).expect("json");
        self.socket.send(Message::text(text)).await.expect("send");
    }

    /// Log lines until `end`, over as many messages as it takes.
    async fn lines_until(&mut self, wanted: u64) -> (Vec<Line>, Vec<usize>) {
        let mut all = Vec::new();
        let mut sizes = Vec::new();
        loop {
            if let ServerMessage::Logs { lines, end } = self.expect().await {
                sizes.push(lines.len());
                all.extend(lines);
                if end >= wanted {
                    return (all, sizes);
                }
            }
        }
    }
}

fn numbers(lines: &[Line]) -> Vec<u64> {
    lines.iter().map(|line| line.seq).collect()
}

async fn session_id(server: &Server) -> String {
    match server.page().await.expect().await {
        ServerMessage::Hello { session_id, version, .. } => {
            assert_eq!(version, "1.2.3");
            session_id
        }
        other => panic!("no hello but {other:?}"),
    }
}

#[tokio::test]
async fn a_page_gets_everything_then_changes() {
    let server = Server::start().await;
    server.put(&["a", "b"]);
    let mut page = server.page().await;
    assert!(matches!(page.expect().await, ServerMessage::Hello { revision: 1, .. }));
    let ServerMessage::State { complete: true, resources, .. } = page.expect().await else {
        panic!("no state")
    };
    assert_eq!(resources.len(), 2);

    let mut changed = resource("a", 0);
    changed.status.update_status = UpdateStatus::Error;
    server.writer.commit(Commit {
        resources: vec![changed.clone()],
        removed: vec!["b".into()],
        session: None,
        ..Commit::default()
    });
    let ServerMessage::State { complete, resources, removed, session } = page.expect().await else {
        panic!("no state")
    };
    assert!(!complete && session.is_none());
    assert_eq!(resources.iter().map(|found| (**found).clone()).collect::<Vec<_>>(), [changed]);
    assert_eq!(removed, [ResourceName::new("b")]);
}

#[tokio::test]
async fn an_empty_session_is_a_state_too() {
    let server = Server::start().await;
    server.page().await.greeted().await;
}

#[tokio::test]
async fn a_slow_page_gets_the_newest_state_and_not_each_one() {
    const CHANGES: i32 = 20_000;
    let server = Server::start().await;
    let mut page = server.page().await.greeted().await;
    // Far more than socket buffers hold, while the page reads nothing.
    let weight = "x".repeat(10_000);
    for order in 1..=CHANGES {
        let mut changed = resource("busy", order);
        changed.metadata.annotations.insert("weight".to_owned(), weight.clone());
        server.writer.commit(Commit { resources: vec![changed], ..Commit::default() });
        if order % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut messages = 0;
    loop {
        let ServerMessage::State { resources, .. } = page.expect().await else { panic!("no state") };
        messages += 1;
        let [only] = resources.as_slice() else { panic!("{} resources", resources.len()) };
        if only.status.order == CHANGES {
            break;
        }
    }
    assert!(messages < CHANGES / 10, "{messages} messages for {CHANGES} changes");
}

#[tokio::test]
async fn logs_start_near_the_end_and_come_in_pages() {
    let server = Server::start().await;
    let mut span = server.span("a");
    let end = LINES_AT_START + 1_234;
    for number in 0..end {
        span.info(&format!("line {number}"));
    }
    let mut page = server.page().await.greeted().await;
    let (lines, sizes) = page.lines_until(end).await;
    assert_eq!(numbers(&lines), (1_234..end).collect::<Vec<_>>());
    assert!(sizes.iter().all(|size| *size <= LINES_PER_MESSAGE), "{sizes:?}");
    assert_eq!((lines[0].text.as_str(), &lines[0].resource), ("line 1234", &Some("a".into())));

    span.info("and one more");
    let (lines, _) = page.lines_until(end + 1).await;
    assert_eq!(numbers(&lines), [end]);
}

#[tokio::test]
async fn long_lines_do_not_make_long_messages() {
    let server = Server::start().await;
    let mut span = server.span("a");
    for _ in 0..15 {
        span.write("y".repeat(200_000).as_bytes());
        span.write(b"\n");
    }
    // Nothing is asked for but order and completeness; the limit shows in the number of messages.
    for _ in 0..400 {
        span.info("short");
    }
    let mut page = server.page().await.greeted().await;
    let (lines, sizes) = page.lines_until(415).await;
    assert_eq!(numbers(&lines), (0..415).collect::<Vec<_>>());
    assert!(sizes.len() > 1, "{sizes:?}");
}

#[tokio::test]
async fn a_page_that_comes_back_gets_only_what_it_lacks() {
    let server = Server::start().await;
    let mut span = server.span("a");
    (0..100).for_each(|_| span.info("x"));
    let session = session_id(&server).await;
    let mut page = server.page_at(&format!("/ws?session={session}&from=90")).await.greeted().await;
    assert_eq!(numbers(&page.lines_until(100).await.0), (90..100).collect::<Vec<_>>());
    // Of another session, or from the future: all that is recent.
    for query in ["session=other&from=90".to_owned(), format!("session={session}&from=101")] {
        let mut page = server.page_at(&format!("/ws?{query}")).await.greeted().await;
        assert_eq!(numbers(&page.lines_until(100).await.0), (0..100).collect::<Vec<_>>(), "{query}");
    }
}

#[tokio::test]
async fn earlier_lines_can_be_asked_for() {
    let server = Server::start().await;
    let mut span = server.span("a");
    let end = LINES_AT_START + 2_500;
    (0..end).for_each(|_| span.info("x"));
    let mut page = server.page().await.greeted().await;
    page.lines_until(end).await;
    for (before, wanted) in [(2_500, 500..2_500), (500, 0..500), (0, 0..0)] {
        page.ask(&PageMessage::Earlier { before }).await;
        let ServerMessage::EarlierLogs { lines, before: answered } = page.expect().await else {
            panic!("no lines")
        };
        assert_eq!(answered, before);
        assert_eq!(numbers(&lines), wanted.collect::<Vec<u64>>());
    }
}

#[tokio::test]
async fn a_click_reaches_the_daemon_and_a_wrong_one_gets_an_answer() {
    let mut server = Server::start().await;
    server.put(&["a"]);
    let mut page = server.page().await.greeted().await;
    page.ask(&PageMessage::Trigger { resource: "a".into() }).await;
    let request = within("a request", server.requests.recv()).await;
    assert_eq!(request, Some(Request::Trigger { resource: "a".into() }));

    page.ask(&PageMessage::Trigger { resource: "<b>".into() }).await;
    let answer = page.expect().await;
    assert_eq!(answer, ServerMessage::Refused { message: "there is no resource named \"<b>\"".to_owned() });
    page.socket.send(Message::text("nonsense")).await.expect("send");
    assert!(matches!(page.expect().await, ServerMessage::Refused { .. }));
    assert!(server.requests.try_recv().is_err());
}
