//! The messages that a page gets over its WebSocket.

use futures_util::SinkExt;
use lilt_api::{ObjectKind, UpdateStatus};
use lilt_model::log::Line;
use lilt_model::request::{Request, TriggerReason};
use lilt_model::{ResourceName, Timestamp};
use lilt_server::lines::LINES_PER_PAGE;
use lilt_server::protocol::{LINES_AFTER_GAP, MAX_FOLLOW_LAG, PageMessage, ServerMessage};
use lilt_store::{Draft, Key};
use tokio_tungstenite::tungstenite::Message;

use super::harness::{Page, Server, resource, within};

impl Page {
    async fn ask(&mut self, message: &PageMessage) {
        let text = serde_json::to_string(message).expect("json");
        self.socket.send(Message::text(text)).await.expect("send");
    }

    /// The next message that is not about the log's extent.
    async fn answer(&mut self) -> ServerMessage {
        loop {
            match self.expect().await {
                ServerMessage::Log { .. } => {}
                other => return other,
            }
        }
    }

    async fn follow(&mut self, follow: u64, query: &str, from: u64) {
        self.ask(&PageMessage::Follow { follow, query: query.to_owned(), from }).await;
    }

    /// Followed lines until one has this number, over as many messages as it takes, with the size of each.
    async fn lines_until(&mut self, follow: u64, wanted: u64) -> (Vec<Line>, Vec<usize>) {
        let mut all: Vec<Line> = Vec::new();
        let mut sizes = Vec::new();
        while all.last().is_none_or(|last| last.seq < wanted) {
            if let ServerMessage::Lines { follow: told, lines, .. } = self.expect().await
                && told == follow
            {
                sizes.push(lines.len());
                all.extend(lines);
            }
        }
        (all, sizes)
    }
}

fn numbers(lines: &[Line]) -> Vec<u64> {
    lines.iter().map(|line| line.seq).collect()
}

#[tokio::test]
async fn page_gets_the_whole_state_then_changes() {
    let mut server = Server::start().await;
    server.put(&["a", "b"]);
    let mut page = server.page().await;
    assert!(matches!(page.expect().await, ServerMessage::Hello { revision: 2, .. }));
    let ServerMessage::State { complete: true, resources, .. } = page.expect().await else {
        panic!("no state")
    };
    assert_eq!(resources.len(), 2);

    let mut changed = resource("a", 0);
    changed.status.update_status = UpdateStatus::Error;
    server.writer.remove(Key::new(ObjectKind::UIResource, "b"));
    server.commit([changed.clone()]);
    let ServerMessage::State { complete, resources, removed, session } = page.answer().await else {
        panic!("no state")
    };
    assert!(!complete && session.is_none());
    assert_eq!(resources.iter().map(|found| (**found).clone()).collect::<Vec<_>>(), [changed]);
    assert_eq!(removed, [ResourceName::new("b")]);
}

#[tokio::test]
async fn empty_session_has_a_state() {
    let server = Server::start().await;
    server.page().await.greeted().await;
}

#[tokio::test]
async fn slow_page_gets_only_the_newest_state() {
    const CHANGES: i32 = 20_000;
    let mut server = Server::start().await;
    let mut page = server.page().await.greeted().await;
    // Much more than socket buffers hold, while the page does not read.
    let weight = "x".repeat(10_000);
    for order in 1..=CHANGES {
        let mut changed = resource("busy", order);
        changed.metadata.annotations.insert("weight".to_owned(), weight.clone());
        server.commit([changed]);
        if order % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut messages = 0;
    loop {
        let ServerMessage::State { resources, .. } = page.answer().await else { panic!("no state") };
        messages += 1;
        let [only] = resources.as_slice() else { panic!("{} resources", resources.len()) };
        if only.status.order == CHANGES {
            break;
        }
    }
    assert!(messages < CHANGES / 10, "{messages} messages for {CHANGES} changes");
}

#[tokio::test]
async fn page_gets_no_lines_unless_it_follows() {
    let server = Server::start().await;
    let mut span = server.span("a");
    (0..100).for_each(|number| span.info(&format!("line {number}")));
    let mut page = server.page().await.greeted().await;
    span.info("one more");
    assert_eq!(page.expect().await, ServerMessage::Log { begin: 0, end: 101 });

    page.follow(7, "", 90).await;
    let (lines, _) = page.lines_until(7, 100).await;
    assert_eq!(numbers(&lines), (90..101).collect::<Vec<_>>());
    span.info("and one more");
    assert_eq!(numbers(&page.lines_until(7, 101).await.0), [101]);

    page.ask(&PageMessage::Unfollow).await;
    page.ask(&PageMessage::Ask {
        request: Request::Trigger { resource: "nobody".into(), reason: TriggerReason::WEB },
    })
    .await;
    while !matches!(page.expect().await, ServerMessage::Refused { .. }) {}
    span.info("not for this page");
    assert_eq!(page.expect().await, ServerMessage::Log { begin: 0, end: 103 });
}

#[tokio::test]
async fn only_matching_lines_are_followed() {
    let server = Server::start().await;
    let (mut one, mut other) = (server.span("a"), server.span("b"));
    let mut page = server.page().await.greeted().await;
    page.follow(1, "resource=a&text=HELLO", 0).await;
    one.write(b"nothing\nhello\n");
    other.write(b"hello\n");
    one.write(b"hello again\n");
    let (lines, _) = page.lines_until(1, 3).await;
    assert_eq!(numbers(&lines), [1, 3]);
    page.follow(2, "resource=b", 0).await;
    assert_eq!(numbers(&page.lines_until(2, 2).await.0), [2]);
    page.follow(3, "text=(&level=loud", 0).await;
    while !matches!(page.expect().await, ServerMessage::Refused { .. }) {}
}

#[tokio::test]
async fn page_far_behind_gets_the_newest_lines() {
    let server = Server::start().await;
    let mut span = server.span("a");
    let end = MAX_FOLLOW_LAG + 1_234;
    (0..end).for_each(|_| span.info("x"));
    let mut page = server.page().await.greeted().await;
    page.follow(1, "", 0).await;
    let (lines, sizes) = page.lines_until(1, end - 1).await;
    assert_eq!(numbers(&lines), (end - LINES_AFTER_GAP as u64..end).collect::<Vec<_>>());
    page.follow(2, "", 1_234).await;
    let (lines, more) = page.lines_until(2, end - 1).await;
    assert_eq!(numbers(&lines), (1_234..end).collect::<Vec<_>>());
    assert!(sizes.iter().chain(&more).all(|size| *size <= LINES_PER_PAGE), "{sizes:?} {more:?}");
}

#[tokio::test]
async fn few_matching_lines_among_many_are_all_sent() {
    let server = Server::start().await;
    let (mut wanted, mut other) = (server.span("a"), server.span("b"));
    wanted.info("first");
    let mut page = server.page().await.greeted().await;
    page.follow(1, "resource=a", 0).await;
    page.lines_until(1, 0).await;
    (0..MAX_FOLLOW_LAG + 10).for_each(|_| other.info("x"));
    wanted.info("second");
    loop {
        if let ServerMessage::Lines { lines, gap, .. } = page.expect().await {
            assert_eq!((lines.len(), gap), (1, false), "the first one is still right");
            break;
        }
    }
}

#[tokio::test]
async fn long_lines_do_not_make_long_messages() {
    let server = Server::start().await;
    let mut span = server.span("a");
    for _ in 0..15 {
        span.write("y".repeat(200_000).as_bytes());
        span.write(b"\n");
    }
    // Checks order and completeness, and the limit by the number of messages.
    for _ in 0..400 {
        span.info("short");
    }
    let mut page = server.page().await.greeted().await;
    page.follow(1, "", 0).await;
    let (lines, sizes) = page.lines_until(1, 414).await;
    assert_eq!(numbers(&lines), (0..415).collect::<Vec<_>>());
    assert!(sizes.len() > 1, "{sizes:?}");
}

#[tokio::test]
async fn click_reaches_the_daemon_and_an_invalid_one_is_refused() {
    let mut server = Server::start().await;
    server.put(&["a"]);
    let mut page = server.page().await.greeted().await;
    page.ask(&PageMessage::Ask {
        request: Request::Trigger { resource: "a".into(), reason: TriggerReason::WEB },
    })
    .await;
    let request = within("a request", server.requests.recv()).await;
    assert_eq!(request, Some(Request::Trigger { resource: "a".into(), reason: TriggerReason::WEB }));

    page.ask(&PageMessage::Ask {
        request: Request::Trigger { resource: "<b>".into(), reason: TriggerReason::WEB },
    })
    .await;
    let answer = page.answer().await;
    assert_eq!(answer, ServerMessage::Refused { message: "there is no resource named \"<b>\"".to_owned() });
    page.socket.send(Message::text("nonsense")).await.expect("send");
    assert!(matches!(page.answer().await, ServerMessage::Refused { .. }));
    assert!(server.requests.try_recv().is_err());
}

#[tokio::test]
async fn page_gets_ticks_when_nothing_happens() {
    let mut server = Server::start().await;
    let mut page = server.page().await.greeted().await;
    for _ in 0..2 {
        assert_eq!(page.next_of_any().await, Some(ServerMessage::Tick));
    }
    // Other messages postpone the next tick.
    server.put(&["a"]);
    assert!(matches!(page.next_of_any().await, Some(ServerMessage::State { .. })));
}

/// Returns the next message about buttons: whether it is complete, their texts, and the names of the removed ones.
async fn buttons(page: &mut Page) -> (bool, Vec<String>, Vec<String>) {
    let ServerMessage::Buttons { complete, buttons, removed } = page.answer().await else {
        panic!("no buttons")
    };
    let text = |button: &serde_json::Value| button["spec"]["text"].as_str().unwrap_or_default().to_owned();
    (complete, buttons.iter().map(text).collect(), removed)
}

#[tokio::test]
async fn buttons_are_added_changed_and_removed() {
    let mut server = Server::start_with_api(&[], None).await;
    let key = |name: &str| Key::new(ObjectKind::UIButton, name);
    let draft = |name: &str, text: &str| {
        let metadata = format!(r#"{{"name":"{name}"}}"#);
        Draft::new(key(name), None, &metadata, &format!(r#"{{"spec":{{"text":"{text}"}}}}"#))
    };
    let put = |server: &mut Server, name: &str, text: &str| {
        server.writer.put(draft(name, text));
        server.writer.commit(Timestamp(1));
    };
    // Not sent: the page has its own buttons for these.
    put(&mut server, "toggle-a-disable", "off");
    put(&mut server, "a-stopbuild", "stop");
    put(&mut server, "seed", "Seed");
    let mut page = server.page().await.greeted().await;
    assert_eq!(buttons(&mut page).await, (true, vec!["Seed".to_owned()], vec![]));
    put(&mut server, "reset", "Reset");
    assert_eq!(buttons(&mut page).await, (false, vec!["Reset".to_owned()], vec![]));
    put(&mut server, "seed", "Seed again");
    assert_eq!(buttons(&mut page).await, (false, vec!["Seed again".to_owned()], vec![]));
    server.writer.remove(key("seed"));
    server.writer.commit(Timestamp(1));
    assert_eq!(buttons(&mut page).await, (false, vec![], vec!["seed".to_owned()]));
}
