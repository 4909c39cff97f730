//! The input of `experimental_telemetry_cmd`: one span per update, in batches, at most once per period.
//!
//! Under Tilt, too, live updates have no span, and an update that failed has no `buildType`.

use std::collections::VecDeque;
use std::sync::Arc;

use lilt_api::sanitize_name;
use lilt_model::image::ImageTarget;
use lilt_model::resource::Body;
use lilt_model::settings::Telemetry;
use lilt_model::{ResourceName, Timestamp};
use serde::Serialize;

use crate::state::{RunningUpdate, State};
use crate::task::Task;

/// The maximum number of queued spans. The oldest are dropped first.
const QUEUE_LIMIT: usize = 1024;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct TelemetryState {
    queue: VecDeque<UsageSpan>,
    /// The number of the current batch.
    run: u64,
    /// The batch that the command is receiving.
    batch: Option<Arc<Vec<UsageSpan>>>,
    /// The end of the last batch; before the first one, the time at which the Tiltfile configured the
    /// command.
    last: Option<Timestamp>,
}

/// The span of one update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsageSpan {
    /// Unique in the session.
    pub id: u64,
    pub started: Timestamp,
    pub ended: Timestamp,
    /// For example `image:web,k8s:web`.
    pub target_names: String,
    /// The parts of a successful update: `image`, `k8s`, `local`, `docker-compose`.
    pub build_types: Vec<&'static str>,
}

/// A batch. The task waits until it is due, then sends it.
#[derive(Clone, Debug, PartialEq)]
pub struct TelemetryJob {
    pub run: u64,
    pub settings: Telemetry,
    pub due: Timestamp,
    /// None: it is not due yet.
    pub batch: Option<Arc<Vec<UsageSpan>>>,
}

/// Applies the settings of the Tiltfile.
pub(crate) fn configured(state: &mut State) {
    if state.settings.telemetry.is_some() {
        let now = state.now;
        state.telemetry.last.get_or_insert(now);
    }
}

/// Adds the span of an update that has ended.
pub(crate) fn record_update(
    state: &mut State,
    name: &ResourceName,
    update: &RunningUpdate,
    has_built: bool,
    is_successful: bool,
) {
    if state.settings.telemetry.is_none() || update.kind.is_live() {
        return;
    }
    let Some(resource) = state.resources.get(name) else { return };
    let (images, target): (&[ImageTarget], &'static str) = match &resource.spec.body {
        Body::Kubernetes(spec) => (&spec.images, "k8s"),
        Body::Compose(spec) => (&spec.images, "docker-compose"),
        Body::Local(_) => (&[], "local"),
    };
    let names = images.iter().map(|image| format!("image:{}", sanitize_name(image.name.as_str())));
    let target_names: Vec<String> = names.chain([format!("{target}:{}", name.as_str())]).collect();
    let image = has_built.then_some("image");
    let build_types = image.into_iter().chain([target]).filter(|_| is_successful).collect();
    let span = UsageSpan {
        id: update.id,
        started: update.started,
        ended: state.now,
        target_names: target_names.join(","),
        build_types,
    };
    enqueue(&mut state.telemetry.queue, span);
    state.touch_session();
}

fn enqueue(queue: &mut VecDeque<UsageSpan>, span: UsageSpan) {
    queue.push_back(span);
    while queue.len() > QUEUE_LIMIT {
        queue.pop_front();
    }
}

/// Starts the batch that is due, with all queued spans.
pub(crate) fn due(state: &mut State, run: u64) {
    let telemetry = &mut state.telemetry;
    if run == telemetry.run && telemetry.batch.is_none() {
        telemetry.batch = Some(Arc::new(telemetry.queue.drain(..).collect()));
        state.touch_session();
    }
}

/// Records the end of the command. Spans that were not delivered are sent with the next batch.
pub(crate) fn sent(state: &mut State, run: u64, is_delivered: bool) {
    let now = state.now;
    let telemetry = &mut state.telemetry;
    if run != telemetry.run {
        return;
    }
    let batch = telemetry.batch.take();
    if !is_delivered {
        let newer = std::mem::take(&mut telemetry.queue);
        let older = batch.iter().flat_map(|batch| batch.iter().cloned());
        older.chain(newer).for_each(|span| enqueue(&mut telemetry.queue, span));
    }
    telemetry.run += 1;
    telemetry.last = Some(now);
    state.touch_session();
}

/// Handles a bug in the runner.
pub(crate) fn broke(state: &mut State) {
    sent(state, state.telemetry.run, false);
}

pub(crate) fn task(state: &State) -> Option<Task> {
    let telemetry = &state.telemetry;
    let settings = state.settings.telemetry.clone()?;
    if telemetry.queue.is_empty() && telemetry.batch.is_none() {
        return None;
    }
    let due = telemetry.last?.plus(settings.period);
    let job = TelemetryJob { run: telemetry.run, settings, due, batch: telemetry.batch.clone() };
    Some(Task::Telemetry(Box::new(job)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_keeps_the_newest_1024_spans() {
        let mut queue = VecDeque::new();
        for id in 0..1030 {
            let (started, ended) = (Timestamp::ZERO, Timestamp::ZERO);
            let target_names = "local:l".to_owned();
            enqueue(&mut queue, UsageSpan { id, started, ended, target_names, build_types: Vec::new() });
        }
        let ids: Vec<u64> = queue.iter().map(|span| span.id).collect();
        assert_eq!(ids, (6..1030).collect::<Vec<u64>>());
    }
}
