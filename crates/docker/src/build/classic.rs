//! Builds without BuildKit: the context is sent as an archive, and the output is parsed for steps. Podman's output
//! differs slightly.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method};
use lilt_model::Failure;
use regex::Regex;
use tokio::time::Instant;

use super::trace::{FailedStep, Tail};
use super::{
    BuildProgress, BuildRequest, BuiltImage, StepId, Transferred, archive, diagnosis, dockerfile, query,
    source,
};
use crate::engine::{Engine, sentence};
use crate::error::Error;
use crate::messages::{Message, Messages};
use crate::transport::Payload;

pub(super) async fn build(
    engine: &Engine,
    request: &BuildRequest,
    on_progress: impl FnMut(BuildProgress) + Send,
) -> Result<BuiltImage, Error> {
    reject_buildkit_features(engine, request)?;
    let source = source(request)?;
    let (chunks, payload) = Payload::chunks();
    let sending = tokio::task::spawn_blocking(move || archive::send(&source, chunks));
    let built = run_build(engine, request, payload, on_progress).await;
    // The connection is closed, so the sender ends.
    match sending.await {
        // The response only says that the archive is incomplete; this is the reason.
        Ok(Err(cause)) => Err(diagnosis::unsendable(&cause).into()),
        _ => built,
    }
}

async fn run_build(
    engine: &Engine,
    request: &BuildRequest,
    payload: Payload,
    on_progress: impl FnMut(BuildProgress) + Send,
) -> Result<BuiltImage, Error> {
    let path = format!("/build?{}", query(request, archive::DOCKERFILE).add("version", "1").finish());
    let headers = headers(engine, request).await;
    let response = engine.send(Method::POST, &path, headers, payload).await?;
    if !response.status.is_success() {
        return Err(diagnosis::explain(&request.build, None, &sentence(response).await));
    }
    let mut messages = Messages::new(response, engine.address.clone());
    let mut steps = Steps::new(on_progress);
    while let Some(message) = messages.next().await? {
        if message.error.is_some() || message.error_detail.is_some() {
            let error = message.into_error().unwrap_or_default();
            steps.end(Some(&error));
            let step = steps.failed(&request.build.dockerfile, &error);
            return Err(diagnosis::explain(&request.build, step, &error));
        }
        steps.read(&message);
    }
    steps.end(None);
    let id = steps.image.take().ok_or_else(super::no_image)?;
    // Podman and old engines return a short id.
    let id = engine.image_id(&id).await?.ok_or_else(super::no_image)?;
    Ok(BuiltImage { id, transferred: Transferred::default() })
}

fn reject_buildkit_features(engine: &Engine, request: &BuildRequest) -> Result<(), Failure> {
    let what = match (request.secrets.is_empty(), request.ssh.is_empty()) {
        (true, true) => return Ok(()),
        (false, _) => "secret",
        (true, false) => "ssh",
    };
    let (why, hint) = if engine.buildkit_off {
        ("DOCKER_BUILDKIT=0 is set".to_owned(), "unset DOCKER_BUILDKIT")
    } else {
        (
            format!("the engine at {} builds without it", engine.address),
            "use Docker 23 or later, or leave it out",
        )
    };
    Err(Failure::user(format!("docker_build({what}=…) needs BuildKit, and {why}")).hint(hint))
}

/// This builder does not request credentials: it gets those for the registries in the Dockerfile.
async fn headers(engine: &Engine, request: &BuildRequest) -> HeaderMap {
    let hosts = super::registries(&request.build);
    let logins = engine.credentials.registry_config(&hosts).await;
    let mut headers = HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    let logins = HeaderValue::try_from(logins).expect("invariant: base64 is a header value");
    headers.insert("X-Registry-Config", logins);
    headers
}

/// Parses the builder's output into steps.
struct Steps<F> {
    on_progress: F,
    current: Option<Step>,
    /// Output after the last line end.
    unfinished: String,
    image: Option<String>,
}

struct Step {
    id: StepId,
    name: Arc<str>,
    /// In the builder's numbering, which counts every instruction.
    number: usize,
    begun: Instant,
    cached: bool,
    tail: Tail,
}

impl<F: FnMut(BuildProgress)> Steps<F> {
    fn new(on_progress: F) -> Self {
        Self { on_progress, current: None, unfinished: String::new(), image: None }
    }

    fn read(&mut self, message: &Message) {
        if let Some(id) = message.aux.as_ref().and_then(|aux| aux.get("ID")).and_then(|id| id.as_str()) {
            self.image = Some(id.to_owned());
        }
        if let (Some(step), false) = (&self.current, message.status.is_empty()) {
            let progress = message.progress.as_ref();
            (self.on_progress)(BuildProgress::Advanced {
                step: step.id.clone(),
                name: Arc::clone(&step.name),
                what: format!("{} {}", message.status, message.id).trim().to_owned(),
                current: progress.and_then(|progress| progress.current).unwrap_or(0),
                total: progress.and_then(|progress| progress.total).unwrap_or(0),
            });
        }
        // The builder's own messages start in a new chunk, also after output without a line end.
        if message.stream.starts_with(" ---> ") || parse_step_header(message.stream.trim_end()).is_some() {
            let rest = std::mem::take(&mut self.unfinished);
            if !rest.is_empty() {
                self.line(&rest);
            }
        }
        self.unfinished.push_str(&message.stream);
        while let Some((line, rest)) = self.unfinished.split_once('\n') {
            let (line, rest) = (line.trim_end_matches('\r').to_owned(), rest.to_owned());
            self.unfinished = rest;
            self.line(&line);
        }
    }

    fn line(&mut self, line: &str) {
        if let Some((number, total, words)) = parse_step_header(line) {
            self.finish(None);
            let name: Arc<str> = Arc::from(format!("[{number}/{total}] {words}"));
            let id = StepId(Arc::from(line));
            (self.on_progress)(BuildProgress::Started {
                step: id.clone(),
                name: Arc::clone(&name),
                at: None,
            });
            let begun = Instant::now();
            self.current = Some(Step { id, name, number, begun, cached: false, tail: Tail::default() });
            return;
        }
        if let Some(id) = line.strip_prefix("Successfully built ") {
            self.image.get_or_insert_with(|| id.trim().to_owned());
            return;
        }
        let Some(step) = &mut self.current else { return };
        let said = line.trim_start();
        if let Some(about) = said.strip_prefix("---> ").or_else(|| said.strip_prefix("--> ")) {
            step.cached |= about.starts_with("Using cache");
            return;
        }
        if line.is_empty() || line.starts_with("Removing intermediate container") || is_commit(line) {
            return;
        }
        step.tail.push(line);
        let (id, name) = (step.id.clone(), Arc::clone(&step.name));
        (self.on_progress)(BuildProgress::Log { step: id, name, stderr: false, line: line.to_owned() });
    }

    /// The build has ended.
    fn end(&mut self, error: Option<&str>) {
        let rest = std::mem::take(&mut self.unfinished);
        if !rest.trim().is_empty() {
            self.line(&rest);
        }
        self.finish(error);
    }

    fn finish(&mut self, error: Option<&str>) {
        let Some(step) = &self.current else { return };
        (self.on_progress)(BuildProgress::Finished {
            step: step.id.clone(),
            name: Arc::clone(&step.name),
            cached: step.cached,
            duration: step.begun.elapsed(),
            at: None,
            error: error.map(str::to_owned),
        });
        if error.is_none() {
            self.current = None;
        }
    }

    fn failed<'a>(&'a self, dockerfile: &str, error: &'a str) -> Option<FailedStep<'a>> {
        let step = self.current.as_ref()?;
        let words = step.name.split_once("] ").map_or("", |(_, words)| words);
        let line = dockerfile::line_of_instruction(dockerfile, step.number, words);
        Some(FailedStep { name: &step.name, error, tail: step.tail.lines(), line })
    }
}

/// Parses `Step 2/5 : RUN make`, or Podman's `STEP 2/5: RUN make` and `[1/2] STEP 2/5: RUN make`.
fn parse_step_header(line: &str) -> Option<(usize, usize, &str)> {
    let pattern = Regex::new(r"^(?:\[\d+/\d+\] )?(?:Step|STEP) (\d+)/(\d+) ?: (.*)$")
        .expect("invariant: the pattern is valid");
    let parts = pattern.captures(line)?;
    Some((parts[1].parse().ok()?, parts[2].parse().ok()?, parts.get(3)?.as_str()))
}

/// Whether a line is Podman's result of a step.
fn is_commit(line: &str) -> bool {
    line.starts_with("COMMIT") || (line.len() == 64 && line.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &str) -> (Vec<String>, Option<String>) {
        let mut told = Vec::new();
        let mut steps = Steps::new(|progress| {
            told.push(match progress {
                BuildProgress::Started { name, .. } => format!("begin {name}"),
                BuildProgress::Log { line, .. } => format!("  {line}"),
                BuildProgress::Finished { name, cached, error, .. } => {
                    format!("end {name} {cached} {error:?}")
                }
                other => format!("{other:?}"),
            });
        });
        // Chunks may end anywhere.
        for piece in lines.as_bytes().chunks(7) {
            let stream = String::from_utf8(piece.to_vec()).unwrap();
            steps.read(&Message { stream, ..Message::default() });
        }
        steps.end(None);
        let image = steps.image.take();
        (told, image)
    }

    #[test]
    fn output_becomes_steps() {
        let docker = "Step 1/2 : FROM busybox\n ---> 0123\nStep 2/2 : RUN echo hi\n ---> Running in 45\nhi\n\
            Removing intermediate container 45\n ---> 67\nSuccessfully built 67\n";
        let podman = "STEP 1/2: FROM busybox\nSTEP 2/2: RUN echo hi\n--> Using cache 67\nCOMMIT\n--> 67\nSuccessfully built 67";
        let (steps, image) = told(docker);
        assert_eq!(
            steps,
            [
                "begin [1/2] FROM busybox",
                "end [1/2] FROM busybox false None",
                "begin [2/2] RUN echo hi",
                "  hi",
                "end [2/2] RUN echo hi false None"
            ]
        );
        assert_eq!(image.as_deref(), Some("67"));
        let (steps, image) = told(podman);
        assert_eq!(steps[3], "end [2/2] RUN echo hi true None");
        assert_eq!((steps.len(), image.as_deref()), (4, Some("67")));
    }
}
