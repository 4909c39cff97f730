//! Shows one pod: its way to readiness, what the cluster reports of it, and its containers' logs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lilt_cluster::Cluster;
use lilt_cluster::inject::agent::is_added;
use lilt_engine::{Mode, Notices, Task, is_heard};
use lilt_model::cluster::{Container, ContainerState, Notice, Pod, PodRef};
use lilt_model::log::Level;
use lilt_model::{ContainerId, ResourceName, SpanId, Timestamp};
use lilt_store::Span;
use tokio::sync::mpsc;
use tokio::sync::watch::Receiver;
use tokio::task::{AbortHandle, JoinSet};

use crate::context::Context;

/// Service meshes' own containers, which tell nothing about the user's program.
const SILENT: [&str; 4] = ["istio-init", "istio-proxy", "linkerd-proxy", "linkerd-init"];
/// Conditions in the order they are met, with the words for them.
const WAY: [(&str, &str); 3] =
    [("PodScheduled", "Scheduled"), ("Initialized", "Initialized"), ("Ready", "Ready")];
/// Runs of a container that may wait while the log of one before them is read. They come seconds apart.
const RUNS: usize = 64;

pub(crate) async fn run(context: Context, resource: ResourceName, mut spec: Receiver<Task>) {
    let Some(cluster) = cluster_of(&context, &spec) else { return };
    let mut view = View::new(cluster, resource);
    loop {
        let current = match &*spec.borrow_and_update() {
            Task::Follow { pod, notices, .. } => Some((Arc::clone(pod), Arc::clone(notices))),
            _ => None,
        };
        if let Some((pod, notices)) = current {
            view.show(&context, &pod, &notices);
        }
        tokio::select! {
            changed = spec.changed() => if changed.is_err() { return },
            () = context.cancel.cancelled() => break,
        }
    }
    if context.settings.mode == Mode::Ci {
        // What a job or a broken container said is what people look for. The session decides how long it may take.
        tokio::select! {
            () = view.finish(&spec) => {}
            () = context.shutdown.cancelled() => {}
        }
    }
}

/// Shows the logs of a pod's containers alone, for a `PodLogStream`.
pub(crate) async fn stream(
    context: Context,
    object: String,
    resource: ResourceName,
    mut spec: Receiver<Task>,
) {
    let Some(cluster) = cluster_of(&context, &spec) else { return };
    let mut view = View { object: Some(object), ..View::new(cluster, resource) };
    loop {
        if let Task::Stream { pod, only, ignored, since, .. } = &*spec.borrow_and_update() {
            view.since = *since;
            let heard = pod.containers.iter().filter(|it| is_heard(&it.name, only, ignored));
            heard.for_each(|container| view.follow(&context, pod, container));
        }
        tokio::select! {
            changed = spec.changed() => if changed.is_err() { return },
            () = context.cancel.cancelled() => return,
        }
    }
}

/// That of the pod, which stays the same.
fn cluster_of(context: &Context, spec: &Receiver<Task>) -> Option<Cluster> {
    match &*spec.borrow() {
        Task::Follow { pod, .. } | Task::Stream { pod, .. } => context.cluster(&pod.cluster).ok(),
        _ => None,
    }
}

struct View {
    cluster: Cluster,
    resource: ResourceName,
    /// Runs of containers whose log is shown.
    followed: BTreeSet<ContainerId>,
    /// By container: where to tell its runs, and the task that reads their logs.
    logs: BTreeMap<String, (mpsc::Sender<ContainerId>, AbortHandle)>,
    streams: JoinSet<()>,
    /// Notices shown.
    notices: usize,
    /// Conditions shown as met.
    met: usize,
    announced: bool,
    /// How often each container was started again, as shown.
    restarts: BTreeMap<String, u32>,
    /// The `PodLogStream` that asks for it; none: the resource does.
    object: Option<String>,
    /// Lines before this time are not shown, if it says so.
    since: Option<Timestamp>,
}

impl View {
    fn new(cluster: Cluster, resource: ResourceName) -> Self {
        Self {
            cluster,
            resource,
            followed: BTreeSet::new(),
            logs: BTreeMap::new(),
            streams: JoinSet::new(),
            notices: 0,
            met: 0,
            announced: false,
            restarts: BTreeMap::new(),
            object: None,
            since: None,
        }
    }

    fn show(&mut self, context: &Context, pod: &Pod, notices: &Notices) {
        // One that was there before the session needs no story, only its new lines.
        if !is_older(pod, context) && !pod.deleting {
            self.show_way(context, pod);
        }
        self.show_notices(context, pod, notices);
        for container in &pod.containers {
            self.show_restart(context, pod, container);
            self.follow(context, pod, container);
        }
    }

    /// In Tilt's words, which people look for.
    fn show_restart(&mut self, context: &Context, pod: &Pod, container: &Container) {
        let Container { name, restarts, .. } = container;
        let known = self.restarts.insert(name.clone(), *restarts);
        if known.is_none_or(|known| *restarts <= known) {
            return;
        }
        let mut words = format!("Detected container restart. Pod: {}. Container: {name}.", pod.name);
        if let Some((code, reason)) = &container.previous_exit {
            let reason = if reason.is_empty() { "no reason given" } else { reason };
            words.push_str(&format!(" It had ended with exit code {code} ({reason})."));
        }
        self.span(context, pod).print(Level::Warn, &words);
    }

    fn span(&self, context: &Context, pod: &Pod) -> Span {
        context.runtime_span(&self.resource, SpanId::of_pod(&self.resource, &pod.name).to_string())
    }

    fn show_way(&mut self, context: &Context, pod: &Pod) {
        let is_met = |kind: &str| pod.conditions.iter().find(|it| it.kind == kind && it.met);
        let reached = WAY[self.met..].iter().map_while(|(kind, words)| Some((is_met(kind)?, *words)));
        let lines: Vec<String> = reached
            .map(|(condition, words)| format!("     ┊ {words:<15} - {}", took(pod.created, condition.since)))
            .collect();
        if lines.is_empty() && self.announced {
            return;
        }
        let mut span = self.span(context, pod);
        if !self.announced {
            self.announced = true;
            span.info(&format!("\nTracking new pod rollout ({}):", pod.name));
        }
        self.met += lines.len();
        for line in lines {
            span.info(&line);
        }
    }

    fn show_notices(&mut self, context: &Context, pod: &Pod, notices: &Notices) {
        let fresh = notices.since(std::mem::replace(&mut self.notices, notices.told()));
        let is_new = |notice: &&Notice| notice.at >= context.started.second();
        for notice in fresh.iter().filter(is_new).filter(|notice| is_telling(notice)) {
            let level = if notice.warning { Level::Warn } else { Level::Info };
            self.span(context, pod).print(level, &notice.to_string());
        }
    }

    fn follow(&mut self, context: &Context, pod: &Pod, container: &Container) {
        if SILENT.contains(&container.name.as_str()) {
            return;
        }
        // A run that ended at once may only be seen when the next one has begun.
        for run in container.previous.iter().chain(&container.id) {
            if self.followed.contains(run) {
                continue;
            }
            let (runs, _) = match self.logs.get(&container.name) {
                Some(known) => known,
                None => self.begin(context, pod, container),
            };
            if runs.try_send(run.clone()).is_ok() {
                self.followed.insert(run.clone());
            }
        }
    }

    fn begin(
        &mut self,
        context: &Context,
        pod: &Pod,
        container: &Container,
    ) -> &(mpsc::Sender<ContainerId>, AbortHandle) {
        let name = container.name.clone();
        let (sender, runs) = mpsc::channel(RUNS);
        let id = match &self.object {
            Some(object) => format!("podlogstream:{object}:{name}"),
            None => format!("{}:{name}", SpanId::of_pod(&self.resource, &pod.name)),
        };
        let log = Log {
            cluster: self.cluster.clone(),
            pod: pod.reference(),
            span: context.runtime_span(&self.resource, id),
            prefix: if is_one_of_many(pod) { format!("[{name}] ") } else { String::new() },
            since: self.since.or(is_older(pod, context).then_some(context.started)),
            container: name.clone(),
        };
        let task = self.streams.spawn(log.copy_all(runs));
        self.logs.entry(name).or_insert((sender, task))
    }

    /// Reads the logs of containers that have ended to their end, and no others.
    async fn finish(&mut self, spec: &Receiver<Task>) {
        let ended: BTreeSet<String> = match &*spec.borrow() {
            Task::Follow { pod, .. } => {
                pod.containers.iter().filter(|it| has_ended(it)).map(|it| it.name.clone()).collect()
            }
            _ => BTreeSet::new(),
        };
        // Without a sender, a task ends when it has read the runs that it knows.
        for (name, (_, task)) in std::mem::take(&mut self.logs) {
            if !ended.contains(&name) {
                task.abort();
            }
        }
        while self.streams.join_next().await.is_some() {}
    }
}

/// The containers that bring the agent and end are not the user's.
fn is_one_of_many(pod: &Pod) -> bool {
    pod.containers.iter().filter(|container| !is_added(&container.name)).nth(1).is_some()
}

fn has_ended(container: &Container) -> bool {
    container.id.is_some() && !matches!(container.state, ContainerState::Running { .. })
}

/// Whether it was there before the session. Kubernetes tells its time in whole seconds.
fn is_older(pod: &Pod, context: &Context) -> bool {
    pod.created.plus(Duration::from_secs(1)) <= context.started
}

fn is_telling(notice: &Notice) -> bool {
    notice.warning || matches!(notice.reason.as_str(), "Pulling" | "Pulled")
}

fn took(from: Timestamp, until: Timestamp) -> String {
    // Kubernetes tells these times in whole seconds.
    match until.since(from).as_secs() {
        0 => "<1s".into(),
        seconds => format!("{seconds}s"),
    }
}

/// The log of one container: of all its runs, one after another.
struct Log {
    cluster: Cluster,
    pod: PodRef,
    container: String,
    span: Span,
    prefix: String,
    /// Lines up to this time were shown, or are too old.
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
                    // The node gives the newest run's log to whoever asks while one is replaced by the next: its
                    // lines, shown already, must not be shown again.
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
