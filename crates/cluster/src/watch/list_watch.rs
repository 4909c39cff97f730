//! Lists and then watches one kind of object in one namespace, reconnecting forever.
//!
//! kube's own watcher does not report when it is connected again. A status that says "lost" until the next pod
//! happens to change would be wrong.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::{Resource, ResourceExt};
use lilt_model::Failure;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::connect::Cluster;

const FIRST_DELAY: Duration = Duration::from_millis(50);
/// Also the longest time until the return of the API server is noticed.
const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// Permissions rarely change while somebody waits for them.
const REFUSED_DELAY: Duration = Duration::from_secs(5);
/// For an API server that accepts a request and then does not respond.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The server closes a watch after this time; one that is silent for longer is dead.
const WATCH_SECONDS: u32 = 290;

pub(super) enum ListWatchEvent<K> {
    Listed(Vec<K>),
    Changed(K),
    Gone(K),
    Trouble(Failure),
    /// Forbidden; retried now and then.
    Refused(Failure),
    Recovered,
}

pub(super) struct ListWatch<K> {
    cluster: Cluster,
    api: Api<K>,
    /// The plural name of the kind, for messages: `pods`.
    what: &'static str,
    /// The resource version to watch from; none: list first.
    version: Option<String>,
    events: Option<BoxStream<'static, kube::Result<WatchEvent<K>>>>,
    started: Instant,
    delay: Duration,
    troubled: bool,
    steps: VecDeque<ListWatchEvent<K>>,
}

impl<K> ListWatch<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    pub(super) fn new(cluster: &Cluster, api: Api<K>, what: &'static str) -> Self {
        Self {
            cluster: cluster.clone(),
            api,
            what,
            version: None,
            events: None,
            started: Instant::now(),
            delay: FIRST_DELAY,
            troubled: false,
            steps: VecDeque::new(),
        }
    }

    /// A stream may be polled in a `select!` without losing requests in flight.
    pub(super) fn into_stream(self) -> BoxStream<'static, ListWatchEvent<K>> {
        stream::unfold(self, |mut tail| async move {
            loop {
                if let Some(step) = tail.steps.pop_front() {
                    return Some((step, tail));
                }
                tail.advance().await;
            }
        })
        .boxed()
    }

    async fn advance(&mut self) {
        if let Some(events) = &mut self.events {
            let limit = Duration::from_secs(u64::from(WATCH_SECONDS)) + REQUEST_TIMEOUT;
            match tokio::time::timeout(limit, events.next()).await {
                Ok(Some(Ok(event))) => self.take(event),
                // Load balancers cut long connections: an outage only if reconnecting fails, too.
                Ok(Some(Err(_)) | None) | Err(_) => self.ended().await,
            }
        } else if let Some(version) = self.version.clone() {
            self.watch(&version).await;
        } else {
            self.list().await;
        }
    }

    async fn list(&mut self) {
        match tokio::time::timeout(REQUEST_TIMEOUT, self.api.list(&ListParams::default())).await {
            Ok(Ok(list)) => {
                self.version = list.metadata.resource_version.clone();
                self.recovered();
                self.steps.push_back(ListWatchEvent::Listed(list.items));
            }
            Ok(Err(error)) => self.lost(&error).await,
            Err(_) => self.lost(&silent()).await,
        }
    }

    async fn watch(&mut self, version: &str) {
        let parameters = WatchParams::default().timeout(WATCH_SECONDS);
        match tokio::time::timeout(REQUEST_TIMEOUT, self.api.watch(&parameters, version)).await {
            Ok(Ok(events)) => {
                self.started = Instant::now();
                self.events = Some(events.boxed());
                self.recovered();
            }
            Ok(Err(error)) => {
                if crate::error::code(&error) == Some(410) {
                    self.version = None;
                } else {
                    self.lost(&error).await;
                }
            }
            Err(_) => self.lost(&silent()).await,
        }
    }

    fn take(&mut self, event: WatchEvent<K>) {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.version = object.resource_version().or(self.version.take());
                self.steps.push_back(ListWatchEvent::Changed(object));
            }
            WatchEvent::Deleted(object) => {
                self.version = object.resource_version().or(self.version.take());
                self.steps.push_back(ListWatchEvent::Gone(object));
            }
            WatchEvent::Bookmark(bookmark) => self.version = Some(bookmark.metadata.resource_version),
            // Mostly "410 Gone": the version is too old. A new list fixes every case.
            WatchEvent::Error(status) => {
                tracing::debug!(message = %status.message, "watch asks for a new list");
                self.version = None;
                self.events = None;
            }
        }
    }

    /// The server closed the watch: expected after its timeout, suspicious right after the start.
    async fn ended(&mut self) {
        self.events = None;
        if self.started.elapsed() < LONGEST_DELAY {
            self.wait().await;
        }
    }

    async fn lost(&mut self, error: &kube::Error) {
        self.events = None;
        if !self.troubled {
            self.troubled = true;
            // Reported before the first wait.
            self.steps.push_back(self.trouble(error));
            return;
        }
        if crate::error::code(error) == Some(403) {
            return tokio::time::sleep(REFUSED_DELAY).await;
        }
        self.wait().await;
    }

    fn trouble(&self, error: &kube::Error) -> ListWatchEvent<K> {
        match crate::error::code(error) {
            Some(403) => {
                ListWatchEvent::Refused(self.cluster.forbidden(&format!("to watch {}", self.what), error))
            }
            _ => ListWatchEvent::Trouble(self.cluster.failure(&format!("watching {}", self.what), error)),
        }
    }

    async fn wait(&mut self) {
        tokio::time::sleep(self.delay).await;
        self.delay = (self.delay * 2).min(LONGEST_DELAY);
    }

    fn recovered(&mut self) {
        self.delay = FIRST_DELAY;
        if self.troubled {
            self.troubled = false;
            self.steps.push_back(ListWatchEvent::Recovered);
        }
    }
}

fn silent() -> kube::Error {
    kube::Error::Service(format!("no answer within {} seconds", REQUEST_TIMEOUT.as_secs()).into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "writes a kubeconfig to read")]

    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::connect::ConnectOptions;

    const DEADLINE: Duration = Duration::from_secs(60);
    const LIST: &str =
        r#"{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[]}"#;

    /// Answers one request and closes the connection. Returns whether it was a watch.
    ///
    /// A watch gets one event, then its body breaks off with an error, as when a load balancer resets the connection.
    async fn answer(listener: &TcpListener, event_name: &str) -> bool {
        const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
        let (mut stream, _) = listener.accept().await.unwrap();
        let is_watch = request_line(&mut stream).await.contains("watch=");
        let answer = if is_watch {
            let event = format!(
                r#"{{"type":"ADDED","object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{event_name}","resourceVersion":"2"}}}}}}"#
            );
            let length = event.len() + 1;
            format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{event}\n\r\nno length\r\n")
        } else {
            format!("{HEAD}Content-Length: {}\r\n\r\n{LIST}", LIST.len())
        };
        stream.write_all(answer.as_bytes()).await.unwrap();
        is_watch
    }

    async fn request_line(stream: &mut TcpStream) -> String {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(request).unwrap().lines().next().unwrap().to_owned()
    }

    /// Follows config maps of the API server at `port`.
    async fn follow(port: u16) -> BoxStream<'static, ListWatchEvent<ConfigMap>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
             clusters: [{{name: a, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
             contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {{}}}}]\n"
        );
        std::fs::write(&path, text).unwrap();
        let options = ConnectOptions { kubeconfig: vec![path], ..ConnectOptions::default() };
        let cluster = Cluster::connect(options).await.unwrap();
        let api = Api::namespaced(cluster.client.clone(), "default");
        ListWatch::new(&cluster, api, "config maps").into_stream()
    }

    async fn next(steps: &mut BoxStream<'static, ListWatchEvent<ConfigMap>>) -> String {
        match tokio::time::timeout(DEADLINE, steps.next()).await.unwrap().unwrap() {
            ListWatchEvent::Listed(list) => format!("listed {}", list.len()),
            ListWatchEvent::Changed(object) => format!("changed {}", object.name_any()),
            ListWatchEvent::Gone(object) => format!("gone {}", object.name_any()),
            ListWatchEvent::Trouble(failure) | ListWatchEvent::Refused(failure) => {
                format!("trouble: {failure}")
            }
            ListWatchEvent::Recovered => "recovered".to_owned(),
        }
    }

    #[tokio::test]
    async fn interrupted_watch_is_no_outage_unless_reconnecting_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut steps = follow(listener.local_addr().unwrap().port()).await;
        let server = tokio::spawn(async move {
            let mut watches = 0;
            while watches < 3 {
                watches += usize::from(answer(&listener, &format!("map-{watches}")).await);
            }
            // Nobody listens from now on.
        });
        let expected = ["listed 0", "changed map-0", "changed map-1", "changed map-2"];
        for step in expected {
            assert_eq!(next(&mut steps).await, step);
        }
        server.await.unwrap();
        let trouble = next(&mut steps).await;
        assert!(trouble.starts_with("trouble: cannot reach the cluster a at http://127.0.0.1:"), "{trouble}");
    }
}
