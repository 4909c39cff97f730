//! Forwards into pods.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use lilt_cluster::PortStream;
use space::{DEADLINE, Space, running};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn get(stream: &mut PortStream, path: &str) -> std::io::Result<String> {
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await.expect("an answer comes")?;
    Ok(answer)
}

const SERVE: &str = "mkdir /www; echo hello >/www/index.html; exec httpd -f -p 8080 -h /www";

#[tokio::test]
async fn a_web_server_answers_many_connections() {
    let space = Space::new("http").await;
    let mut object = space::pod("main", "busybox", SERVE);
    object["spec"]["containers"][0]["readinessProbe"] =
        serde_json::json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1});
    let mut watch = space.watch();
    space.apply(object).await;
    let pod = space::until_pod(&mut watch, running).await.reference();
    let forwarder = space.cluster.forwarder();
    for _ in 0..3 {
        let mut stream = forwarder.open(&pod, 8080).await.unwrap();
        let answer = get(&mut stream, "/index.html").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello\n"), "{answer}");
    }
    // A client that closes its half after asking still gets the answer.
    let mut stream = forwarder.open(&pod, 8080).await.unwrap();
    stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.ends_with("hello\n"), "{answer}");

    // Nobody listens next door.
    let mut stream = forwarder.open(&pod, 8081).await.unwrap();
    let error = get(&mut stream, "/").await.unwrap_err();
    let failure = PortStream::failure(&error).expect("the error carries a failure");
    assert!(failure.message.contains("nobody listens on port 8081"), "{failure}");
}

#[tokio::test]
async fn a_pod_that_is_gone_says_so() {
    let space = Space::new("gone").await;
    let failure = space.cluster.forwarder().open(&space.pod("absent"), 80).await.unwrap_err();
    assert!(failure.message.contains("absent is gone"), "{failure}");
}
