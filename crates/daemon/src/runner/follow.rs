//! Shows one pod: its way to readiness, what the cluster reports of it, and its containers' logs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lilt_cluster::Cluster;
use lilt_engine::TaskSpec;
use lilt_model::cluster::{Container, Pod, PodNotice};
use lilt_model::log::Level;
use lilt_model::{ContainerId, ResourceName, Timestamp};
use lilt_store::Span;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;

use crate::context::Context;

/// Service meshes' own containers, which tell nothing about the user's program.
const SILENT: [&str; 4] = ["istio-init", "istio-proxy", "linkerd-proxy", "linkerd-init"];
/// Conditions in the order they are met, with the words for them.
const WAY: [(&str, &str); 3] =
    [("PodScheduled", "Scheduled"), ("Initialized", "Initialized"), ("Ready", "Ready")];

pub(crate) async fn run(context: Context, resource: ResourceName, mut spec: Receiver<TaskSpec>) {
    let Ok(cluster) = context.cluster() else { return };
    let mut view = View {
        cluster,
        resource,
        followed: BTreeSet::new(),
        streams: JoinSet::new(),
        notices: 0,
        met: 0,
        announced: false,
    };
    loop {
        let current = match &*spec.borrow_and_update() {
            TaskSpec::Follow { pod, notices } => Some((Arc::clone(pod), notices.clone())),
            _ => None,
        };
        if let Some((pod, notices)) = current {
            view.show(&context, &pod, &notices);
        }
        tokio::select! {
            changed = spec.changed() => if changed.is_err() { return },
            () = context.cancel.cancelled() => return,
        }
    }
}

struct View {
    cluster: Cluster,
    resource: ResourceName,
    /// Runs of containers whose log is shown.
    followed: BTreeSet<ContainerId>,
    streams: JoinSet<()>,
    /// Notices shown.
    notices: usize,
    /// Conditions shown as met.
    met: usize,
    announced: bool,
}

impl View {
    fn show(&mut self, context: &Context, pod: &Pod, notices: &[PodNotice]) {
        // One that was there before the session needs no story, only its new lines.
        if !is_older(pod, context) && !pod.deleting {
            self.show_way(context, pod);
        }
        self.show_notices(context, pod, notices);
        for container in &pod.containers {
            self.follow(context, pod, container);
        }
    }

    fn span(&self, context: &Context, pod: &Pod) -> Span {
        context.runtime_span(&self.resource, format!("pod:{}:{}", pod.namespace, pod.name))
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

    fn show_notices(&mut self, context: &Context, pod: &Pod, notices: &[PodNotice]) {
        let fresh = notices.get(self.notices..).unwrap_or_default();
        self.notices = notices.len();
        for notice in fresh.iter().filter(|notice| is_telling(notice)) {
            let name = match pod.namespace.as_str() {
                "default" => pod.name.clone(),
                namespace => format!("{namespace}/{}", pod.name),
            };
            let level = if notice.warning { Level::Warn } else { Level::Info };
            self.span(context, pod).print(level, &format!("[event: pod {name}] {}", notice.message));
        }
    }

    fn follow(&mut self, context: &Context, pod: &Pod, container: &Container) {
        if SILENT.contains(&container.name.as_str()) {
            return;
        }
        // A run that ended at once may only be seen when the next one has begun.
        for run in container.previous.iter().chain(&container.id) {
            if self.followed.insert(run.clone()) {
                self.follow_run(context, pod, container, run);
            }
        }
    }

    fn follow_run(&mut self, context: &Context, pod: &Pod, container: &Container, run: &ContainerId) {
        let span_id = format!("pod:{}:{}:{}", pod.namespace, pod.name, container.name);
        let span = context.runtime_span(&self.resource, span_id);
        let prefix = if pod.containers.len() > 1 { format!("[{}] ", container.name) } else { String::new() };
        let since = is_older(pod, context).then_some(context.started);
        let stream = self.cluster.follow_logs(&pod.reference(), &container.name, Some(run), since);
        self.streams.spawn(copy(stream, span, prefix));
    }
}

/// Whether it was there before the session. Kubernetes tells its time in whole seconds.
fn is_older(pod: &Pod, context: &Context) -> bool {
    pod.created.plus(Duration::from_secs(1)) <= context.started
}

fn is_telling(notice: &PodNotice) -> bool {
    notice.warning || matches!(notice.reason.as_str(), "Pulling" | "Pulled")
}

fn took(from: Timestamp, until: Timestamp) -> String {
    // Kubernetes tells these times in whole seconds.
    match until.since(from).as_secs() {
        0 => "<1s".into(),
        seconds => format!("{seconds}s"),
    }
}

async fn copy(mut stream: lilt_cluster::LogStream, mut span: Span, prefix: String) {
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) if prefix.is_empty() => span.write(&chunk.text),
            Ok(chunk) => {
                for line in chunk.text.split_inclusive(|byte| *byte == b'\n') {
                    span.write(prefix.as_bytes());
                    span.write(line);
                }
            }
            Err(failure) => span.print(Level::Warn, &format!("log lost: {failure}")),
        }
    }
}
