//! Reports events of one pod: its startup, restarts of its containers, and the cluster's notices.

use std::collections::BTreeMap;

use lilt_engine::Notices;
use lilt_model::cluster::{Container, Notice, Pod};
use lilt_model::log::Level;
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_store::Span;

use super::log_stream::is_older;
use crate::context::Context;

/// Conditions in the order in which they are met, with their names in the log.
const STARTUP_CONDITIONS: [(&str, &str); 3] =
    [("PodScheduled", "Scheduled"), ("Initialized", "Initialized"), ("Ready", "Ready")];
/// What was reported about a pod so far.
pub(super) struct PodReport {
    resource: ResourceName,
    /// How many notices were reported.
    notices: usize,
    /// How many conditions were reported as met.
    met: usize,
    announced: bool,
    /// The reported restarts of each container.
    restarts: BTreeMap<String, u32>,
}

impl PodReport {
    pub(super) fn new(resource: ResourceName) -> Self {
        Self { resource, notices: 0, met: 0, announced: false, restarts: BTreeMap::new() }
    }

    /// Reports changes since the last call.
    pub(super) fn show(&mut self, context: &Context, pod: &Pod, notices: &Notices) {
        // The startup of a pod that is older than the session is not reported.
        if !is_older(pod, context) && !pod.deleting {
            self.show_startup(context, pod);
        }
        self.show_notices(context, pod, notices);
        for container in &pod.containers {
            self.show_restart(context, pod, container);
        }
    }

    /// Scripts look for Tilt's wording.
    fn show_restart(&mut self, context: &Context, pod: &Pod, container: &Container) {
        let Container { name, restarts, .. } = container;
        let known = self.restarts.insert(name.clone(), *restarts);
        if known.is_none_or(|known| *restarts <= known) {
            return;
        }
        let mut message = format!("Detected container restart. Pod: {}. Container: {name}.", pod.name);
        if let Some((code, reason)) = &container.previous_exit {
            let reason = if reason.is_empty() { "no reason given" } else { reason };
            message.push_str(&format!(" It had ended with exit code {code} ({reason})."));
        }
        self.span(context, pod).print(Level::Warn, &message);
    }

    fn span(&self, context: &Context, pod: &Pod) -> Span {
        context.runtime_span(&self.resource, SpanId::of_pod(&self.resource, &pod.name).to_string())
    }

    fn show_startup(&mut self, context: &Context, pod: &Pod) {
        let is_met = |kind: &str| pod.conditions.iter().find(|it| it.kind == kind && it.met);
        let met =
            STARTUP_CONDITIONS[self.met..].iter().map_while(|(kind, name)| Some((is_met(kind)?, *name)));
        let lines: Vec<String> = met
            .map(|(condition, name)| format!("     ┊ {name:<15} - {}", took(pod.created, condition.since)))
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
        let fresh = notices.since(std::mem::replace(&mut self.notices, notices.total()));
        let is_new = |notice: &&Notice| notice.at >= context.started.truncated();
        for notice in fresh.iter().filter(is_new).filter(|notice| is_shown(notice)) {
            let level = if notice.warning { Level::Warn } else { Level::Info };
            self.span(context, pod).print(level, &notice.to_string());
        }
    }
}

fn is_shown(notice: &Notice) -> bool {
    notice.warning || matches!(notice.reason.as_str(), "Pulling" | "Pulled")
}

fn took(from: Timestamp, until: Timestamp) -> String {
    // Kubernetes reports these times in whole seconds.
    match until.since(from).as_secs() {
        0 => "<1s".into(),
        seconds => format!("{seconds}s"),
    }
}
