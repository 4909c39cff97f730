//! Builds without BuildKit, on the test bed's engine.
#![expect(clippy::disallowed_methods, reason = "tests use this machine's files, processes and environment")]

#[path = "support/bed.rs"]
mod bed;

use std::os::unix::fs::{PermissionsExt as _, symlink};

use bed::{Context, Image, output};
use lilt_docker::{BuildProgress, BuildRequest, Engine, SshSource};
use lilt_model::files::IgnoreRule;
use lilt_model::{Class, Failure};
use tokio_util::sync::CancellationToken;

fn engine() -> Engine {
    let environment = |name: &str| match name {
        "DOCKER_BUILDKIT" => Some("0".to_owned()),
        _ => std::env::var(name).ok(),
    };
    Engine::connect(&environment, None).expect("the bed's address is one")
}

async fn build(request: &BuildRequest) -> (Result<Image, Failure>, Vec<BuildProgress>) {
    let mut told = Vec::new();
    let built = engine().build(request, |progress| told.push(progress), CancellationToken::new()).await;
    (built.map(Image), told)
}

#[tokio::test]
async fn archive_contains_the_context() {
    let long = format!("{}/{}", "deep/".repeat(30), "long-name".repeat(9));
    let context = Context::new(&[
        ("keep.txt", "kept"),
        ("secret.key", ""),
        ("node_modules/x/y.js", ""),
        ("docs/a.md", ""),
        ("docs/keep.md", ""),
        (".dockerignore", "keep.txt\n"),
        (&long, "far"),
    ]);
    let root = context.path();
    std::fs::set_permissions(root.join("keep.txt"), std::fs::Permissions::from_mode(0o750)).unwrap();
    std::fs::create_dir_all(root.join("empty")).unwrap();
    symlink("keep.txt", root.join("link")).unwrap();
    let checks = "find . -not -name 'deep*' | sort; stat -c '%a %u' keep.txt; readlink link; cat deep/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/long*";
    let mut request = context.request(&format!(
        "FROM busybox\nARG WORD\nWORKDIR /app\nCOPY . .\nRUN : {} && echo got $WORD && {checks}\nFROM busybox\nRUN false\n",
        root.display()
    ));
    request.build.context.ignores = vec![IgnoreRule {
        base: root.to_owned(),
        patterns: ["*.key", "node_modules", "docs", "!docs/keep.md"].map(str::to_owned).into(),
    }];
    request.build.build_args = vec![("WORD".into(), "a b".into())];
    request.build.dockerfile = request.build.dockerfile.replacen("FROM busybox", "FROM busybox AS one", 1);
    request.build.target = "one".into();
    let (built, told) = build(&request).await;
    let _image = built.unwrap();
    let lines: Vec<String> = output(&told).into_iter().filter(|line| !line.contains("long-name")).collect();
    let expected = [
        "got a b",
        ".",
        "./.dockerignore",
        "./docs",
        "./docs/keep.md",
        "./empty",
        "./keep.txt",
        "./link",
        "750 0",
        "keep.txt",
        "far",
    ];
    assert_eq!(lines, expected);
    let steps: Vec<String> = told
        .iter()
        .filter_map(|progress| match progress {
            BuildProgress::Finished { name, cached, .. } => Some(format!("{name} {cached}")),
            _ => None,
        })
        .collect();
    assert_eq!(steps[0], "[1/7] FROM busybox AS one false", "{steps:?}");
    // This builder adds labels in steps.
    assert_eq!(steps.len(), 7, "{steps:?}");

    let (again, told) = build(&request).await;
    let _again = again.unwrap();
    let is_cached =
        |progress: &&BuildProgress| matches!(progress, BuildProgress::Finished { cached: true, .. });
    assert!(told.iter().filter(is_cached).count() >= 3, "{told:?}");
}

#[tokio::test]
async fn failures_have_location_and_cause() {
    let context = Context::new(&[]);
    let place = context.path().display();
    let failing = |dockerfile: &str| context.request(dockerfile);
    let line = |failure: &Failure| failure.location.as_ref().map(|location| location.line);

    let (failed, told) =
        build(&failing(&format!("FROM busybox\n\nENV A=b\nRUN : {place} && echo why \\\n  && exit 3\n")))
            .await;
    let failure = failed.err().unwrap();
    assert!(failure.message.ends_with("failed with exit code 3"), "{failure}");
    assert_eq!((line(&failure), failure.detail.as_deref()), (Some(4), Some("why")), "{told:?}");

    let failure = build(&failing("FROM busybox\nCOPY nothing.txt /\n")).await.0.err().unwrap();
    assert_eq!(failure.message, "`COPY nothing.txt /` failed: nothing.txt is not in the build context");
    assert_eq!(line(&failure), Some(2));

    let name = format!("{}/{}", bed::registry(), bed::unique("lilt-none"));
    let failure = build(&failing(&format!("# none\nFROM {name}:v1\n"))).await.0.err().unwrap();
    assert!(failure.message.starts_with(&format!("cannot get the base image {name}:v1: ")), "{failure}");
    assert_eq!((failure.class(), line(&failure)), (Class::User, Some(2)));

    let failure = build(&failing("FROM busybox\nRUNN x\n")).await.0.err().unwrap();
    assert_eq!((failure.class(), line(&failure)), (Class::User, Some(2)), "{failure}");

    let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"bad\xff");
    std::fs::write(context.path().join(name), "").unwrap();
    let failure = build(&failing("FROM busybox\nCOPY . /\n")).await.0.err().unwrap();
    assert!(
        failure.message.starts_with("cannot send the build context: the name \"bad\\xFF\" in"),
        "{failure}"
    );
}

#[tokio::test]
async fn buildkit_features_are_rejected() {
    let context = Context::new(&[]);
    let mut request = context.request("FROM busybox\n");
    request.secrets.insert("token".into(), b"x".to_vec());
    let failure = build(&request).await.0.err().unwrap();
    assert_eq!(failure.message, "docker_build(secret=…) needs BuildKit, and DOCKER_BUILDKIT=0 is set");
    let mut request = context.request("FROM busybox\n");
    request.ssh.insert("default".into(), SshSource::Agent("/nowhere".into()));
    let failure = build(&request).await.0.err().unwrap();
    assert!(failure.message.starts_with("docker_build(ssh=…) needs BuildKit"), "{failure}");
}
