//! Port forwards into pods.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use lilt_cluster::{Cluster, ConnectOptions, Forwarder, PortStream};
use lilt_model::cluster::PodRef;
use serde_json::json;
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
async fn web_server_responds_on_many_connections() {
    let space = Space::new("http").await;
    let mut object = space::pod("main", "busybox", SERVE);
    object["spec"]["containers"][0]["readinessProbe"] =
        json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1});
    let mut watch = space.watch();
    space.apply(object).await;
    let pod = space::until_pod(&mut watch, running).await.reference();
    let forwarder = space.cluster.forwarder();
    for _ in 0..3 {
        let mut stream = forwarder.open(&pod, 8080).await.unwrap();
        let answer = get(&mut stream, "/index.html").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello\n"), "{answer}");
    }
    // A client that has closed its side still gets the response.
    let mut stream = forwarder.open(&pod, 8080).await.unwrap();
    stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.ends_with("hello\n"), "{answer}");

    // Nothing listens on this port.
    let mut stream = forwarder.open(&pod, 8081).await.unwrap();
    let error = get(&mut stream, "/").await.unwrap_err();
    let failure = PortStream::failure(&error).expect("the error carries a failure");
    assert!(failure.message.contains("nobody listens on port 8081"), "{failure}");
}

#[tokio::test]
async fn forward_to_deleted_pod_fails() {
    let space = Space::new("gone").await;
    let failure = space.cluster.forwarder().open(&space.pod("absent"), 80).await.unwrap_err();
    assert!(failure.message.contains("absent is gone"), "{failure}");
}

/// 9000 echoes; 9001 responds with the number of bytes it got; 9002 sends forever.
const TALKERS: &str = r#"
import socketserver, threading, time
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536): self.request.sendall(data)
class Count(socketserver.BaseRequestHandler):
    def handle(self):
        total = 0
        while total < 1234567: total += len(self.request.recv(65536))
        time.sleep(2)
        self.request.sendall(str(total).encode())
class Talk(socketserver.BaseRequestHandler):
    def handle(self):
        while True: self.request.sendall(b"x" * 65536)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 512
for port, talker in [(9000, Echo), (9001, Count), (9002, Talk)]:
    threading.Thread(target=Server(("", port), talker).serve_forever).start()
"#;

async fn talkers(space: &Space) -> PodRef {
    let mut object = space::pod("main", "python:3-slim", "");
    object["spec"]["containers"][0]["command"] = json!(["python3", "-c", TALKERS]);
    object["spec"]["containers"][0]["readinessProbe"] =
        json!({"tcpSocket": {"port": 9002}, "periodSeconds": 1});
    let mut watch = space.watch();
    space.apply(object).await;
    space::until_pod(&mut watch, running).await.reference()
}

/// Numbers that show lost, duplicated or reordered chunks.
fn numbered(length: usize) -> Vec<u8> {
    (0u32..).flat_map(u32::to_be_bytes).take(length).collect()
}

/// Sends and receives at the same time, as HTTP/2 and WebSockets do.
async fn echoes(stream: PortStream, bytes: &[u8]) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let send = async {
        for piece in bytes.chunks(77_777) {
            writer.write_all(piece).await.unwrap();
        }
    };
    let mut heard = vec![0; bytes.len()];
    let hear = async {
        reader.read_exact(&mut heard).await.unwrap();
    };
    tokio::time::timeout(DEADLINE, async { tokio::join!(send, hear) }).await.expect("it ends");
    assert!(heard == bytes, "{} bytes came back of {}", heard.len(), bytes.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_through_a_tunnel_comes_whole_and_in_order() {
    let space = Space::new("tunnel").await;
    let pod = talkers(&space).await;
    let forwarder = space.cluster.forwarder();

    let bytes = numbered(8_000_000);
    let stream = forwarder.open(&pod, 9000).await.unwrap();
    assert_eq!(format!("{stream:?}"), "PortStream through a tunnel");
    echoes(stream, &bytes).await;

    // A client that has finished writing gets a response, also a slow one.
    let mut stream = forwarder.open(&pod, 9001).await.unwrap();
    stream.write_all(&bytes[..1_234_567]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, "1234567");

    // A connection that nobody reads does not hold up the others, and can be dropped at any time.
    let mut talking = forwarder.open(&pod, 9002).await.unwrap();
    talking.read_exact(&mut [0; 1000]).await.unwrap();
    echoes(forwarder.open(&pod, 9000).await.unwrap(), &bytes[..1000]).await;
    talking.read_exact(&mut vec![0; 1_000_000]).await.unwrap();
    drop(talking);
    for _ in 0..10 {
        echoes(forwarder.open(&pod, 9000).await.unwrap(), &bytes[..1000]).await;
    }

    // Many at once.
    let forwarder = &forwarder;
    let many = (0..200).map(|number| {
        let bytes = &bytes[number * 1000..number * 1000 + 50_000];
        let pod = pod.clone();
        async move { echoes(forwarder.open(&pod, 9000).await.unwrap(), bytes).await }
    });
    futures_util::future::join_all(many).await;
}

/// As many as a connection pool opens.
async fn open_many(forwarder: &Forwarder, pod: &PodRef, port: u16, count: usize) -> Vec<PortStream> {
    let opening = (0..count).map(|_| forwarder.open(pod, port));
    let opened = tokio::time::timeout(DEADLINE, futures_util::future::try_join_all(opening)).await;
    opened.expect("they open").unwrap()
}

/// Sends another request on an open connection.
async fn is_answered(stream: &mut PortStream) {
    let exchange = async {
        stream.write_all(b"hello").await.unwrap();
        stream.read_exact(&mut [0; 5]).await.unwrap();
    };
    tokio::time::timeout(DEADLINE, exchange).await.expect("it is answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_nobody_reads_does_not_hold_up_its_pool() {
    let space = Space::new("pool").await;
    let pod = talkers(&space).await;
    let forwarder = space.cluster.forwarder();
    // Large results are read in parts, with requests on the other connections in between.
    let (mut talking, mut echoing) =
        tokio::join!(open_many(&forwarder, &pod, 9002, 10), open_many(&forwarder, &pod, 9000, 20));
    for _ in 0..3 {
        for stream in &mut talking {
            stream.read_exact(&mut vec![0; 1_000_000]).await.unwrap();
        }
        for stream in &mut echoing {
            is_answered(stream).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_crowd_one_that_nobody_reads_is_given_up_with_its_reason() {
    let space = Space::new("crowd").await;
    let pod = talkers(&space).await;
    let forwarder = space.cluster.forwarder();
    // With so many clients, the last ones share a tunnel.
    let (mut echoing, talking) =
        tokio::join!(open_many(&forwarder, &pod, 9000, 100), forwarder.open(&pod, 9002));
    let mut talking = talking.unwrap();
    let until_given_up = async {
        loop {
            for stream in &mut echoing {
                is_answered(stream).await;
            }
            // More than the buffer: if it arrives, no other client was waiting.
            if let Err(error) = talking.read_exact(&mut vec![0; 10_000_000]).await {
                return error;
            }
        }
    };
    let error = tokio::time::timeout(DEADLINE, until_given_up).await.expect("it ends");
    let failure = PortStream::failure(&error).expect("the error carries a failure");
    assert!(failure.message.contains("port 9002 of the pod main was given up"), "{failure}");
}

#[tokio::test]
async fn a_pod_that_goes_takes_its_connections_with_it() {
    let space = Space::new("leaving").await;
    let pod = talkers(&space).await;
    let forwarder = space.cluster.forwarder();
    let mut stream = forwarder.open(&pod, 9000).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    stream.read_exact(&mut [0; 5]).await.unwrap();
    space.cluster.delete(&[space::pod("main", "", "")], Some(DEADLINE)).await.unwrap();
    let rest = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut Vec::new())).await;
    let _ = rest.expect("it does not hang");
    let failure = forwarder.open(&pod, 9000).await.unwrap_err();
    assert!(failure.message.contains("the pod main is gone"), "{failure}");
}

/// A proxy that only forwards HTTP, like some real ones.
struct Proxy(std::process::Child);

impl Proxy {
    fn start(port: u16) -> Proxy {
        let port = format!("--port={port}");
        let refuse = ["proxy", &port, "--reject-methods=^POST$", "--accept-paths=^.*"];
        Proxy(std::process::Command::new("kubectl").args(refuse).spawn().expect("kubectl starts"))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn where_no_tunnel_goes_through_a_web_socket_does() {
    let space = Space::new("socket").await;
    let pod = talkers(&space).await;
    let port = lilt_testbed_env::free_port();
    let _proxy = Proxy::start(port);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "through-a-proxy",
        "contexts": [{"name": "through-a-proxy", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
        "users": [{"name": "u", "user": {}}],
    });
    std::fs::write(&kubeconfig, text.to_string()).unwrap();
    let options = ConnectOptions { kubeconfig: vec![kubeconfig], ..ConnectOptions::default() };
    let cluster = Cluster::connect(options).await.unwrap();
    let answers = async { while cluster.probe().await.is_err() {} };
    tokio::time::timeout(DEADLINE, answers).await.expect("the proxy answers");
    let mut stream = cluster.forwarder().open(&pod, 9000).await.unwrap();
    assert_eq!(format!("{stream:?}"), "PortStream through a WebSocket");
    stream.write_all(b"hello").await.unwrap();
    let mut answer = [0; 5];
    tokio::time::timeout(DEADLINE, stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"hello");
}

/// In a pod: forwards bytes to a port of this machine, where the test itself serves.
const RELAY: &str = r#"
import socket, threading
def pump(a, b):
    try:
        while data := a.recv(65536): b.sendall(data)
    except OSError: pass
    b.close()
server = socket.create_server(("", 9000))
while True:
    client, _ = server.accept()
    other = socket.create_connection(("10.244.0.1", PORT))
    for a, b in ((client, other), (other, client)): threading.Thread(target=pump, args=(a, b), daemon=True).start()
"#;

/// Echoes every request body while it arrives, like a gRPC stream.
async fn serve_http2(stream: tokio::net::TcpStream) -> Result<(), h2::Error> {
    let mut connection = h2::server::handshake(stream).await?;
    while let Some(request) = connection.accept().await {
        let (request, mut respond) = request?;
        tokio::spawn(async move {
            let mut body = request.into_body();
            let mut answer = respond.send_response(http::Response::new(()), false)?;
            while let Some(piece) = body.data().await {
                let piece = piece?;
                body.flow_control().release_capacity(piece.len())?;
                answer.send_data(piece, false)?;
            }
            answer.send_data(Default::default(), true)
        });
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_http2_go_both_ways_at_once() {
    let space = Space::new("http2").await;
    let listener = tokio::net::TcpListener::bind("10.244.0.1:0").await.expect("the node is this machine");
    let program = RELAY.replace("PORT", &listener.local_addr().unwrap().port().to_string());
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve_http2(stream));
        }
    });
    let mut object = space::pod("main", "python:3-slim", "");
    object["spec"]["containers"][0]["command"] = json!(["python3", "-c", program]);
    object["spec"]["containers"][0]["readinessProbe"] =
        json!({"tcpSocket": {"port": 9000}, "periodSeconds": 1});
    let mut watch = space.watch();
    space.apply(object).await;
    let pod = space::until_pod(&mut watch, running).await.reference();
    let stream = space.cluster.forwarder().open(&pod, 9000).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let talks = (0..50u8).map(|number| {
        let client = client.clone();
        async move {
            let mut client = client.ready().await.unwrap();
            let request = http::Request::post("http://relay/talk").body(()).unwrap();
            let (answer, mut say) = client.send_request(request, false).unwrap();
            let mut heard = answer.await.unwrap().into_body();
            // Waits for each echo before sending the next chunk.
            for round in 0..20u8 {
                let words = vec![number ^ round; 1000];
                say.send_data(words.clone().into(), false).unwrap();
                let mut echo = Vec::new();
                while echo.len() < words.len() {
                    let piece = heard.data().await.expect("it goes on").unwrap();
                    heard.flow_control().release_capacity(piece.len()).unwrap();
                    echo.extend_from_slice(&piece);
                }
                assert_eq!(echo, words);
            }
            say.send_data(Default::default(), true).unwrap();
            assert!(heard.data().await.is_none_or(|last| last.unwrap().is_empty()));
        }
    });
    tokio::time::timeout(DEADLINE, futures_util::future::join_all(talks)).await.expect("all are answered");
    connection.abort();
    server.abort();
}
