//! Turns the engine's error of a failed build into a failure with cause, location and hint.

use lilt_model::image::DockerBuild;
use lilt_model::{Failure, Location, Unreachable};
use regex::Regex;

use super::dockerfile::{line_of_image, line_of_step};
use super::trace::FailedStep;
use crate::error::{DockerfilePosition, Error};

const LOADING_IMAGE: &str = "[internal] load metadata for ";

pub(super) fn explain(build: &DockerBuild, step: Option<FailedStep<'_>>, error: &str) -> Error {
    let error = without_wrapping(error);
    let Some(step) = step else { return whole_build(build, &error).into() };
    let text = step.name.split_once("] ").map_or(step.name, |(_, text)| text);
    let line = step.line.or_else(|| line_of_step(&build.dockerfile, step.name));
    match text.split_once("FROM ") {
        _ if step.name.starts_with(LOADING_IMAGE) => {
            base_image(build, step.name.trim_start_matches(LOADING_IMAGE), &step, &error)
        }
        Some(("", image)) => {
            let image = image.split(' ').find(|word| !word.starts_with("--")).unwrap_or(image);
            base_image(build, image, &step, &error)
        }
        _ if line.is_some() || is_instruction(step.name) => {
            instruction(build, text, line, &step, &error).into()
        }
        _ => whole_build(build, &error).into(),
    }
}

/// The context cannot be read or sent.
pub(super) fn unsendable(cause: &str) -> Failure {
    if lilt_model::os_error::mentions_shortage(cause) {
        return Failure::environment(format!("cannot send the build context: {cause}"))
            .of_kind(Unreachable::Machine);
    }
    Failure::user(format!("cannot send the build context: {cause}"))
        .hint("mend it, or leave the file out with .dockerignore or ignore=")
}

fn instruction(
    build: &DockerBuild,
    text: &str,
    line: Option<u32>,
    step: &FailedStep<'_>,
    error: &str,
) -> Failure {
    let missing = Regex::new(r#"(?:"([^"]+)": not found|stat ([^:]+): file does not exist)"#)
        .expect("invariant: the pattern is valid");
    let failure = if let Some(code) = exit_code(step.error).or_else(|| exit_code(error)) {
        Failure::user(format!("`{text}` failed with exit code {code}"))
            .hint("its output says why; mend the instruction or what it works on, and save")
    } else if let Some(path) = missing.captures(step.error).or_else(|| missing.captures(error)) {
        let path = path.get(1).or_else(|| path.get(2)).map_or("", |path| path.as_str());
        let path = path.trim_start_matches('/');
        Failure::user(format!("`{text}` failed: {path} is not in the build context"))
            .hint("paths are relative to the build context; .dockerignore, ignore= and only= may leave the file out")
    } else {
        let failure = Failure::user(format!("`{text}` failed: {}", without_wrapping(step.error)));
        match missing_grant(step.error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    };
    let failure = locate(failure, build, line);
    if step.tail.is_empty() { failure } else { failure.detail(step.tail.join("\n")) }
}

/// Returns how to provide what a step requests from this machine.
fn missing_grant(error: &str) -> Option<String> {
    let agent = Regex::new(r#"no ssh agent "([^"]+)" is given"#).expect("invariant: the pattern is valid");
    let secret = Regex::new(r"secret (\S+): not found").expect("invariant: the pattern is valid");
    if let Some(found) = agent.captures(error) {
        return Some(format!("let it use your agent with docker_build(ssh='{}')", &found[1]));
    }
    let id = &secret.captures(error)?[1];
    Some(format!("give it with docker_build(secret='id={id},src=…') or docker_build(secret='id={id},env=…')"))
}

fn base_image(build: &DockerBuild, image: &str, step: &FailedStep<'_>, error: &str) -> Error {
    let cause = match without_wrapping(step.error) {
        cause if cause.is_empty() => error.to_owned(),
        cause => cause,
    };
    let place = place(build, step.line.or_else(|| line_of_image(&build.dockerfile, image)));
    Error::BaseImage { image: image.to_owned(), cause, place, helper_error: None }
}

fn whole_build(build: &DockerBuild, error: &str) -> Failure {
    let line = Regex::new(r"(?:on line |Dockerfile:)(\d+)").expect("invariant: the pattern is valid");
    let line = line.captures(error).and_then(|found| found[1].parse().ok());
    // Our own error, which the engine returns.
    if let Some((_, cause)) = error.split_once("error from sender: ") {
        return unsendable(cause);
    }
    let user = [
        "dockerfile",
        "target stage",
        "no instructions",
        "no build stage",
        "failed to parse",
        "circular dependency",
        "provided Dockerfile",
        "unknown instruction",
    ];
    if line.is_some() || user.iter().any(|word| error.contains(word)) {
        let failure = Failure::user(error.to_owned()).hint("mend the Dockerfile and save");
        return locate(failure, build, line);
    }
    if ["context canceled", "code = Unavailable", "closing transport"].iter().any(|word| error.contains(word))
    {
        return Failure::environment(format!(
            "the Docker engine stopped in the middle of the build: {error}"
        ))
        .hint("it was stopped or restarted")
        .of_kind(Unreachable::DockerEngine);
    }
    if error.contains("Cannot connect to the Docker daemon") {
        return Failure::environment(error.to_owned()).of_kind(Unreachable::DockerEngine);
    }
    if error.contains("no space left on device") {
        return Failure::environment(error.to_owned()).hint("make room with `docker system prune`");
    }
    Failure::environment(format!("the Docker engine could not build: {error}"))
}

fn locate(mut failure: Failure, build: &DockerBuild, line: Option<u32>) -> Failure {
    match place(build, line) {
        DockerfilePosition::File(location) => failure.at(location),
        place => {
            failure.message.push_str(&place.suffix());
            failure
        }
    }
}

fn place(build: &DockerBuild, line: Option<u32>) -> DockerfilePosition {
    match (line, &build.dockerfile_path) {
        (Some(line), Some(path)) => {
            DockerfilePosition::File(Location { path: path.clone(), line, column: None })
        }
        (Some(line), None) => DockerfilePosition::Text(line),
        (None, _) => DockerfilePosition::Unknown,
    }
}

fn exit_code(error: &str) -> Option<&str> {
    let pattern = Regex::new(r"(?:exit code:|non-zero code:|exit status) (\d+)")
        .expect("invariant: the pattern is valid");
    pattern.captures(error).and_then(|found| found.get(1)).map(|code| code.as_str())
}

fn is_instruction(step: &str) -> bool {
    let pattern = Regex::new(r"^\[[^\]]*\d+/\d+\] ").expect("invariant: the pattern is valid");
    pattern.is_match(step)
}

/// Removes prefixes without information.
fn without_wrapping(error: &str) -> String {
    let noise = [
        "failed to solve with frontend dockerfile.v0: ",
        "failed to solve with frontend gateway.v0: ",
        "failed to build: ",
        "failed to solve: ",
        "rpc error: code = Unknown desc = ",
        "failed to build LLB: ",
        "failed to create LLB definition: ",
        "failed to compute cache key: ",
    ];
    let mut rest = error.trim();
    while let Some(shorter) = noise.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = shorter;
    }
    rest.to_owned()
}
