//! Reads the logs of one pod's containers into the log of a resource, and reports events of the pod if the task asks for
//! that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::StreamExt as _;
use lilt_api::QUIET_CONTAINERS;
use lilt_cluster::Cluster;
use lilt_cluster::inject::agent::is_added;
use lilt_engine::{ContainerFilter, Owner, Task};
use lilt_model::cluster::{Container, ContainerState, Pod, PodRef};
use lilt_model::log::Level;
use lilt_model::{ClusterName, ContainerId, ResourceName, SpanId, Timestamp};
use lilt_store::Span;
use tokio::sync::mpsc;
use tokio::sync::watch::Receiver;
use tokio::task::{AbortHandle, JoinSet};

use super::pod_report::PodReport;
use crate::context::Context;

/// How many runs of a container may wait while the log of an earlier one is read. They start seconds apart.
const RUNS: usize = 64;

pub(crate) async fn run(
    context: Context,
    owner: Owner,
    resource: ResourceName,
    cluster: &ClusterName,
    mut feed: Receiver<Task>,
) {
    let Ok(cluster) = context.connections.cluster(cluster) else { return };
    let mut report = PodReport::new(resource.clone());
    let mut logs = Logs::new(cluster, owner, resource);
    let mut reads_to_end = false;
    loop {
        if let Task::LogStream { pod, containers, since, notices, read_to_end, .. } =
            &*feed.borrow_and_update()
        {
            reads_to_end = *read_to_end;
            if let Some(notices) = notices {
                report.show(&context, pod, notices);
            }
            logs.read(&context, pod, containers, *since);
        }
        tokio::select! {
            changed = feed.changed() => if changed.is_err() { return },
            () = context.cancel.cancelled() => break,
        }
    }
    if reads_to_end {
        // The last output of a job or a crashed container matters most. The session sets the time limit.
        tokio::select! {
            () = logs.finish(&feed) => {}
            () = context.shutdown.cancelled() => {}
        }
    }
}

/// The logs of a pod's containers.
struct Logs {
    cluster: Cluster,
    owner: Owner,
    resource: ResourceName,
    /// Runs of containers whose logs are read.
    followed: BTreeSet<ContainerId>,
    /// By container: the channel for its runs, and the task that reads their logs.
    readers: BTreeMap<String, (mpsc::Sender<ContainerId>, AbortHandle)>,
    streams: JoinSet<()>,
}

impl Logs {
    fn new(cluster: Cluster, owner: Owner, resource: ResourceName) -> Self {
        Self {
            cluster,
            owner,
            resource,
            followed: BTreeSet::new(),
            readers: BTreeMap::new(),
            streams: JoinSet::new(),
        }
    }

    /// Starts to read the log of every new run.
    fn read(&mut self, context: &Context, pod: &Pod, containers: &ContainerFilter, since: Option<Timestamp>) {
        // The sidecars of service meshes say nothing about the user's program.
        let is_read = |name: &str| containers.matches(name) && !QUIET_CONTAINERS.contains(&name);
        for container in pod.containers.iter().filter(|container| is_read(&container.name)) {
            // A run that exited at once may only be seen when the next one has started.
            for run in container.previous.iter().chain(&container.id) {
                if self.followed.contains(run) {
                    continue;
                }
                let runs = match self.readers.get(&container.name) {
                    Some((runs, _)) => runs,
                    None => self.begin(context, pod, container, since),
                };
                if runs.try_send(run.clone()).is_ok() {
                    self.followed.insert(run.clone());
                }
            }
        }
    }

    fn begin(
        &mut self,
        context: &Context,
        pod: &Pod,
        container: &Container,
        since: Option<Timestamp>,
    ) -> &mpsc::Sender<ContainerId> {
        let name = container.name.clone();
        let (sender, runs) = mpsc::channel(RUNS);
        let id = match &self.owner {
            Owner::Resource(resource) => format!("{}:{name}", SpanId::of_pod(resource, &pod.name)),
            Owner::Object(object) => format!("podlogstream:{}:{name}", object.name),
        };
        let log = Log {
            cluster: self.cluster.clone(),
            pod: pod.reference(),
            span: context.runtime_span(&self.resource, id),
            prefix: if is_one_of_many(pod) { format!("[{name}] ") } else { String::new() },
            since: since.or(is_older(pod, context).then_some(context.started)),
            container: name.clone(),
        };
        let task = self.streams.spawn(log.copy_all(runs));
        let (runs, _) = self.readers.entry(name).or_insert((sender, task));
        runs
    }

    /// Reads the logs of terminated containers to their end, and stops the others.
    async fn finish(&mut self, feed: &Receiver<Task>) {
        let ended: BTreeSet<String> = match &*feed.borrow() {
            Task::LogStream { pod, .. } => {
                pod.containers.iter().filter(|it| has_ended(it)).map(|it| it.name.clone()).collect()
            }
            _ => BTreeSet::new(),
        };
        // Without a sender, a task ends when it has read the remaining runs.
        for (name, (_, task)) in std::mem::take(&mut self.readers) {
            if !ended.contains(&name) {
                task.abort();
            }
        }
        while self.streams.join_next().await.is_some() {}
    }
}

/// Returns whether the pod has several containers of the user. The agent's init containers do not count.
fn is_one_of_many(pod: &Pod) -> bool {
    pod.containers.iter().filter(|container| !is_added(&container.name)).nth(1).is_some()
}

fn has_ended(container: &Container) -> bool {
    container.id.is_some() && !matches!(container.state, ContainerState::Running { .. })
}

/// Returns whether the pod is older than the session. Kubernetes reports its age in whole seconds.
pub(super) fn is_older(pod: &Pod, context: &Context) -> bool {
    pod.created.plus(Duration::from_secs(1)) <= context.started
}

/// The log of one container: all its runs, one after another.
struct Log {
    cluster: Cluster,
    pod: PodRef,
    container: String,
    span: Span,
    prefix: String,
    /// Lines up to this time were read already, or are too old.
    since: Option<Timestamp>,
}

impl Log {
    async fn copy_all(mut self, mut runs: mpsc::Receiver<ContainerId>) {
        while let Some(run) = runs.recv().await {
            let stream = self.cluster.follow_logs(&self.pod, &self.container, Some(&run), self.since);
            self.copy(stream).await;
            self.span.end_line();
        }
    }

    async fn copy(&mut self, mut stream: lilt_cluster::LogStream) {
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(chunk) => {
                    // While a run is replaced by the next, the node returns the log of the newest one. Lines that were read
                    // already must not appear again.
                    self.since = self.since.max(Some(chunk.time));
                    self.show(&chunk.text);
                }
                Err(failure) => self.span.print(Level::Warn, &format!("log lost: {failure}")),
            }
        }
    }

    fn show(&mut self, text: &[u8]) {
        if self.prefix.is_empty() {
            return self.span.write(text);
        }
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            self.span.write(self.prefix.as_bytes());
            self.span.write(line);
        }
    }
}
