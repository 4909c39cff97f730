//! Changes containers of the test bed's engine, as live updates do where cluster and engine are the same.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests use this machine's processes; what cannot be is a bug of the test"
)]

#[path = "support/bed.rs"]
mod bed;

use std::process::Command;

use bytes::Bytes;
use lilt_docker::{Access, Engine, ExecOutput};
use lilt_model::Timestamp;

/// Killed and removed with the test.
struct Container(String);

impl Container {
    fn start(options: &[&str]) -> Self {
        Self::run(&[options, &["busybox", "sleep", "100000"]].concat())
    }

    fn run(words: &[&str]) -> Self {
        let words = [&["run", "--detach"][..], words].concat();
        let output = Command::new("docker").args(words).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        drop(Command::new("docker").args(["rm", "--force", &self.0]).output());
    }
}

fn archive(files: &[(&str, &str)]) -> Bytes {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o640);
        header.set_mtime(981_173_106);
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().into()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Returns the output of a shell command in a container.
async fn told(engine: &Engine, container: &Container, line: &str) -> String {
    let executed = engine.execute(&container.0, &words(&["sh", "-c", line]), None).await.unwrap();
    assert_eq!(executed.code, 0, "{line}: {executed:?}");
    String::from_utf8(executed.stdout).unwrap()
}

/// A user without write permission still gets files, as their owner.
#[tokio::test]
async fn files_belong_to_the_containers_user() {
    let engine = bed::engine();
    for (user, owner) in [("1234:99", "1234 99"), ("nobody", "65534 65534"), ("0", "0 0")] {
        let container = Container::start(&["--user", user]);
        assert_eq!(engine.access(&container.0).await.unwrap(), Access::Writable);
        let put = |files| engine.put_archive(&container.0, archive(files));
        put(&[("srv/www/index.html", "one")]).await.unwrap();
        put(&[("srv/www/index.html", "two"), ("srv/b", "b")]).await.unwrap();
        let line = "stat -c '%a %s %Y %u %g' /srv/www/index.html; cat /srv/www/index.html /srv/b";
        assert_eq!(told(&engine, &container, line).await, format!("640 3 981173106 {owner}\ntwob"), "{user}");
    }
}

/// The user names exist only in the container, not on the engine's host.
#[tokio::test]
async fn user_name_is_resolved_in_the_container() {
    let engine = bed::engine();
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("Dockerfile", "FROM busybox\nCOPY passwd group /etc/\n"),
        ("passwd", "root:x:0:0::/:/bin/sh\nlilt-wanderer:x:4242:4343::/:/bin/sh\n"),
        ("group", "root:x:0:\nlilt-folk:x:4343:\nlilt-staff:x:77:\n"),
    ];
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    let built = Command::new("docker").args(["build", "--quiet"]).arg(folder.path()).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let image = String::from_utf8(built.stdout).unwrap().trim().to_owned();
    let users = [
        ("lilt-wanderer", "4242 4343"),
        ("lilt-wanderer:lilt-staff", "4242 77"),
        ("4242", "4242 4343"),
        ("4242:5", "4242 5"),
        ("1234", "1234 0"),
    ];
    for (user, owner) in users {
        let container = Container::run(&["--user", user, &image, "sleep", "100000"]);
        engine.put_archive(&container.0, archive(&[("srv/a", "a")])).await.unwrap();
        let told = told(&engine, &container, "stat -c '%u %g' /srv/a").await;
        assert_eq!(told, format!("{owner}\n"), "{user}");
    }
    drop(Command::new("docker").args(["image", "rm", &image]).output());
}

#[tokio::test]
async fn command_output_is_streamed() {
    let engine = bed::engine();
    let container = Container::start(&["--user", "1234", "--workdir", "/etc"]);
    let mut heard = Vec::new();
    let tell = |it: ExecOutput<'_>| match it {
        ExecOutput::Stdout(bytes) => heard.push((1, String::from_utf8_lossy(bytes).into_owned())),
        ExecOutput::Stderr(bytes) => heard.push((2, String::from_utf8_lossy(bytes).into_owned())),
    };
    let line = words(&["sh", "-c", "pwd; id -u >&2; exit 7"]);
    assert_eq!(engine.execute_streaming(&container.0, &line, None, tell).await.unwrap(), 7);
    // The order of the two streams is random.
    heard.sort();
    assert_eq!(heard, [(1, "/etc\n".to_owned()), (2, "1234\n".to_owned())]);
}

/// Also files of other owners: the engine wrote them, which ignores permissions.
#[tokio::test]
async fn paths_of_any_owner_are_removed() {
    let engine = bed::engine();
    let container = Container::start(&["--user", "1234"]);
    let files: Vec<String> = (0..1000).map(|number| format!("srv/a folder/it's {number}")).collect();
    let named: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), "x")).collect();
    engine.put_archive(&container.0, archive(&named)).await.unwrap();
    let mut paths: Vec<String> = files[1..].iter().map(|file| format!("/{file}")).collect();
    // One program and nothing else.
    paths.extend(words(&["/bin/wget", "/no/such/thing"]));
    engine.remove_paths(&container.0, &paths).await.unwrap();
    let left = told(&engine, &container, "find /srv -type f; ls /bin/wget 2>/dev/null; id -u").await;
    assert_eq!(left, "/srv/a folder/it's 0\n1234\n");

    let failure = engine.remove_paths(&container.0, &words(&["/proc/self/status"])).await.unwrap_err();
    assert!(failure.to_string().contains("/proc/self/status"), "{failure}");
}

/// Writing needs no program in the image; removing does, and the failure says so.
#[tokio::test]
async fn image_without_programs_takes_files() {
    let engine = bed::engine();
    let container = Container::run(&[&format!("{}/pause:dev", bed::registry())]);
    engine.put_archive(&container.0, archive(&[("srv/a", "a")])).await.unwrap();
    let failure = engine.remove_paths(&container.0, &words(&["/srv/a"])).await.unwrap_err().to_string();
    assert!(failure.contains("cannot remove files") && failure.contains("\"rm\""), "{failure}");
}

#[tokio::test]
async fn read_only_and_absent_containers_are_distinguished() {
    let engine = bed::engine();
    let container = Container::start(&["--read-only"]);
    assert_eq!(engine.access(&container.0).await.unwrap(), Access::ReadOnly);
    let failure = engine.put_archive(&container.0, archive(&[("srv/a", "a")])).await.unwrap_err().to_string();
    assert!(failure.contains("read-only"), "{failure}");
    let failure = engine.remove_paths(&container.0, &words(&["/bin/wget"])).await.unwrap_err().to_string();
    assert!(failure.contains("Read-only"), "{failure}");
    let id = container.0.clone();
    drop(container);
    assert_eq!(engine.access(&id).await.unwrap(), Access::Absent);
    let failure = engine.put_archive(&id, archive(&[("srv/a", "a")])).await.unwrap_err().to_string();
    assert!(failure.contains("No such container"), "{failure}");
}

#[tokio::test]
async fn readers_of_two_owners_do_not_interfere() {
    let engine = bed::engine();
    let image = engine.image_configuration("busybox").await.unwrap().unwrap();
    let first = engine.open_image(&image.id, "a test: first").await.unwrap();
    let second = engine.open_image(&image.id, "a test: second").await.unwrap();
    assert!(first.close().await.unwrap());
    assert!(second.find("/bin/sh").await.unwrap().is_some());
    assert!(second.close().await.unwrap());
}

#[tokio::test]
async fn reader_reports_removed_container() {
    let engine = bed::engine();
    let image = engine.image_configuration("busybox").await.unwrap().unwrap();
    let look = engine.open_image(&image.id, "a test: removed").await.unwrap();
    let same = engine.open_image(&image.id, "a test: removed").await.unwrap();
    assert!(same.close().await.unwrap());
    assert!(!look.close().await.unwrap(), "nothing that it found counts");
}

#[tokio::test]
async fn recent_readers_are_not_removed_as_abandoned() {
    let engine = bed::engine();
    let image = engine.image_configuration("busybox").await.unwrap().unwrap();
    let look = engine.open_image(&image.id, "a test: abandoned").await.unwrap();
    // Those of concurrent tests are younger.
    engine.remove_abandoned_readers(Timestamp(1_000_000)).await.unwrap();
    assert!(look.find("/bin/sh").await.unwrap().is_some());
    assert!(look.close().await.unwrap());
}
