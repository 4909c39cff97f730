//! A running server, and simple clients, which can send what a browser never sends.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures_util::StreamExt;
use lilt_api::{ObjectMeta, UIResource, UIResourceStatus};
use lilt_model::auth::CodeLifetime;
use lilt_model::log::Source;
use lilt_model::request::Request;
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_server::protocol::ServerMessage;
use lilt_server::{Auth, AuthOwner, ProxiedApi, ServeOptions, bind, serve};
use lilt_store::{Draft, LogWriter, SessionQueries, Span, WriteRequest, Writer, open};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::CancellationToken;

/// The timeout after which a test fails with what it waits for. Nothing here takes that long.
const DEADLINE: Duration = Duration::from_secs(20);

/// The time at which every server of these tests was started.
pub(crate) const NOW: Timestamp = Timestamp(1_700_000_000_000_000);

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}

pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) writer: Writer,
    pub(crate) logs: LogWriter,
    pub(crate) requests: mpsc::Receiver<Request>,
    /// Kept so that queries are pending instead of failing.
    _queries: SessionQueries,
    /// Receives writes of objects; none without an object API.
    pub(crate) writes: Option<mpsc::Receiver<WriteRequest>>,
    /// None without access control.
    pub(crate) auth: Option<Auth>,
    pub(crate) cancel: CancellationToken,
    pub(crate) task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(allowed_hosts: &[&str]) -> Self {
        Self::start_guarded(allowed_hosts, None).await
    }

    /// Starts a server with access control.
    pub(crate) async fn start_guarded(allowed_hosts: &[&str], token: Option<&str>) -> Self {
        Self::start_serving("localhost", allowed_hosts, token, None).await
    }

    /// Starts a server that listens on this host.
    pub(crate) async fn start_on(host: &str, token: Option<&str>) -> Self {
        Self::start_serving(host, &[host], token, None).await
    }

    /// Starts a server with an object API, as sessions have.
    pub(crate) async fn start_with_api(allowed_hosts: &[&str], token: Option<&str>) -> Self {
        // More than any test sends.
        let (writes, incoming) = mpsc::channel(64);
        let api = ProxiedApi { writes, clock: || Timestamp(1_700_000_000_000_000) };
        let mut server = Self::start_serving("localhost", allowed_hosts, token, Some(api)).await;
        server.writes = Some(incoming);
        server
    }

    async fn start_serving(
        host: &str,
        allowed_hosts: &[&str],
        token: Option<&str>,
        api: Option<ProxiedApi>,
    ) -> Self {
        let (logs, log_reader) = LogWriter::open(None, || Timestamp(1_700_000_000_000_000));
        let (writer, queries, reader) = open(log_reader);
        let listener = bind(host, 0).await.expect("a free port");
        let port = listener.port();
        // More than any test sends.
        let (sender, requests) = mpsc::channel(16);
        let cancel = CancellationToken::new();
        let owner = token.map(|token| AuthOwner::new(token.into(), || NOW, Box::new(|_| Ok(()))));
        let auth = owner.as_ref().map(AuthOwner::auth);
        let options = ServeOptions {
            allowed_hosts: allowed_hosts.iter().map(|&host| host.to_owned()).collect(),
            version: "1.2.3".to_owned(),
            auth: owner,
            api,
            ..ServeOptions::default()
        };
        let task = tokio::spawn(serve(listener, options, reader, sender, cancel.clone()));
        Self { port, writer, _queries: queries, logs, requests, writes: None, auth, cancel, task }
    }

    /// Returns a code as in a printed link.
    pub(crate) fn code(&self) -> String {
        let keys = self.auth.as_ref().expect("it asks for a token").keys();
        keys.mint_code(NOW, CodeLifetime::UntilSessionEnds).expect("random numbers")
    }

    /// Returns the cookie of a browser that opened a link, as `name=value`.
    pub(crate) async fn cookie(&self) -> String {
        let answer = self.get(&format!("/?code={}", self.code())).await;
        let cookie = answer.header("set-cookie").expect("a cookie");
        cookie.split(';').next().expect("name and value").to_owned()
    }

    pub(crate) fn put(&mut self, names: &[&str]) {
        self.commit(names.iter().map(|name| resource(name, 0)));
    }

    pub(crate) fn commit(&mut self, resources: impl IntoIterator<Item = UIResource>) {
        for resource in resources {
            self.writer.put(Draft::resource(resource.into(), None));
        }
        self.writer.commit(NOW);
    }

    pub(crate) fn span(&self, resource: &str) -> Span {
        self.logs.span(SpanId::new("span"), Some(ResourceName::new(resource)), Source::Runtime)
    }

    /// Sends a request head, with `{host}` replaced by the server's host. Returns status, headers and body.
    pub(crate) async fn raw(&self, head: &str, body: &str) -> Answer {
        self.raw_to(IpAddr::V4(Ipv4Addr::LOCALHOST), head, body).await
    }

    /// Sends a request over a connection to this address of the machine, which is then the client's address, too.
    pub(crate) async fn raw_to(&self, address: IpAddr, head: &str, body: &str) -> Answer {
        within("an answer", async {
            let mut stream = TcpStream::connect((address, self.port)).await.expect("connect");
            let head = head.replace("{host}", &format!("localhost:{}", self.port));
            let request = format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(request.as_bytes()).await.expect("send");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.expect("receive");
            Answer::parse(&answer)
        })
        .await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\n"), "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.raw(&format!("POST {path} HTTP/1.1\r\nHost: {{host}}\r\n"), body).await
    }

    pub(crate) async fn page(&self) -> Page {
        self.page_at("/ws").await
    }

    pub(crate) async fn page_at(&self, path: &str) -> Page {
        let address = format!("ws://localhost:{}{path}", self.port);
        let mut request = address.into_client_request().expect("a request");
        let origin = format!("http://localhost:{}", self.port).parse().expect("an origin");
        request.headers_mut().insert("Origin", origin);
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("connect");
        let stream = MaybeTlsStream::Plain(stream);
        let (socket, _) =
            within("a WebSocket", tokio_tungstenite::client_async(request, stream)).await.expect("open");
        Page { socket }
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("an end of the head");
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        Self {
            status: status.expect("a status"),
            headers: headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(),
            body: String::from_utf8_lossy(&bytes[end + 4..]).into_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Page {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Page {
    /// Returns the next message other than a tick; none when the server has closed.
    pub(crate) async fn next(&mut self) -> Option<ServerMessage> {
        loop {
            match self.next_of_any().await {
                // On a busy machine, it may be sent at any time.
                Some(ServerMessage::Tick) => {}
                other => return other,
            }
        }
    }

    pub(crate) async fn next_of_any(&mut self) -> Option<ServerMessage> {
        within("a message", async {
            loop {
                match self.socket.next().await?.ok()? {
                    Message::Text(text) => break Some(serde_json::from_str(&text).expect("a known message")),
                    Message::Close(_) => break None,
                    _ => {}
                }
            }
        })
        .await
    }

    pub(crate) async fn expect(&mut self) -> ServerMessage {
        self.next().await.expect("the socket stays open")
    }

    /// Skips the first messages of every connection.
    pub(crate) async fn greeted(mut self) -> Self {
        assert!(matches!(self.expect().await, ServerMessage::Hello { .. }));
        assert!(matches!(self.expect().await, ServerMessage::State { complete: true, .. }));
        assert!(matches!(self.expect().await, ServerMessage::Log { .. }));
        self
    }
}

pub(crate) fn resource(name: &str, order: i32) -> UIResource {
    UIResource::new(
        ObjectMeta { name: name.to_owned(), ..ObjectMeta::default() },
        UIResourceStatus { order, ..UIResourceStatus::default() },
    )
}
