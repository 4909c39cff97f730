//! Follows the log of one run of one container, without losing or duplicating lines.
//!
//! Lines are read with the node's timestamps. After a lost connection the log is read again from a second before the
//! newest line, and duplicates are dropped ([`lines`]).

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::io::{AsyncBufRead, AsyncBufReadExt};
use futures_util::stream::Stream;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::Api;
use kube::api::LogParams;
use lilt_model::cluster::PodRef;
use lilt_model::{ContainerId, Failure, Timestamp};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::connect::Cluster;
use crate::pod::timestamp;

mod lines;

use lines::Lines;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// After a 403. A starting API server knows no permissions for a moment, and permissions may be granted while a user
/// waits.
const FORBIDDEN_DELAY: Duration = Duration::from_secs(2);
/// After this many in a row the failure is reported, once.
const FORBIDDEN_REPORTED_AFTER: u32 = 2;
/// Chunks of up to 64 kB: enough to keep reading while the receiver writes the last one.
const CHUNKS_BUFFERED: usize = 16;

/// Whole lines with their line ends; the very last one of a container may lack it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogChunk {
    pub text: Bytes,
    /// When the last of these lines was written.
    pub time: Timestamp,
}

/// Ends when the container has ended and its log is read, or with a failure.
///
/// After the failure of a missing permission it continues when that is granted. Stops reading when dropped.
#[derive(Debug)]
pub struct LogStream {
    chunks: mpsc::Receiver<Result<LogChunk, Failure>>,
    _task: AbortOnDropHandle<()>,
}

impl Stream for LogStream {
    type Item = Result<LogChunk, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.chunks.poll_recv(context)
    }
}

impl Cluster {
    /// Follows a container's log from its beginning, or from the lines written after `since`.
    ///
    /// `run` is a specific run of a container that restarts; none: the current one.
    pub fn follow_logs(
        &self,
        pod: &PodRef,
        container: &str,
        run: Option<&ContainerId>,
        since: Option<Timestamp>,
    ) -> LogStream {
        let (sender, chunks) = mpsc::channel(CHUNKS_BUFFERED);
        let follow = Follow {
            pods: Api::namespaced(self.client.clone(), &pod.namespace),
            cluster: self.clone(),
            pod: pod.clone(),
            container: container.to_owned(),
            run: run.cloned(),
            lines: Lines::new(since),
            refusals: 0,
            sender,
        };
        LogStream { chunks, _task: AbortOnDropHandle::new(tokio::spawn(follow.run())) }
    }
}

struct Follow {
    cluster: Cluster,
    pods: Api<Pod>,
    pod: PodRef,
    container: String,
    run: Option<ContainerId>,
    lines: Lines,
    /// Consecutive 403 responses.
    refusals: u32,
    sender: mpsc::Sender<Result<LogChunk, Failure>>,
}

/// What to read next.
enum Next {
    /// The current run, which continues.
    Follow,
    /// The current run, which has ended: read once more, to the end.
    Finish,
    /// The previous run, which ended at this time: read once more, to the end.
    FinishPrevious { ended: Option<Timestamp> },
    /// Not started yet.
    Wait,
    /// There is nothing more.
    Nothing,
}

enum Stop {
    /// The receiver was dropped.
    ReceiverDropped,
    Failed(Failure),
}

impl Follow {
    async fn run(mut self) {
        let listener = self.sender.clone();
        let result = tokio::select! {
            result = self.follow() => result,
            () = listener.closed() => return,
        };
        if let Err(Stop::Failed(failure)) = result {
            // The receiver may have been dropped meanwhile.
            let _ = self.sender.send(Err(failure)).await;
        }
    }

    async fn follow(&mut self) -> Result<(), Stop> {
        let mut delay = FIRST_DELAY;
        let mut pod_was_there = false;
        loop {
            let next = match self.pods.get_opt(&self.pod.name).await {
                Ok(Some(pod)) => {
                    pod_was_there = true;
                    self.next(&pod)?
                }
                Ok(None) if pod_was_there => return self.send_chunk(|lines| lines.finish()).await,
                Ok(None) => return Err(Stop::Failed(self.pod_gone())),
                Err(error) if crate::error::code(&error) == Some(403) => {
                    self.forbidden(&error).await?;
                    continue;
                }
                Err(error) => {
                    tracing::debug!(error = %crate::error::causes(&error), "log: asking for the pod again");
                    Next::Wait
                }
            };
            let since = self.lines.since();
            let whole = LogParams {
                container: Some(self.container.clone()),
                timestamps: true,
                ..LogParams::default()
            };
            let complete = match next {
                Next::Nothing => return Ok(()),
                Next::Wait => false,
                Next::Finish => {
                    if self.read(LogParams { since_time: since, ..whole }).await? {
                        return self.send_chunk(|lines| lines.finish()).await;
                    }
                    false
                }
                Next::FinishPrevious { ended } => {
                    let since_time = self.lines.since_of_run(ended);
                    if self.read(LogParams { since_time, previous: true, ..whole }).await? {
                        return self.send_chunk(|lines| lines.finish()).await;
                    }
                    false
                }
                Next::Follow => {
                    let progress = self.lines.count();
                    let ended = self.read(LogParams { since_time: since, follow: true, ..whole }).await?;
                    if self.lines.count() != progress {
                        delay = FIRST_DELAY;
                    }
                    ended
                }
            };
            // When a followed log ends, the pod's status follows soon.
            tokio::time::sleep(if complete { FIRST_DELAY } else { delay }).await;
            delay = if complete { delay } else { (delay * 2).min(LONGEST_DELAY) };
        }
    }

    /// Decides which run to follow and how.
    fn next(&mut self, pod: &Pod) -> Result<Next, Stop> {
        let Some(status) = status_of(pod, &self.container) else {
            return if has_container(pod, &self.container) {
                Ok(Next::Wait)
            } else {
                Err(Stop::Failed(self.unknown_container()))
            };
        };
        let current = status.container_id.as_deref().filter(|id| !id.is_empty());
        let run = match (&self.run, current) {
            (Some(run), _) => run.clone(),
            (None, Some(current)) => self.run.insert(ContainerId::new(current)).clone(),
            (None, None) => return Ok(Next::Wait),
        };
        if current == Some(run.as_str()) {
            let running = status.state.as_ref().is_some_and(|state| state.running.is_some());
            return Ok(if running { Next::Follow } else { Next::Finish });
        }
        let last = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        let last = last.filter(|last| last.container_id.as_deref() == Some(run.as_str()));
        if let Some(last) = last {
            let ended = last.finished_at.as_ref().map(timestamp);
            return Ok(Next::FinishPrevious { ended });
        }
        Ok(Next::Nothing)
    }

    /// Reads until the server closes the stream; true if it closed in order.
    async fn read(&mut self, parameters: LogParams) -> Result<bool, Stop> {
        self.lines.reconnect();
        let stream = match self.pods.log_stream(&self.pod.name, &parameters).await {
            Ok(stream) => stream,
            Err(error) if crate::error::code(&error) == Some(403) => {
                self.forbidden(&error).await?;
                return Ok(false);
            }
            Err(error) => {
                tracing::debug!(error = %crate::error::causes(&error), "log: not readable yet");
                return Ok(false);
            }
        };
        self.refusals = 0;
        self.copy(Box::pin(stream)).await
    }

    /// Reports a missing permission unless it is transient, and waits.
    async fn forbidden(&mut self, error: &kube::Error) -> Result<(), Stop> {
        self.refusals = self.refusals.saturating_add(1);
        if self.refusals == FORBIDDEN_REPORTED_AFTER {
            let failure = self.cluster.failure(&format!("to read the log of pod {}", self.pod.name), error);
            self.sender.send(Err(failure)).await.map_err(|_| Stop::ReceiverDropped)?;
        }
        tokio::time::sleep(FORBIDDEN_DELAY * self.refusals.min(5)).await;
        Ok(())
    }

    async fn copy(&mut self, mut stream: Pin<Box<impl AsyncBufRead>>) -> Result<bool, Stop> {
        loop {
            let read = match stream.fill_buf().await {
                Ok([]) => return Ok(true),
                Ok(bytes) => {
                    self.lines.push(bytes);
                    bytes.len()
                }
                Err(error) => {
                    tracing::debug!(%error, "log: connection lost");
                    return Ok(false);
                }
            };
            stream.as_mut().consume(read);
            self.send_chunk(|lines| lines.take()).await?;
        }
    }

    async fn send_chunk(&mut self, of: impl FnOnce(&mut Lines) -> Option<LogChunk>) -> Result<(), Stop> {
        match of(&mut self.lines) {
            Some(chunk) => self.sender.send(Ok(chunk)).await.map_err(|_| Stop::ReceiverDropped),
            None => Ok(()),
        }
    }

    fn pod_gone(&self) -> Failure {
        Failure::environment(format!("the pod {} is gone, and its log with it", self.pod.name))
    }

    fn unknown_container(&self) -> Failure {
        Failure::environment(format!("the pod {} has no container named {}", self.pod.name, self.container))
    }
}

fn status_of<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let init = status.init_container_statuses.as_deref().unwrap_or_default();
    let main = status.container_statuses.as_deref().unwrap_or_default();
    init.iter().chain(main).find(|status| status.name == container)
}

fn has_container(pod: &Pod, container: &str) -> bool {
    pod.spec.as_ref().is_some_and(|spec| {
        let init = spec.init_containers.as_deref().unwrap_or_default();
        init.iter().chain(&spec.containers).any(|one| one.name == container)
    })
}
