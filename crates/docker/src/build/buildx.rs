//! Builds with a builder of `docker buildx` that is not the engine's own, and loads the image into the engine.
//!
//! buildx reads the context itself. It gets the names of all ignored paths, because lilt's rules cannot be expressed
//! in one `.dockerignore`.
#![expect(clippy::disallowed_methods, reason = "docker is started here, and what it reads is written")]

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use lilt_model::Failure;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::trace::{Trace, raw};
use super::{BuildProgress, BuildRequest, BuiltImage, Transferred, diagnosis, source};
use crate::engine::Engine;
use crate::error::Error;
use crate::session::{Source, ignored};
use crate::ssh_agent::SshSource;

pub(super) async fn build(
    engine: &Engine,
    name: &str,
    request: &BuildRequest,
    mut on_progress: impl FnMut(BuildProgress) + Send,
) -> Result<BuiltImage, Error> {
    let source = source(request)?;
    let folder =
        tempfile::Builder::new().prefix("lilt-buildx-").tempdir().map_err(|error| unwritable(&error))?;
    let written = write(folder.path(), &source, request);
    let written = tokio::task::spawn_blocking(written).await;
    written.map_err(|error| Failure::internal(error.to_string()))??;
    let arguments = arguments(name, folder.path(), &source.context, request);
    let mut process = Command::new("docker")
        .args(arguments)
        .envs(engine.builder_settings.variables().iter().map(|(name, value)| (name, value)))
        // An attestation would change the image id with every build.
        .env("BUILDX_NO_DEFAULT_ATTESTATIONS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| missing(name, &error))?;
    let group = ProcessGroup(process.id());
    let mut trace = Trace::default();
    let mut stderr = Vec::new();
    if let Some(errors) = process.stderr.take() {
        let mut lines = BufReader::new(errors).lines();
        while let Some(line) = lines.next_line().await.map_err(|error| broken(name, &error))? {
            match raw(&line) {
                Some(status) => trace.take(status, &mut on_progress),
                None => stderr.push(line),
            }
        }
    }
    let ended = process.wait().await.map_err(|error| broken(name, &error))?;
    drop(group);
    if !ended.success() {
        return Err(diagnosis::explain(&request.build, trace.failed_step(), &error_message(&stderr)));
    }
    let id = loaded(engine, &folder.path().join("metadata")).await?;
    Ok(BuiltImage { id, transferred: Transferred::default() })
}

/// Writes what buildx reads besides the context.
fn write(
    folder: &Path,
    source: &Source,
    request: &BuildRequest,
) -> impl FnOnce() -> Result<(), Failure> + Send + 'static {
    let (folder, source, secrets) = (folder.to_owned(), source.clone(), request.secrets.clone());
    move || {
        let put = |name: &str, content: &[u8]| {
            std::fs::write(folder.join(name), content).map_err(|error| unwritable(&error))
        };
        let ignored = ignored(&source).map_err(|cause| diagnosis::unsendable(&cause))?;
        put("Dockerfile", source.dockerfile.as_bytes())?;
        let rules: String = ignored.iter().map(|path| format!("{}\n", literal(path))).collect();
        put("Dockerfile.dockerignore", rules.as_bytes())?;
        // Only this user may read the folder.
        for (number, secret) in secrets.values().enumerate() {
            put(&format!("secret-{number}"), secret)?;
        }
        Ok(())
    }
}

/// Escapes a path as a pattern that matches nothing else.
fn literal(path: &str) -> String {
    let mut pattern = String::from("/");
    for character in path.chars() {
        match character {
            '*' | '?' | '[' | '\\' => pattern.extend(['\\', character]),
            // Cannot be escaped in a line. Names that differ only in such a character are unlikely.
            '\n' | '\r' | ' ' | '\t' => pattern.push('?'),
            other => pattern.push(other),
        }
    }
    pattern
}

fn arguments(name: &str, folder: &Path, context: &Path, request: &BuildRequest) -> Vec<OsString> {
    let build = &request.build;
    let mut arguments: Vec<OsString> =
        ["buildx", "build", "--progress", "rawjson", "--load"].map(OsString::from).into();
    let mut add = |flag: &str, value: OsString| arguments.extend([OsString::from(flag), value]);
    add("--builder", name.into());
    add("--file", folder.join("Dockerfile").into());
    add("--metadata-file", folder.join("metadata").into());
    let pair = |(name, value): &(String, String)| OsString::from(format!("{name}={value}"));
    request.labels.iter().for_each(|label| add("--label", pair(label)));
    build.build_args.iter().for_each(|argument| add("--build-arg", pair(argument)));
    for (flag, value) in
        [("--target", &build.target), ("--platform", &build.platform), ("--network", &build.network)]
    {
        if !value.is_empty() {
            add(flag, value.into());
        }
    }
    let lists = [
        ("--tag", &build.extra_tags),
        ("--cache-from", &build.cache_from),
        ("--add-host", &build.extra_hosts),
    ];
    for (flag, values) in lists {
        values.iter().for_each(|value| add(flag, value.into()));
    }
    for (number, id) in request.secrets.keys().enumerate() {
        add("--secret", format!("id={id},src={}", folder.join(format!("secret-{number}")).display()).into());
    }
    for (id, source) in &request.ssh {
        let paths = match source {
            SshSource::Agent(socket) => vec![socket.display().to_string()],
            SshSource::Keys(keys) => keys.iter().map(|key| key.display().to_string()).collect(),
        };
        add("--ssh", format!("{id}={}", paths.join(",")).into());
    }
    if build.pull {
        arguments.push("--pull".into());
    }
    arguments.extend([OsString::from("--"), context.into()]);
    arguments
}

/// Returns the id of the loaded image, which the engine knows by its manifest or by its configuration.
async fn loaded(engine: &Engine, metadata: &Path) -> Result<String, Failure> {
    let text = std::fs::read(metadata).unwrap_or_default();
    let facts: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    for key in ["containerimage.digest", "containerimage.config.digest"] {
        if let Some(digest) = facts.get(key).and_then(|digest| digest.as_str())
            && let Some(id) = engine.image_id(digest).await?
        {
            return Ok(id);
        }
    }
    Err(super::no_image())
}

/// Returns the final error, without its prefix and without the excerpt of the Dockerfile.
fn error_message(stderr: &[String]) -> String {
    let mut errors = stderr.iter().rev().filter_map(|line| line.strip_prefix("ERROR: "));
    errors.next().map_or_else(|| stderr.join("\n"), str::to_owned)
}

fn unwritable(error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot write what docker buildx reads: {error}"))
        .hint("see whether the disk of the temporary folder is full")
}

fn missing(name: &str, error: &std::io::Error) -> Failure {
    Failure::environment(format!("the builder {name:?} of docker buildx needs the program `docker`: {error}"))
        .hint("install it with its buildx plugin, or choose the engine's own builder: unset BUILDX_BUILDER, `docker buildx use default`")
        .caused_by(error)
}

fn broken(name: &str, error: &std::io::Error) -> Failure {
    Failure::environment(format!("lost docker buildx, which built with {name:?}: {error}")).caused_by(error)
}

/// The process group of buildx, terminated when this is dropped.
struct ProcessGroup(Option<u32>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            // It has exited already, unless the build was cancelled.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::TERM);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_as_patterns() {
        assert_eq!(literal("a/b.c"), "/a/b.c");
        assert_eq!(literal("#x/!y/[z]*"), "/#x/!y/\\[z]\\*");
        assert_eq!(literal("two words"), "/two?words");
    }
}
