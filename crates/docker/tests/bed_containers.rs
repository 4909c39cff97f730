//! Containers of the bed's engine, as live updates change them where the engine is the cluster's.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests use this machine's processes; what cannot be is a bug of the test"
)]

#[path = "support/bed.rs"]
mod bed;

use std::process::Command;

use bytes::Bytes;
use lilt_docker::{Heard, Rights};

/// Ended and removed with the test.
struct Container(String);

impl Container {
    fn start(options: &[&str]) -> Self {
        let words = [&["run", "--detach"][..], options, &["busybox", "sleep", "100000"]].concat();
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
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().into()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn files_are_put_and_commands_run_and_told() {
    let engine = bed::engine();
    // Somebody who may write nowhere there.
    let container = Container::start(&["--user", "1234"]);
    assert_eq!(
        engine.rights(&container.0).await.unwrap(),
        Some(Rights { is_root: false, is_read_only: false })
    );
    engine.put_archive(&container.0, archive(&[("srv/www/index.html", "one")])).await.unwrap();
    engine
        .put_archive(&container.0, archive(&[("srv/www/index.html", "two"), ("srv/b", "b")]))
        .await
        .unwrap();

    let mut heard = Vec::new();
    let tell = |it: Heard<'_>| match it {
        Heard::Output(bytes) => heard.push((1, String::from_utf8_lossy(bytes).into_owned())),
        Heard::Errors(bytes) => heard.push((2, String::from_utf8_lossy(bytes).into_owned())),
    };
    let line = words(&["sh", "-c", "stat -c '%a %s' /srv/www/index.html; id -u >&2; exit 7"]);
    assert_eq!(engine.execute_telling(&container.0, &line, None, tell).await.unwrap(), 7);
    // Two streams: which of them is read first is chance.
    heard.sort();
    assert_eq!(heard, [(1, "640 3\n".to_owned()), (2, "1234\n".to_owned())]);

    let removal = words(&["rm", "-rf", "--", "/srv/b"]);
    let removed = engine.execute(&container.0, &removal, None).await.unwrap();
    assert_eq!(removed.code, 1, "it is root's, as it is told: {removed:?}");
    assert!(String::from_utf8_lossy(&removed.errors).contains("Permission denied"), "{removed:?}");
}

#[tokio::test]
async fn what_cannot_be_changed_says_why() {
    let engine = bed::engine();
    let container = Container::start(&["--read-only"]);
    let rights = Rights { is_root: true, is_read_only: true };
    assert_eq!(engine.rights(&container.0).await.unwrap(), Some(rights));
    let failure = engine.put_archive(&container.0, archive(&[("srv/a", "a")])).await.unwrap_err().to_string();
    assert!(failure.contains("read-only"), "{failure}");
    let id = container.0.clone();
    drop(container);
    assert_eq!(engine.rights(&id).await.unwrap(), None);
    let failure = engine.put_archive(&id, archive(&[("srv/a", "a")])).await.unwrap_err().to_string();
    assert!(failure.contains("No such container"), "{failure}");
}
