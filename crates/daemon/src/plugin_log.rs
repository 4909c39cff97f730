//! Logs the output of kubeconfig's exec plugins, such as a device code, while they run.
//!
//! A failing plugin is run repeatedly: identical lines are logged at most once per [`REPEAT_DELAY`].

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use lilt_cluster::PluginOutput;
use lilt_model::log::Source;
use lilt_model::{ResourceName, SpanId};
use lilt_store::LogWriter;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Between two identical log lines.
const REPEAT_DELAY: Duration = Duration::from_secs(60);

/// To the task that logs lines of plugins. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct PluginLog {
    /// Unbounded: plugins print little, and must not be blocked.
    lines: mpsc::UnboundedSender<Line>,
}

type Line = (SpanId, String);

impl PluginLog {
    /// Starts the task. It ends when the last clone, and the last connection with a plugin, is dropped.
    pub(crate) fn start(logs: LogWriter, services: &mut JoinSet<()>) -> Self {
        let (lines, mut received) = mpsc::unbounded_channel();
        services.spawn(async move {
            let mut logged = BTreeMap::new();
            while let Some(line) = received.recv().await {
                if note(&mut logged, &line, Instant::now()) {
                    let (span, text) = line;
                    logs.span(span, Some(ResourceName::tiltfile()), Source::Build).info(&text);
                }
            }
        });
        Self { lines }
    }

    /// Returns `output` with a receiver that logs lines to a span.
    pub(crate) fn log_to(&self, span: SpanId, output: &PluginOutput) -> PluginOutput {
        let lines = self.lines.clone();
        output.with_receiver(move |line| {
            // The session may have ended before the plugin.
            let _ = lines.send((span.clone(), line.to_owned()));
        })
    }
}

/// Records a line, and returns whether it was not logged recently.
fn note(logged: &mut BTreeMap<Line, Instant>, line: &Line, now: Instant) -> bool {
    logged.retain(|_, at| now - *at < REPEAT_DELAY);
    match logged.entry(line.clone()) {
        Entry::Occupied(_) => false,
        Entry::Vacant(entry) => {
            entry.insert(now);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn repeated_line_of_a_plugin_is_logged_once_a_minute() {
        let (mut logged, start) = (BTreeMap::new(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let line = |text: &str| (SpanId::new("cluster"), text.to_owned());
        assert!(note(&mut logged, &line("no ticket"), start));
        assert!(!note(&mut logged, &line("no ticket"), after(3)));
        assert!(note(&mut logged, &line("enter ABCD"), after(3)));
        assert!(note(&mut logged, &(SpanId::new("cluster:other"), "no ticket".to_owned()), after(3)));
        assert!(note(&mut logged, &line("no ticket"), after(61)));
        assert_eq!(logged.len(), 3);
    }
}
