//! `POST /api/trigger`, as Tilt's scripts use it.

use lilt_model::ResourceName;
use lilt_model::request::{Request, TriggerReason};

use super::harness::{Server, within};

#[tokio::test]
async fn trigger_reaches_the_daemon() {
    let mut server = Server::start().await;
    server.put(&["web"]);
    let answer = server.post("/api/trigger", r#"{"manifest_names":["web"],"build_reason":16}"#).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    let request = within("a request", server.requests.recv()).await;
    assert_eq!(
        request,
        Some(Request::Trigger { resource: ResourceName::new("web"), reason: TriggerReason::WEB })
    );
}

#[tokio::test]
async fn trigger_of_an_unknown_resource_has_no_effect() {
    let mut server = Server::start().await;
    server.put(&["web"]);
    let answer = server.post("/api/trigger", r#"{"manifest_names":["web","wbe"],"build_reason":16}"#).await;
    assert_eq!((answer.status, answer.body.as_str()), (404, "there is no resource named \"wbe\"\n"));
    assert!(server.requests.try_recv().is_err());
}

#[tokio::test]
async fn invalid_trigger_is_refused_with_a_reason() {
    let server = Server::start().await;
    for body in ["", "{", "[]", r#"{"manifest_names":[]}"#, r#"{"manifest_names":"web"}"#] {
        let answer = server.post("/api/trigger", body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(!answer.body.is_empty(), "{body}");
    }
    assert_eq!(server.get("/api/trigger").await.status, 405);
}

#[tokio::test]
async fn ended_daemon_is_reported() {
    let mut server = Server::start().await;
    server.put(&["web"]);
    server.requests.close();
    let answer = server.post("/api/trigger", r#"{"manifest_names":["web"]}"#).await;
    assert_eq!((answer.status, answer.body.as_str()), (503, "the session is ending\n"));
}
