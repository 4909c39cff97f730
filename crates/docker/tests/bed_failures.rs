//! Failing builds and pushes, on the test bed's engine.
#![expect(clippy::disallowed_methods, reason = "tests use this machine's files, processes and environment")]

#[path = "support/bed.rs"]
mod bed;

use std::time::Duration;

use bed::{Context, build, engine, registry, unique};
use lilt_docker::{BuildProgress, BuildRequest};
use lilt_model::{Class, Failure, Location};
use tokio_util::sync::CancellationToken;

fn at(line: u32) -> Option<Location> {
    Some(Location { path: "project/Dockerfile".into(), line, column: None })
}

#[tokio::test]
async fn failing_step_is_named_with_location_and_output() {
    let context = Context::new(&[]);
    let dockerfile = format!(
        "# first\nFROM busybox\n\nRUN : {} && seq 1 50 \\\n  && exit 3\nRUN true\n",
        context.path().display()
    );
    let failure = build(&context.request(&dockerfile)).await.unwrap_err();
    assert_eq!(failure.class(), Class::User);
    assert!(
        failure.message.starts_with("`RUN : ") && failure.message.ends_with("failed with exit code 3"),
        "{failure}"
    );
    assert_eq!(failure.location, at(4));
    let last: Vec<String> = (31..=50).map(|number| number.to_string()).collect();
    assert_eq!(failure.detail, Some(last.join("\n")));
}

#[tokio::test]
async fn copy_of_missing_file_fails() {
    let failure = build(&Context::new(&[]).request("FROM busybox\nCOPY nothing.txt /\n")).await.unwrap_err();
    assert_eq!((failure.class(), failure.location.clone()), (Class::User, at(2)));
    assert_eq!(failure.message, "`COPY nothing.txt /` failed: nothing.txt is not in the build context");
}

#[tokio::test]
async fn missing_base_image_fails() {
    let name = format!("{}/{}", registry(), unique("lilt-none"));
    let failure = build(&Context::new(&[]).request(&format!("\nFROM {name}:v1\n"))).await.unwrap_err();
    assert_eq!((failure.class(), failure.location.clone()), (Class::User, at(2)));
    assert!(failure.message.starts_with(&format!("cannot get the base image {name}:v1: ")), "{failure}");
}

#[tokio::test]
async fn invalid_dockerfile_fails() {
    let failure = build(&Context::new(&[]).request("FROM busybox\n\nRUNN echo\n")).await.unwrap_err();
    assert_eq!((failure.class(), failure.location.clone()), (Class::User, at(3)));
    assert!(failure.message.contains("RUNN"), "{failure}");

    let failure = build(&Context::new(&[]).request("# nothing\n")).await.unwrap_err();
    assert_eq!(failure.class(), Class::User, "{failure}");

    let context = Context::new(&[]);
    let mut request = context.request("FROM busybox\n");
    request.build.target = "absent".into();
    let failure = build(&request).await.unwrap_err();
    assert_eq!(failure.class(), Class::User, "{failure}");
    assert!(failure.message.contains("absent"), "{failure}");
}

#[tokio::test]
async fn missing_context_fails() {
    let context = Context::new(&[("file", "")]);
    let mut request = context.request("FROM busybox\n");
    request.build.context.roots = vec![context.path().join("gone")];
    let failure = build(&request).await.unwrap_err();
    assert!(failure.class() == Class::User && failure.message.ends_with("does not exist"), "{failure}");
    request.build.context.roots = vec![context.path().join("file")];
    let failure = build(&request).await.unwrap_err();
    assert!(failure.message.ends_with("is not a directory"), "{failure}");
}

#[tokio::test]
async fn unreadable_file_fails() {
    let context = Context::new(&[]);
    let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"bad\xff");
    std::fs::write(context.path().join(name), "").unwrap();
    let failure = build(&context.request("FROM busybox\nCOPY . /\n")).await.unwrap_err();
    assert_eq!(failure.class(), Class::User);
    assert!(
        failure.message.starts_with("cannot send the build context: the name \"bad\\xFF\" in"),
        "{failure}"
    );
}

#[tokio::test]
async fn cancelled_build_stops_in_the_engine() {
    let sleeper = Sleeper::new();
    let cancel = CancellationToken::new();
    let failure = engine()
        .build(
            &sleeper.request,
            |progress| sleeper.when_started(&progress, || cancel.cancel()),
            cancel.clone(),
        )
        .await
        .unwrap_err();
    assert_eq!(failure.message, "the build was cancelled");
    sleeper.wait_until_gone().await;
}

#[tokio::test]
async fn dropped_build_stops_in_the_engine() {
    let sleeper = Sleeper::new();
    let started = CancellationToken::new();
    let engine = engine();
    let on_progress = |progress| sleeper.when_started(&progress, || started.cancel());
    tokio::select! {
        built = engine.build(&sleeper.request, on_progress, CancellationToken::new()) => panic!("it ended: {built:?}"),
        () = started.cancelled() => {}
    }
    sleeper.wait_until_gone().await;
}

/// A build that sleeps, in a process that can be found on this machine.
struct Sleeper {
    mark: String,
    request: BuildRequest,
    _context: Context,
}

impl Sleeper {
    fn new() -> Self {
        let (mark, context) = (unique("sleeper"), Context::new(&[]));
        let dockerfile = format!("FROM busybox\nRUN exec sh -c 'echo started; sleep 1000; :' {mark}\n");
        Self { request: context.request(&dockerfile), mark, _context: context }
    }

    fn when_started(&self, progress: &BuildProgress, then: impl FnOnce()) {
        if let BuildProgress::Log { line, .. } = progress {
            assert_eq!(line, "started");
            assert!(
                is_running(&self.mark),
                "the build's process is not to be seen: this test proves nothing"
            );
            then();
        }
    }

    async fn wait_until_gone(&self) {
        let gone = async {
            while is_running(&self.mark) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), gone).await.expect("the engine goes on building");
    }
}

fn is_running(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("Linux lists its processes").flatten();
    processes.into_iter().any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        // The engine's processes contain the Dockerfile's text; the sleeping process has the marker as a whole
        // argument.
        line.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes())
    })
}

#[tokio::test]
async fn unreachable_registry_fails() {
    let context = Context::new(&[]);
    let built = build(&context.request("FROM busybox\n")).await.unwrap();
    let reference = format!("localhost:1/{}:v1", unique("lilt"));
    let engine = engine();
    engine.tag(&built.id, &reference).await.unwrap();
    let failure = engine.push(&reference, |_| {}, CancellationToken::new()).await.unwrap_err();
    assert_eq!(failure.class(), Class::Environment);
    assert!(failure.message.starts_with(&format!("cannot push {reference}: ")), "{failure}");
    assert!(failure.hint.as_ref().unwrap().contains("localhost:1 runs"), "{failure}");
}

#[tokio::test]
async fn missing_image_fails() {
    let reference = format!("{}/{}:v1", registry(), unique("lilt"));
    let engine = engine();
    let tagging: Failure = engine.tag(&format!("sha256:{}", "0".repeat(64)), &reference).await.unwrap_err();
    assert_eq!(tagging.class(), Class::Environment, "{tagging}");
    let pushing = engine.push(&reference, |_| {}, CancellationToken::new()).await.unwrap_err();
    assert!(pushing.message.starts_with("cannot push"), "{pushing}");
}
