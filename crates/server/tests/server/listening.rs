//! Opening and closing the port.

use futures_util::StreamExt;
use lilt_model::{Class, Failure};
use lilt_server::bind;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::harness::{Server, within};

#[tokio::test]
async fn port_in_use_is_reported_as_in_tilt() {
    let taken = bind("localhost", 0).await.expect("a free port");
    let port = taken.port();
    let failure = Failure::from(bind("localhost", port).await.expect_err("it is taken"));
    assert_eq!(failure.class(), Class::Environment);
    assert_eq!(
        failure.message,
        format!("Tilt cannot start because you already have another process on port {port}")
    );
    assert!(failure.hint.is_some_and(|hint| hint.contains("--port")));
}

#[tokio::test]
async fn foreign_host_is_reported() {
    let failure = Failure::from(bind("192.0.2.1", 0).await.expect_err("nobody has this address"));
    assert_eq!(failure.class(), Class::Environment);
    assert!(failure.message.contains("192.0.2.1"), "{failure}");
}

#[tokio::test]
async fn cancelling_closes_pages_and_the_port() {
    let mut server = Server::start().await;
    let mut page = server.page().await.greeted().await;
    // A connection that never says anything must not hold the server up.
    let silent = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    server.cancel.cancel();
    within("the end of the server", &mut server.task).await.expect("it does not panic");
    let last = within("a goodbye", async {
        loop {
            match page.socket.next().await {
                Some(Ok(Message::Close(frame))) => break frame,
                Some(Ok(_)) => {}
                other => panic!("no goodbye but {other:?}"),
            }
        }
    })
    .await;
    assert_eq!(last.map(|frame| frame.code), Some(CloseCode::Away));
    assert!(TcpStream::connect(("127.0.0.1", server.port)).await.is_err());
    drop(silent);
}

#[tokio::test]
async fn oldest_unauthenticated_connections_are_closed_beyond_the_cap() {
    let server = Server::start_guarded(&[], Some("token")).await;
    let connect = || async { TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect") };
    let request = format!(
        "GET /api/resources HTTP/1.1\r\nHost: localhost:{}\r\nX-Tilt-Token: token\r\n\r\n",
        server.port
    );
    let answered = async |stream: &mut TcpStream| {
        stream.write_all(request.as_bytes()).await.expect("send");
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.expect("an answer");
        String::from_utf8_lossy(&status).into_owned()
    };
    let mut authenticated = connect().await;
    assert_eq!(within("an answer", answered(&mut authenticated)).await, "HTTP/1.1 200");
    let mut oldest = connect().await;
    let mut others = Vec::new();
    for _ in 0..256 {
        others.push(connect().await);
    }
    let closed = within("the oldest to be closed", oldest.read(&mut [0])).await;
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    // One with a token stays, and new ones get in.
    authenticated.write_all(request.as_bytes()).await.expect("it is still open");
    assert_eq!(within("an answer", answered(&mut connect().await)).await, "HTTP/1.1 200");
}

#[tokio::test]
async fn dropping_the_server_ends_its_pages() {
    let server = Server::start().await;
    let mut page = server.page().await.greeted().await;
    server.task.abort();
    assert_eq!(page.next().await, None);
}
