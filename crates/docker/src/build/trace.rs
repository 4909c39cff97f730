//! Parses BuildKit's progress of a build, which the engine embeds in its messages.

mod raw;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bollard_buildkit_proto::google::protobuf::Timestamp;
use bollard_buildkit_proto::moby::buildkit::v1::{
    StatusResponse, Vertex, VertexLog, VertexStatus, VertexWarning,
};
use lilt_model::Failure;
use prost::Message as _;

use super::{BuildProgress, StepId};
pub(super) use raw::raw;

/// The last lines of a step's output, for failures.
#[derive(Default)]
pub(super) struct Tail(VecDeque<String>);

impl Tail {
    const LINES: usize = 20;

    pub(super) fn push(&mut self, line: &str) {
        if self.0.len() == Self::LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    pub(super) fn lines(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

/// The progress so far.
#[derive(Default)]
pub(super) struct Trace {
    steps: HashMap<String, Step>,
    /// The first step that failed by itself, not because the build was stopped.
    failed: Option<String>,
}

struct Step {
    id: StepId,
    name: Arc<str>,
    running: bool,
    /// When it last finished; the engine sends that repeatedly.
    completed: Option<Timestamp>,
    /// Incomplete lines of stdout and stderr.
    unfinished: [Vec<u8>; 2],
    tail: Tail,
    error: String,
}

pub(super) struct FailedStep<'a> {
    pub(super) name: &'a str,
    pub(super) error: &'a str,
    pub(super) tail: Vec<&'a str>,
    /// The line in the Dockerfile, if the builder reports more than the step's name.
    pub(super) line: Option<u32>,
}

impl Trace {
    pub(super) fn read(
        &mut self,
        aux: &serde_json::Value,
        on_progress: &mut (impl FnMut(BuildProgress) + Send),
    ) -> Result<(), Failure> {
        let not_understood = |cause: String| {
            Failure::environment(format!("cannot understand the engine's build progress: {cause}"))
        };
        let text = aux.as_str().ok_or_else(|| not_understood("it is not a string".to_owned()))?;
        let bytes = STANDARD.decode(text).map_err(|error| not_understood(error.to_string()))?;
        let status =
            StatusResponse::decode(bytes.as_slice()).map_err(|error| not_understood(error.to_string()))?;
        self.take(status, on_progress);
        Ok(())
    }

    pub(super) fn take(
        &mut self,
        status: StatusResponse,
        on_progress: &mut (impl FnMut(BuildProgress) + Send),
    ) {
        for vertex in status.vertexes.iter().filter(|vertex| vertex.started.is_some()) {
            self.start(vertex, on_progress);
        }
        for status in status.statuses {
            self.advance(status, on_progress);
        }
        for log in status.logs {
            self.log(&log, on_progress);
        }
        for vertex in status.vertexes.iter().filter(|vertex| vertex.completed.is_some()) {
            self.finish(vertex, on_progress);
        }
        for warning in &status.warnings {
            on_progress(advice(warning));
        }
    }

    pub(super) fn failed_step(&self) -> Option<FailedStep<'_>> {
        let step = self.steps.get(self.failed.as_ref()?)?;
        Some(FailedStep { name: &step.name, error: &step.error, tail: step.tail.lines(), line: None })
    }

    fn start(&mut self, vertex: &Vertex, on_progress: &mut impl FnMut(BuildProgress)) {
        let step = self.steps.entry(vertex.digest.clone()).or_insert_with(|| Step::new(vertex));
        let over = vertex.completed.is_some() && vertex.completed == step.completed;
        if !step.running && !over {
            step.running = true;
            let (step, name) = (step.id.clone(), Arc::clone(&step.name));
            on_progress(BuildProgress::Started { step, name, at: vertex.started.and_then(moment) });
        }
    }

    fn finish(&mut self, vertex: &Vertex, on_progress: &mut impl FnMut(BuildProgress)) {
        let Some(step) = self.steps.get_mut(&vertex.digest) else { return };
        if !step.running {
            return;
        }
        step.running = false;
        step.completed = vertex.completed;
        for stream in [0, 1] {
            let rest = std::mem::take(&mut step.unfinished[stream]);
            if !rest.is_empty() {
                step.line(&rest, stream, on_progress);
            }
        }
        vertex.error.clone_into(&mut step.error);
        if !vertex.error.is_empty() && self.failed.is_none() && !vertex.error.contains("context canceled") {
            self.failed = Some(vertex.digest.clone());
        }
        on_progress(BuildProgress::Finished {
            step: step.id.clone(),
            name: Arc::clone(&step.name),
            cached: vertex.cached,
            duration: between(vertex.started, vertex.completed),
            at: vertex.completed.and_then(moment),
            error: Some(vertex.error.clone()).filter(|error| !error.is_empty()),
        });
    }

    fn advance(&self, status: VertexStatus, on_progress: &mut impl FnMut(BuildProgress)) {
        let Some(step) = self.steps.get(&status.vertex) else { return };
        on_progress(BuildProgress::Advanced {
            step: step.id.clone(),
            name: Arc::clone(&step.name),
            what: status.id,
            current: u64::try_from(status.current).unwrap_or(0),
            total: u64::try_from(status.total).unwrap_or(0),
        });
    }

    fn log(&mut self, log: &VertexLog, on_progress: &mut impl FnMut(BuildProgress)) {
        let Some(step) = self.steps.get_mut(&log.vertex) else { return };
        let stream = usize::from(log.stream == 2);
        let mut text = std::mem::take(&mut step.unfinished[stream]);
        text.extend_from_slice(&log.msg);
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let rest = lines.pop().unwrap_or_default().to_vec();
        for line in lines {
            step.line(line, stream, on_progress);
        }
        step.unfinished[stream] = rest;
    }
}

impl Step {
    fn new(vertex: &Vertex) -> Self {
        Self {
            id: StepId(Arc::from(vertex.digest.as_str())),
            name: Arc::from(vertex.name.as_str()),
            running: false,
            completed: None,
            unfinished: [Vec::new(), Vec::new()],
            tail: Tail::default(),
            error: String::new(),
        }
    }

    fn line(&mut self, bytes: &[u8], stream: usize, on_progress: &mut impl FnMut(BuildProgress)) {
        let line = String::from_utf8_lossy(bytes.strip_suffix(b"\r").unwrap_or(bytes)).into_owned();
        self.tail.push(&line);
        let (step, name) = (self.id.clone(), Arc::clone(&self.name));
        on_progress(BuildProgress::Log { step, name, stderr: stream == 1, line });
    }
}

fn advice(warning: &VertexWarning) -> BuildProgress {
    let line = warning.ranges.first().and_then(|range| range.start.as_ref());
    BuildProgress::Warning {
        message: String::from_utf8_lossy(&warning.short).into_owned(),
        line: line.and_then(|position| u32::try_from(position.line).ok()).filter(|line| *line > 0),
    }
}

/// Converts a time; none if it is not plausible.
fn moment(time: Timestamp) -> Option<lilt_model::Timestamp> {
    let micros = time.seconds.checked_mul(1_000_000)?.checked_add(i64::from(time.nanos) / 1_000)?;
    Some(lilt_model::Timestamp(micros)).filter(|at| *at > lilt_model::Timestamp::ZERO)
}

fn between(started: Option<Timestamp>, completed: Option<Timestamp>) -> Duration {
    let nanoseconds = |time: Timestamp| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos);
    match (started, completed) {
        (Some(started), Some(completed)) => {
            Duration::from_nanos(u64::try_from(nanoseconds(completed) - nanoseconds(started)).unwrap_or(0))
        }
        _ => Duration::ZERO,
    }
}
