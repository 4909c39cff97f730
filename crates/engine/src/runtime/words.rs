//! Describes the error of a pod, or what it waits for, with the reason that the cluster reported.

use std::fmt;

use lilt_model::ClusterName;
use lilt_model::Timestamp;
use lilt_model::cluster::{Container, ContainerState, Notice, Pod, PodPhase, ProbeKind};

use super::code_words;
use crate::notices::Notices;
use crate::state::{KubernetesState, State};

/// A pod's status word, the cluster's message for it, the event behind it, and how its container ended.
pub(super) struct Words<'a> {
    pub(super) pod: &'a Pod,
    pub(super) notices: &'a Notices,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pod, .. } = self;
        write!(f, "pod {}: {}", pod.name, pod.status)?;
        let is_unready = pod.status == "Running" && !pod.ready;
        if is_unready {
            f.write_str(", not ready")?;
        }
        let ended = pod.containers.iter().find_map(container_end);
        let reported = self.reported().map(|notice| one_line(&notice.message));
        let unmet = || pod.conditions.iter().find(|it| it.kind == "Ready" && !it.met).map(|it| &it.message);
        let said = pod.message.as_deref().map(one_line);
        let causes = match (said, reported) {
            // Events often say the same at more length.
            (Some(said), Some(reported)) if reported.contains(&said) => vec![reported],
            (Some(said), Some(reported)) if said.contains(&reported) => vec![said],
            (None, None) if is_unready => {
                unmet().filter(|text| !text.is_empty()).into_iter().cloned().collect()
            }
            (said, reported) => said.into_iter().chain(reported).collect(),
        };
        causes.iter().try_for_each(|cause| write!(f, ": {cause}"))?;
        ended.map_or(Ok(()), |ended| write!(f, " ({ended})"))
    }
}

impl Words<'_> {
    /// Returns the notice that explains the status of the pod.
    fn reported(&self) -> Option<&Notice> {
        let status = self.pod.status.strip_prefix("Init:").unwrap_or(&self.pod.status);
        match status {
            "CrashLoopBackOff" | "Error" | "OOMKilled" | "Completed" => self.killed_by_probe(),
            _ if self.pod.phase == PodPhase::Running => self.newest(|it| {
                // A liveness probe that fails occasionally does not explain why a pod is not ready.
                it.warning && it.probe != Some(ProbeKind::Liveness) && it.reason != "BackOff"
            }),
            _ if self.pod.phase == PodPhase::Pending => self
                .newest(|it| it.warning && !matches!(it.reason.as_str(), "BackOff" | "Failed" | "Unhealthy")),
            _ => None,
        }
    }

    fn newest(&self, is_it: impl Fn(&Notice) -> bool) -> Option<&Notice> {
        self.notices.iter().rev().find(|notice| is_it(notice))
    }

    /// Returns the notice of a probe that may have caused the end of the container's last run.
    fn killed_by_probe(&self) -> Option<&Notice> {
        let mut starts = 0;
        let last_run = self.notices.iter().rev().take_while(|notice| {
            starts += usize::from(notice.reason == "Started");
            starts < 2
        });
        let mut last_run = last_run.skip_while(|it| !(it.reason == "Killing" && it.probe.is_some()));
        last_run.next()?;
        last_run.find(|notice| notice.reason == "Unhealthy" && notice.probe != Some(ProbeKind::Readiness))
    }
}

/// Returns the reason why there is no pod, if it is known.
pub(super) fn no_pod_words(state: &State, cluster: &ClusterName, kubernetes: &KubernetesState) -> String {
    let refused =
        state.clusters.get(cluster).refused.iter().find(|(namespace, _)| kubernetes.deployed_to(namespace));
    if let Some((namespace, failure)) = refused {
        return format!("its pods in namespace {namespace} cannot be seen: {}", failure.message);
    }
    // The existing pods belong to the other one.
    if let Some(by) = kubernetes.drifting.replaced_by() {
        return format!("replaced by what {by} deployed");
    }
    let begun = kubernetes.applied_during.map_or(Timestamp::ZERO, |(begun, _)| begun.truncated());
    let recent = |notice: &&Notice| notice.at >= begun;
    match kubernetes.notices.iter().rev().find(recent) {
        Some(notice) => format!("no pod yet: {}: {}", notice.reason, one_line(&notice.message)),
        None => "no pod yet".into(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn container_end(container: &Container) -> Option<String> {
    let (code, reason) = match (&container.state, &container.previous_exit) {
        (ContainerState::Terminated { exit_code, reason, .. }, _) => (*exit_code, reason.as_str()),
        (ContainerState::Waiting { .. }, Some((code, reason))) => (*code, reason.as_str()),
        _ => return None,
    };
    if code == 0 && container.restarts == 0 {
        return None;
    }
    let why = match reason {
        "OOMKilled" => ", OOMKilled: it used more memory than its limit".to_owned(),
        _ => code_words(code),
    };
    let times = match container.restarts {
        0 => String::new(),
        1 => ", restarted once".into(),
        count => format!(", restarted {count} times"),
    };
    Some(format!("container {} exited with code {code}{why}{times}", container.name))
}
