//! The live update channel, in a busybox and in a GNU userland.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use lilt_cluster::{AgentUpload, Changes, Content, LiveChannel, LiveTransport, Output, Put};
use lilt_model::cluster::ContainerState;
use lilt_model::{Class, Timestamp};
use serde_json::json;
use space::{Space, running};

/// The node's sandbox image, which contains one program and nothing else.
const PAUSE: &str = "localhost:5000/pause:dev";

const MODIFIED: Timestamp = Timestamp(1_700_000_000_000_000);

/// The tools of the image.
const SHELL: LiveTransport<'static> = LiveTransport::Shell(None);
/// lilt's agent, uploaded over the connection.
const UPLOADED_AGENT: LiveTransport<'static> =
    LiveTransport::Shell(Some(AgentUpload { program: lilt_agent_image::program, folders: &[] }));

async fn open(space: &Space, image: &str, transport: LiveTransport<'_>) -> LiveChannel {
    let pod = space.start(image, "trap 'exit 0' TERM; sleep 100000 & wait", running).await;
    LiveChannel::open(&space.cluster, &pod.reference(), "main", transport)
        .await
        .unwrap_or_else(|failure| panic!("{failure}"))
}

fn files(files: &[(&str, u32, &[u8])]) -> Changes {
    let put = |(path, mode, content): &(&str, u32, &[u8])| Put {
        path: (*path).to_owned(),
        modified: MODIFIED,
        content: Content::File { mode: *mode, bytes: content.to_vec().into() },
    };
    Changes::new(Vec::new(), files.iter().map(put).collect())
}

fn removals(paths: &[&str]) -> Changes {
    Changes::new(words(paths), Vec::new())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns exit code, stdout and stderr of a shell command.
async fn shell(channel: &mut LiveChannel, command: &str) -> (i32, String, String) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = channel
        .run(&words(&["sh", "-c", command]), |output| match output {
            Output::Stdout(bytes) => stdout.extend_from_slice(bytes),
            Output::Stderr(bytes) => stderr.extend_from_slice(bytes),
        })
        .await
        .unwrap_or_else(|failure| panic!("{failure}"));
    (code, String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned())
}

async fn everything_works(image: &str, transport: LiveTransport<'_>) {
    let space = Space::new("live").await;
    let mut channel = open(&space, image, transport).await;

    channel
        .update(&files(&[("/app/new/a.txt", 0o640, b"one\n"), ("/app/run.sh", 0o755, b"#!/bin/sh\n")]))
        .await
        .unwrap();
    let (_, listing, _) =
        shell(&mut channel, "cat /app/new/a.txt; stat -c '%a %Y' /app/new/a.txt /app/run.sh").await;
    assert_eq!(listing, "one\n640 1700000000\n755 1700000000\n");

    // Replace and remove in one request, unusual names, removal of a missing file.
    let removals = words(&["/app/run.sh", "/not/there", "/app/it's a \"file\"\nwith $all"]);
    shell(&mut channel, "touch '/app/it'\\''s a \"file\"\nwith $all'").await;
    let changes = Changes::new(removals, files(&[("/app/new/a.txt", 0o644, b"two\n")]).puts().to_vec());
    channel.update(&changes).await.unwrap();
    let (_, listing, _) = shell(&mut channel, "cat /app/new/a.txt; ls /app").await;
    assert_eq!(listing, "two\nnew\n");

    everything_takes_the_place_of_everything(&mut channel).await;

    // Both output streams, exit codes, an empty stdin.
    let (code, stdout, stderr) = shell(&mut channel, "printf out; printf err >&2; cat; exit 7").await;
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (7, "out", "err"));
    let mut complaint = Vec::new();
    let code = channel
        .run(&words(&["no-such-program"]), |output| {
            if let Output::Stderr(bytes) = output {
                complaint.extend_from_slice(bytes);
            }
        })
        .await
        .unwrap();
    let stderr = String::from_utf8(complaint).unwrap();
    assert_eq!(code, 127);
    assert!(stderr.contains("no-such-program"), "{stderr}");
    let (code, stdout, _) =
        shell(&mut channel, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo $i; done").await;
    assert_eq!((code, stdout.lines().count()), (0, 20_000));

    // Every byte value, at sizes around the block size, and five megabytes.
    let all_bytes: Vec<u8> = (0..=255).collect();
    for size in [0, 1, 255, 261_000, 262_144, 524_288, 5_000_000] {
        let content: Vec<u8> = all_bytes.iter().copied().cycle().take(size).collect();
        channel.update(&files(&[("/app/bytes", 0o644, &content)])).await.unwrap();
        let (_, size_seen, _) = shell(&mut channel, "wc -c </app/bytes").await;
        assert_eq!(size_seen.trim().parse::<usize>().unwrap(), size);
    }
    let mut expected: Vec<u8> = all_bytes.iter().copied().cycle().take(5_000_000).collect();
    let mut seen = Vec::new();
    let code = channel
        .run(&words(&["cat", "/app/bytes"]), |output| {
            if let Output::Stdout(bytes) = output {
                seen.extend_from_slice(bytes);
            }
        })
        .await
        .unwrap();
    assert_eq!(code, 0);
    assert!(seen == expected, "five megabytes come back as they went");
    expected.clear();

    // The failure contains tar's message, and the channel still works.
    let failure = channel.update(&files(&[("/proc/nothing/here", 0o644, b"x")])).await.unwrap_err();
    assert_eq!(failure.class(), Class::User);
    assert!(failure.detail.as_deref().unwrap_or_default().contains("proc/nothing"), "{failure}");
    let big = vec![b'x'; 600_000];
    channel.update(&files(&[("/proc/nothing/big", 0o644, &big)])).await.unwrap_err();
    let (code, stdout, _) = shell(&mut channel, "echo still here").await;
    assert_eq!((code, stdout.as_str()), (0, "still here\n"));
}

/// Files, directories with their modes, and links. As a watcher reports it, a directory in the place of something
/// else is removed first, a file is not.
async fn everything_takes_the_place_of_everything(channel: &mut LiveChannel) {
    let put = |path: &str, content: Content| Put { path: path.to_owned(), modified: MODIFIED, content };
    let file = |path: &str| put(path, Content::File { mode: 0o644, bytes: path.as_bytes().to_vec().into() });
    let directory = |path: &str, mode: u32| put(path, Content::Directory { mode });
    let link = |path: &str, target: &str| put(path, Content::Link { target: target.to_owned() });
    let look = "cd /place && for p in $(find . ! -name . | sort); do if [ -L $p ]; then echo $p to $(readlink $p); \
        elif [ -d $p ]; then echo $p $(stat -c %a $p); else echo $p is $(cat $p); fi; done";
    let puts = vec![
        directory("/place/a", 0o555),
        file("/place/a/in"),
        file("/place/b"),
        directory("/place/c", 0o2775),
        link("/place/d", "a"),
        directory("/place/e", 0o700),
        file("/place/e/in"),
    ];
    channel.update(&Changes::new(Vec::new(), puts)).await.unwrap();
    let (_, seen, _) = shell(channel, look).await;
    let expected = "./a 555\n./a/in is /place/a/in\n./b is /place/b\n./c 2775\n./d to a\n./e 700\n./e/in is /place/e/in\n";
    assert_eq!(seen, expected);

    // Only the mode changes: the content stays.
    channel.update(&Changes::new(Vec::new(), vec![directory("/place/e", 0o1777)])).await.unwrap();
    let (_, seen, _) = shell(channel, look).await;
    assert_eq!(seen, expected.replace("e 700", "e 1777"));

    let puts = vec![
        file("/place/a"),
        directory("/place/b", 0o711),
        file("/place/b/in"),
        link("/place/c", "b/in"),
        directory("/place/d", 0o750),
        file("/place/d/in"),
        link("/place/e", "nowhere"),
    ];
    channel.update(&Changes::new(words(&["/place/b", "/place/d"]), puts)).await.unwrap();
    let (_, seen, _) = shell(channel, look).await;
    let expected = "./a is /place/a\n./b 711\n./b/in is /place/b/in\n./c to b/in\n./d 750\n./d/in is /place/d/in\n\
        ./e to nowhere\n";
    assert_eq!(seen, expected);

    let puts = vec![link("/place/a", "b"), file("/place/c"), file("/place/e")];
    channel.update(&Changes::new(Vec::new(), puts)).await.unwrap();
    let (_, seen, _) = shell(channel, "cd /place && readlink a && cat c e b/in").await;
    assert_eq!(seen, "b\n/place/c/place/e/place/b/in");
}

#[tokio::test]
async fn everything_works_in_busybox() {
    everything_works("busybox", SHELL).await;
}

#[tokio::test]
async fn everything_works_in_debian() {
    everything_works("debian:bookworm-slim", SHELL).await;
}

#[tokio::test]
async fn everything_works_in_busybox_with_an_uploaded_agent() {
    everything_works("busybox", UPLOADED_AGENT).await;
}

#[tokio::test]
async fn everything_works_in_debian_with_an_uploaded_agent() {
    everything_works("debian:bookworm-slim", UPLOADED_AGENT).await;
}

/// As a user who may write almost nowhere, and where most directories are mounted noexec.
#[tokio::test]
async fn agent_is_uploaded_where_possible_and_leaves_nothing() {
    let space = Space::new("uploaded").await;
    let mut object = space::pod("main", "busybox", "trap 'exit 0' TERM; sleep 100000 & wait");
    object["spec"]["securityContext"] = json!({"runAsUser": 1234, "runAsNonRoot": true});
    object["spec"]["volumes"] = json!([{"name": "app", "emptyDir": {}}, {"name": "other", "emptyDir": {}}]);
    let container = &mut object["spec"]["containers"][0];
    container["securityContext"] = json!({"readOnlyRootFilesystem": true});
    container["volumeMounts"] = json!([{"name": "app", "mountPath": "/srv/it's an app"}]);
    container["env"] = json!([{"name": "lilt", "value": "its own"}, {"name": "M", "value": "mine"}]);
    container["workingDir"] = json!("/etc");
    let mut watch = space.watch();
    space.apply(object).await;
    let pod = space::until_pod(&mut watch, running).await.reference();
    let folders = words(&["/nowhere", "/etc", "/srv/it's an app"]);
    let uploaded =
        LiveTransport::Shell(Some(AgentUpload { program: lilt_agent_image::program, folders: &folders }));
    let mut channel = LiveChannel::open(&space.cluster, &pod, "main", uploaded).await.unwrap();
    // /dev/shm is writable but noexec.
    let look = "ls -A /dev/shm \"/srv/it's an app\"; \
        cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q '[0-9a-f] serve --guest' && echo serves";
    let nothing = "/dev/shm:\n\n/srv/it's an app:\n";
    assert_eq!(shell(&mut channel, look).await.1, format!("{nothing}serves\n"));
    assert_eq!(shell(&mut channel, "id -u; pwd; echo $lilt $M").await.1, "1234\n/etc\nits own mine\n");

    // Unlike tar, the agent names the whole path, and changes nothing.
    let changes = files(&[("/srv/it's an app/a", 0o664, b"x"), ("/etc/hosts2", 0o644, b"x")]);
    let failure = channel.update(&changes).await.unwrap_err();
    assert!(failure.to_string().contains("Read-only"), "{failure}");
    assert_eq!(shell(&mut channel, look).await.1, format!("{nothing}serves\n"));
    channel.update(&files(&[("/srv/it's an app/a", 0o664, b"x")])).await.unwrap();
    assert_eq!(shell(&mut channel, "stat -c %a \"/srv/it's an app/a\"").await.1, "664\n");
    let failure = channel.restart().await.unwrap_err();
    assert!(failure.message.contains("cannot be started anew"), "{failure}");
    drop(channel);
    let mut tools = LiveChannel::open(&space.cluster, &pod, "main", SHELL).await.unwrap();
    let gone = async { while shell(&mut tools, look).await.1 != "/dev/shm:\n\n/srv/it's an app:\na\n" {} };
    tokio::time::timeout(space::DEADLINE, gone).await.expect("it ends by itself");
}

/// Cancelled at any point of the upload.
#[tokio::test]
async fn cancelled_agent_upload_leaves_nothing() {
    let space = Space::new("off").await;
    let mut tools = open(&space, "busybox", SHELL).await;
    let pod = space.pod("main");
    let mut opened = 0;
    for milliseconds in (0..400).step_by(8) {
        let opening = LiveChannel::open(&space.cluster, &pod, "main", UPLOADED_AGENT);
        let limit = std::time::Duration::from_millis(milliseconds);
        opened += usize::from(tokio::time::timeout(limit, opening).await.is_ok());
    }
    assert!(opened < 50, "some are called off");
    // The searching shell is the only one.
    let look = "ls -A /tmp; grep -l 'lilt_bloc[k]() \\|agent-[0-9a-f]*.serv[e]' /proc/[0-9]*/cmdline 2>/dev/null | wc -l";
    let gone = async { while shell(&mut tools, look).await.1.trim() != "1" {} };
    tokio::time::timeout(space::DEADLINE, gone).await.expect("nothing is left");
}

/// Where no program can be started, or there is no agent for the architecture, tar is used.
#[tokio::test]
async fn shell_is_used_where_no_agent_can_be_uploaded() {
    fn none(_: &str) -> Option<&'static [u8]> {
        None
    }
    fn broken(_: &str) -> Option<&'static [u8]> {
        Some(b"\x7fELF that is none")
    }
    let space = Space::new("noguest").await;
    drop(open(&space, "busybox", SHELL).await);
    for program in [none, broken] {
        let transport = LiveTransport::Shell(Some(AgentUpload { program, folders: &[] }));
        let mut channel =
            LiveChannel::open(&space.cluster, &space.pod("main"), "main", transport).await.unwrap();
        channel.update(&files(&[("/app/a", 0o666, b"x")])).await.unwrap();
        let (_, listing, _) = shell(&mut channel, "stat -c %a /app/a; ls -A /tmp; echo").await;
        assert_eq!(listing, "666\n\n");
        let loops = "grep -l 'lilt_bloc[k]() ' /proc/[0-9]*/cmdline 2>/dev/null | wc -l";
        assert_ne!(shell(&mut channel, loops).await.1.trim(), "0");
    }
}

#[tokio::test]
async fn output_arrives_while_the_command_runs() {
    let space = Space::new("stream").await;
    let mut channel = open(&space, "busybox", SHELL).await;
    let pod = space.pod("main");
    let mut other = LiveChannel::open(&space.cluster, &pod, "main", SHELL).await.unwrap();
    // The first command only ends when the second one, started after its output was seen, creates a file.
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let command = words(&["sh", "-c", "echo started; until [ -e /go ]; do sleep 0.01; done"]);
    let first = channel.run(&command, |_| {
        let _ = sender.send(());
    });
    let second = async {
        seen.recv().await.expect("output comes before the end");
        other.update(&files(&[("/go", 0o644, b"")])).await.unwrap();
    };
    let both = async { tokio::join!(first, second) };
    let (code, ()) = tokio::time::timeout(space::DEADLINE, both).await.expect("both end");
    assert_eq!(code.unwrap(), 0);
}

#[tokio::test]
async fn nothing_is_left_in_the_container_when_dropped() {
    let space = Space::new("dropped").await;
    let channel = open(&space, "busybox", SHELL).await;
    let pod = space.pod("main");
    let mut other = LiveChannel::open(&space.cluster, &pod, "main", SHELL).await.unwrap();
    // The command lines of the scripts, without the search itself.
    let count = "grep -l 'lilt_bloc[k]() ' /proc/[0-9]*/cmdline 2>/dev/null | wc -l";
    assert_eq!(shell(&mut other, count).await.1.trim(), "2");
    drop(channel);
    let ended = async { while shell(&mut other, count).await.1.trim() != "1" {} };
    tokio::time::timeout(space::DEADLINE, ended).await.expect("the dropped channel's shell ends by itself");
}

#[tokio::test]
async fn cancelled_request_breaks_the_channel() {
    let space = Space::new("cancel").await;
    let mut channel = open(&space, "busybox", SHELL).await;
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    {
        let command = words(&["sh", "-c", "echo started; sleep 1000"]);
        let run = channel.run(&command, |_| {
            let _ = sender.send(());
        });
        tokio::select! {
            _ = run => panic!("it sleeps"),
            _ = seen.recv() => {}
        }
    }
    let failure = channel.update(&removals(&["/x"])).await.unwrap_err();
    assert!(failure.message.contains("lost the live update channel"), "{failure}");
}

#[tokio::test]
async fn deleted_pod_breaks_the_channel() {
    let space = Space::new("broken").await;
    let mut channel = open(&space, "busybox", SHELL).await;
    space.cluster.delete(&[space::pod("main", "", "")], Some(space::DEADLINE)).await.unwrap();
    // The container outlives the object by a moment.
    let broken = async {
        loop {
            if let Err(failure) = channel.update(&removals(&["/x"])).await {
                return failure;
            }
        }
    };
    let failure = tokio::time::timeout(space::DEADLINE, broken).await.expect("the channel breaks");
    assert_eq!(failure.class(), Class::Environment, "{failure}");
    let failure = LiveChannel::open(&space.cluster, &space.pod("main"), "main", SHELL).await.unwrap_err();
    assert!(failure.message.contains("gone"), "{failure}");
}

#[tokio::test]
async fn permission_denied_names_the_fault() {
    let space = Space::new("nonroot").await;
    let mut object = space::pod("main", "busybox", "sleep 100000");
    object["spec"]["securityContext"] = json!({"runAsUser": 1234, "runAsNonRoot": true});
    let mut watch = space.watch();
    space.apply(object).await;
    let pod = space::until_pod(&mut watch, running).await;
    let mut channel = LiveChannel::open(&space.cluster, &pod.reference(), "main", SHELL).await.unwrap();
    let failure = channel.update(&files(&[("/etc/hosts2", 0o644, b"x")])).await.unwrap_err();
    assert!(failure.to_string().contains("Permission denied"), "{failure}");
    assert!(failure.hint.is_some());
}

#[tokio::test]
async fn container_without_shell_fails() {
    let space = Space::new("noshell").await;
    let mut object = space::pod("main", "registry.invalid/none", "");
    object["spec"]["containers"][0] = json!({"name": "main", "image": PAUSE});
    let mut watch = space.watch();
    space.apply(object).await;
    let pod =
        space::until_pod(&mut watch, |pod| matches!(pod.containers[0].state, ContainerState::Running { .. }))
            .await;
    let failure = LiveChannel::open(&space.cluster, &pod.reference(), "main", SHELL).await.unwrap_err();
    assert!(failure.message.contains("needs `sh`"), "{failure}");
}
