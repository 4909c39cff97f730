//! Builds on the test bed's engine.
#![expect(clippy::disallowed_methods, reason = "tests use this machine's files, processes and environment")]

#[path = "support/bed.rs"]
mod bed;

use std::os::unix::fs::{PermissionsExt as _, symlink};

use bed::{Context, build, build_telling, engine, output, registry, unique};
use lilt_docker::{BuildProgress, ImageStore, Transferred};
use lilt_model::ImageName;
use lilt_model::files::IgnoreRule;
use lilt_model::reference::Reference;
use lilt_model::registry::{Registry, reference_in_registry, tag_from_id};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn builds_tags_and_pushes() {
    let context = Context::new(&[("hello.txt", "good morning\n")]);
    let salt = unique("x");
    let request =
        context.request(&format!("FROM busybox\nCOPY hello.txt /\nRUN echo {salt} && cat /hello.txt\n"));
    let (built, told) = build_telling(&request).await;
    let built = built.unwrap();
    assert!(built.id.starts_with("sha256:"), "{built:?}");
    assert_eq!(output(&told), [salt.as_str(), "good morning"]);

    let engine = engine();
    let registry = Registry { host: registry(), ..Registry::default() };
    let name = ImageName::from(format!("lilt/{salt}"));
    let reference = reference_in_registry(&name, Some(&registry)).unwrap();
    let reference = reference.with_tag(&tag_from_id(&built.id).unwrap()).familiar();
    assert!(reference.starts_with(&format!("{}/lilt_{salt}:tilt-", registry.host)), "{reference}");
    assert!(!engine.image_exists(&reference).await.unwrap());
    engine.tag(&built.id, &reference).await.unwrap();
    assert!(engine.image_exists(&reference).await.unwrap());

    let mut steps = Vec::new();
    let pushed = engine.push(&reference, |step| steps.push(step), CancellationToken::new()).await.unwrap();
    assert!(pushed.digest.starts_with("sha256:"), "{pushed:?}");
    assert!(!steps.is_empty());

    // Use the pushed image as a base image, directly from the registry.
    let pinned = format!("{}@{}", Reference::parse(&reference).unwrap().familiar_name(), pushed.digest);
    let empty = Context::new(&[]);
    let check = empty.request(&format!("FROM {pinned}\nRUN echo {salt} && cat /hello.txt\n"));
    let (checked, told) = build_telling(&check).await;
    let _checked = checked.unwrap();
    assert_eq!(output(&told), [salt.as_str(), "good morning"]);
}

#[tokio::test]
async fn unchanged_context_gives_same_image_and_only_changes_are_sent() {
    let big = "x".repeat(300_000);
    let context = Context::new(&[("a.txt", "a"), ("sub/b.txt", "b"), ("big.bin", &big)]);
    let dockerfile = "FROM busybox\nCOPY . /app/\n";
    let request = context.request(dockerfile);
    let text = u64::try_from(dockerfile.len()).unwrap();
    let definition = |files: u64, bytes: u64| Transferred {
        listed: 6,
        files: files + 2,
        bytes: bytes + text + IGNORE_FILE,
    };
    const IGNORE_FILE: u64 = 43;

    let first = build(&request).await.unwrap();
    assert_eq!(first.transferred, definition(3, 300_002));
    let again = build(&request).await.unwrap();
    assert_eq!(again.transferred, definition(0, 0));
    assert_eq!(again.id, first.id);

    context.write("sub/b.txt", "changed");
    let changed = build(&request).await.unwrap();
    assert_eq!(changed.transferred, definition(1, 7));
    assert_ne!(changed.id, first.id);
}

#[tokio::test]
async fn only_copied_files_are_sent() {
    let context =
        Context::new(&[("src/a", "a"), ("other/huge", &"x".repeat(100_000)), ("package.json", "{}")]);
    let request = context.request("FROM scratch\nCOPY src /src\nCOPY package*.json /\n");
    let built = build(&request).await.unwrap();
    // src, src/a and package.json, beside the two of the definition.
    assert_eq!((built.transferred.listed, built.transferred.files), (5, 4));
}

#[tokio::test]
async fn ignored_files_are_not_sent() {
    let context = Context::new(&[
        ("keep.txt", ""),
        ("secret.key", ""),
        ("node_modules/x/y.js", ""),
        (".git/HEAD", ""),
        ("docs/a.md", ""),
        ("docs/keep.md", ""),
        (".dockerignore", "keep.txt\n"),
    ]);
    let mut request = context.request(&listing(&context, "find . | sort"));
    request.build.context.ignores = vec![
        IgnoreRule {
            base: context.path().to_owned(),
            patterns: ["*.key", "node_modules", "docs", "!docs/keep.md"].map(str::to_owned).into(),
        },
        IgnoreRule::path(context.path().join(".git")),
    ];
    let (built, told) = build_telling(&request).await;
    let _image = built.unwrap();
    // Only the caller's rules count: the context's .dockerignore is a regular file.
    assert_eq!(output(&told), [".", "./.dockerignore", "./docs", "./docs/keep.md", "./keep.txt"]);
}

/// A Dockerfile that copies everything and prints a listing; the context's random name keeps it out of the cache.
fn listing(context: &Context, command: &str) -> String {
    format!("FROM busybox\nWORKDIR /app\nCOPY . .\nRUN : {} && {command}\n", context.path().display())
}

#[tokio::test]
async fn links_modes_owners_and_empty_directories_are_preserved() {
    let context = Context::new(&[
        ("run.sh", "#!/bin/sh\necho ran\n"),
        ("plain", "text"),
        ("a-b", ""),
        ("a/z", ""),
        ("a.c", ""),
    ]);
    let root = context.path();
    std::fs::set_permissions(root.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(root.join("plain"), std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::create_dir_all(root.join("empty/inner")).unwrap();
    symlink("plain", root.join("link")).unwrap();
    symlink("/nowhere/at all", root.join("dangling")).unwrap();
    std::os::unix::fs::chown(root.join("plain"), Some(1234), Some(1234)).unwrap();
    let checks = "./run.sh; cat link; echo; readlink dangling; stat -c '%a %u %g' plain; stat -c %a run.sh; ls -A empty; ls a-b a/z a.c";
    let (built, told) =
        build_telling(&context.request(&listing(&context, &format!("({checks}) 2>&1")))).await;
    let _image = built.unwrap();
    let expected = ["ran", "text", "/nowhere/at all", "640 0 0", "755", "inner", "a-b", "a.c", "a/z"];
    assert_eq!(output(&told), expected);
}

#[tokio::test]
async fn two_thousand_files_and_a_big_one() {
    let context = Context::new(&[]);
    for index in 0..2000 {
        context.write(&format!("d{}/f{index}.txt", index % 37), &format!("number {index}\n"));
    }
    let big: Vec<u8> =
        (0..20_000_000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(context.path().join("big.bin"), &big).unwrap();
    let sums = std::process::Command::new("sha256sum").arg(context.path().join("big.bin")).output().unwrap();
    let sum = String::from_utf8(sums.stdout).unwrap().split(' ').next().unwrap().to_owned();
    let command = "find . -type f | wc -l && cat d*/f*.txt | wc -l && sha256sum big.bin | cut -d' ' -f1";
    let (built, told) = build_telling(&context.request(&listing(&context, command))).await;
    let transferred = built.unwrap().transferred;
    assert_eq!(output(&told), ["2001", "2000", sum.as_str()]);
    assert_eq!((transferred.listed, transferred.files), (2001 + 37 + 2, 2001 + 2));
}

#[tokio::test]
async fn arguments_target_hosts_tags_and_labels_reach_the_build() {
    let tag = format!("{}/{}:extra", registry(), unique("lilt-args"));
    let context = Context::new(&[]);
    let mut request = context.request(&format!(
        "FROM busybox AS one\nARG WORD=unset\nRUN : {} && echo got $WORD && grep example /etc/hosts\nFROM one\nRUN false\n",
        context.path().display()
    ));
    request.build.build_args = vec![("WORD".into(), "a b=ü&".into())];
    request.build.target = "one".into();
    request.build.platform = "linux/amd64".into();
    request.build.extra_tags = vec![tag.clone()];
    request.build.extra_hosts = vec!["lilt.example:10.1.2.3".into()];
    let (built, told) = build_telling(&request).await;
    let _image = built.unwrap();
    assert_eq!(output(&told), ["got a b=ü&", "10.1.2.3\tlilt.example"]);
    let inspect = ["image", "inspect", "--format", "{{json .Config.Labels}}", &tag];
    let labels = std::process::Command::new("docker").args(inspect).output().unwrap().stdout;
    let labels: serde_json::Value = serde_json::from_slice(&labels).unwrap();
    assert_eq!(labels, serde_json::json!({"dev.tilt.built": "true", "dev.tilt.gc": "true"}));
}

#[tokio::test]
async fn progress_reports_steps_and_cache_hits() {
    let context = Context::new(&[]);
    let request = context.request(&listing(&context, "echo one; echo two >&2; printf three"));
    let (built, told) = build_telling(&request).await;
    let _image = built.unwrap();
    let run = |progress: &&BuildProgress| match progress {
        BuildProgress::Started { name, .. }
        | BuildProgress::Advanced { name, .. }
        | BuildProgress::Log { name, .. }
        | BuildProgress::Finished { name, .. } => name.contains("] RUN"),
        BuildProgress::Warning { .. } => false,
    };
    let steps: Vec<_> = told.iter().filter(run).collect();
    assert!(matches!(steps.first(), Some(BuildProgress::Started { .. })), "{steps:?}");
    assert!(
        matches!(steps.last(), Some(BuildProgress::Finished { cached: false, error: None, .. })),
        "{steps:?}"
    );
    let mut lines = output(&told);
    lines.sort();
    assert_eq!(lines, ["one", "three", "two"]);

    let (again, told) = build_telling(&request).await;
    let _again = again.unwrap();
    assert!(output(&told).is_empty());
    assert!(told.iter().filter(run).any(|step| matches!(step, BuildProgress::Finished { cached: true, .. })));
}

#[tokio::test]
async fn engine_info_is_read() {
    let info = engine().info().await.unwrap();
    assert_eq!((info.os.as_str(), info.image_store), ("linux", ImageStore::Containerd));
    assert!(!info.version.is_empty() && info.api_version.starts_with("1."), "{info:?}");
}

#[tokio::test]
async fn network_and_cache_reach_the_build() {
    let context = Context::new(&[]);
    let mut request = context.request(&listing(&context, "ls /sys/class/net"));
    request.build.network = "none".into();
    request.build.cache_from = vec![format!("{}/{}:cache", registry(), unique("lilt-cache"))];
    let (built, told) = build_telling(&request).await;
    let _image = built.unwrap();
    assert_eq!(output(&told), ["lo"], "nothing but itself");
    // A missing cache image is no error: the first build has none.
    let imports = |progress: &BuildProgress| matches!(progress, BuildProgress::Started { name, .. } if name.contains(&request.build.cache_from[0]));
    assert!(told.iter().any(imports), "{told:?}");
}

/// The engine has the base image, and its registry is unreachable: only `pull` fails.
#[tokio::test]
async fn pull_option_updates_base_images() {
    let name = format!("localhost:1/{}:v1", unique("lilt-pull"));
    let base = Context::new(&[("content", &name)]);
    let base = build(&base.request("FROM scratch\nCOPY content /\n")).await.unwrap();
    engine().tag(&base.id, &name).await.unwrap();
    let context = Context::new(&[]);
    let mut request = context.request(&format!("FROM {name}\nCOPY --from=busybox /bin/busybox /\n"));
    let _image = build(&request).await.unwrap();
    request.build.pull = true;
    let failure = build(&request).await.unwrap_err();
    assert!(failure.message.starts_with(&format!("cannot get the base image {name}: ")), "{failure}");
    assert_eq!(failure.location.map(|location| location.line), Some(1));
}

/// A long Dockerfile: location and output of a failing step, wherever it is.
#[tokio::test]
async fn failures_are_placed_in_stages_and_here_documents() {
    let context = Context::new(&[("file", "x")]);
    let place = context.path().display();
    let good = format!(
        "# syntax=x is no directive here\nARG BASE=busybox\nFROM $BASE AS one\nRUN : {place}\n\n\
         FROM one AS two\nCOPY <<EOF /script\nRUN echo is no instruction\nEOF\nRUN <<EOF\nset -e\necho from here\nFAIL1\nEOF\n\
         FROM busybox\nCOPY --from=two /script /\nRUN FAIL2 \\\n  # a comment\n  && cat /script\n"
    );
    let good = good.replace("# syntax=x is no directive here\n", "");
    for (mark, line, detail) in [("FAIL1", 9, Some("from here")), ("FAIL2", 16, None)] {
        let dockerfile = good.replace(mark, "exit 7").replace("FAIL1", "true").replace("FAIL2", "true");
        let failure = build(&context.request(&dockerfile)).await.unwrap_err();
        assert!(failure.message.ends_with("failed with exit code 7"), "{failure}");
        assert_eq!(
            failure.location.as_ref().map(|location| location.line),
            Some(line),
            "{failure}\n{dockerfile}"
        );
        assert_eq!(failure.detail.as_deref(), detail);
    }
}
