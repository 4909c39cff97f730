//! List, then watch, again and again: one kind of object of one namespace.
//!
//! kube's own watcher does the same but does not tell when it is connected again; a status that says "lost" until
//! the next pod happens to change would be wrong.

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
/// Also how much later than possible a return of the API server is noticed.
const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// Rights are seldom given while somebody waits for them.
const REFUSED_DELAY: Duration = Duration::from_secs(5);
/// An API server that accepts a request and then says nothing.
const PATIENCE: Duration = Duration::from_secs(20);
/// The server ends a watch by itself after this time; one that is silent for longer is dead.
const WATCH_SECONDS: u32 = 290;

pub(super) enum Step<K> {
    Listed(Vec<K>),
    Changed(K),
    Gone(K),
    Trouble(Failure),
    /// Not allowed; asked for again now and then.
    Refused(Failure),
    Recovered,
}

pub(super) struct Tail<K> {
    cluster: Cluster,
    api: Api<K>,
    /// `pods`, for what is told.
    what: &'static str,
    /// What to watch from; none asks for a list.
    version: Option<String>,
    events: Option<BoxStream<'static, kube::Result<WatchEvent<K>>>>,
    started: Instant,
    delay: Duration,
    troubled: bool,
    steps: VecDeque<Step<K>>,
}

impl<K> Tail<K>
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

    /// A stream may be polled beside others without losing what is under way.
    pub(super) fn into_stream(self) -> BoxStream<'static, Step<K>> {
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
            let limit = Duration::from_secs(u64::from(WATCH_SECONDS)) + PATIENCE;
            match tokio::time::timeout(limit, events.next()).await {
                Ok(Some(Ok(event))) => self.take(event),
                // Load balancers cut long connections: that is no outage unless reconnecting fails, too.
                Ok(Some(Err(_)) | None) | Err(_) => self.ended().await,
            }
        } else if let Some(version) = self.version.clone() {
            self.watch(&version).await;
        } else {
            self.list().await;
        }
    }

    async fn list(&mut self) {
        match tokio::time::timeout(PATIENCE, self.api.list(&ListParams::default())).await {
            Ok(Ok(list)) => {
                self.version = list.metadata.resource_version.clone();
                self.recovered();
                self.steps.push_back(Step::Listed(list.items));
            }
            Ok(Err(error)) => self.lost(&error).await,
            Err(_) => self.lost(&silent()).await,
        }
    }

    async fn watch(&mut self, version: &str) {
        let parameters = WatchParams::default().timeout(WATCH_SECONDS);
        match tokio::time::timeout(PATIENCE, self.api.watch(&parameters, version)).await {
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
                self.steps.push_back(Step::Changed(object));
            }
            WatchEvent::Deleted(object) => {
                self.version = object.resource_version().or(self.version.take());
                self.steps.push_back(Step::Gone(object));
            }
            WatchEvent::Bookmark(bookmark) => self.version = Some(bookmark.metadata.resource_version),
            // Mostly "410 Gone": too far behind. A new list sets it right, whatever it was.
            WatchEvent::Error(status) => {
                tracing::debug!(message = %status.message, "watch asks for a new list");
                self.version = None;
                self.events = None;
            }
        }
    }

    /// The server closed the watch: usual after its time, suspicious at once.
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
            // Told at once, before waiting.
            self.steps.push_back(self.trouble(error));
            return;
        }
        if crate::error::code(error) == Some(403) {
            return tokio::time::sleep(REFUSED_DELAY).await;
        }
        self.wait().await;
    }

    fn trouble(&self, error: &kube::Error) -> Step<K> {
        match crate::error::code(error) {
            Some(403) => Step::Refused(self.cluster.forbidden(&format!("to watch {}", self.what), error)),
            _ => Step::Trouble(self.cluster.failure(&format!("watching {}", self.what), error)),
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
            self.steps.push_back(Step::Recovered);
        }
    }
}

fn silent() -> kube::Error {
    kube::Error::Service(format!("no answer within {} seconds", PATIENCE.as_secs()).into())
}
