//! Logs: complete, in order, each line once.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use futures_util::StreamExt;
use lilt_cluster::LogStream;
use lilt_model::Timestamp;
use lilt_model::cluster::{ContainerState, Pod, PodPhase};
use serde_json::json;
use space::{DEADLINE, Space};

/// Returns everything until the log ends.
async fn read_all(stream: LogStream) -> String {
    let all = stream.fold(Vec::new(), |mut all, chunk| async move {
        all.extend_from_slice(&chunk.unwrap_or_else(|failure| panic!("{failure}")).text);
        all
    });
    String::from_utf8(tokio::time::timeout(DEADLINE, all).await.expect("the log ends")).unwrap()
}

fn numbers(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

fn done(pod: &Pod) -> bool {
    pod.phase == PodPhase::Succeeded
}

#[tokio::test]
async fn ten_thousand_fast_lines_arrive_complete() {
    let space = Space::new("quick").await;
    let command = "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); echo line $i; done";
    let pod = space.start("busybox", command, |pod| pod.containers.iter().any(|one| one.id.is_some())).await;
    let log = read_all(space.cluster.follow_logs(&pod.reference(), "main", None, None)).await;
    assert_eq!(log.lines().count(), 10_000);
    assert_eq!(log, numbers(10_000));
}

#[tokio::test]
async fn log_of_ended_container_includes_partial_last_line() {
    let space = Space::new("ended").await;
    // stdout only: the node inserts stderr into a partial line.
    let pod = space.start("busybox", "echo first >&2; echo second >&2; printf 'no end' >&2", done).await;
    let log = read_all(space.cluster.follow_logs(&pod.reference(), "main", None, None)).await;
    assert_eq!(log, "first\nsecond\nno end");
}

#[tokio::test]
async fn follow_started_before_the_container_gets_all_lines() {
    let space = Space::new("early").await;
    let mut watch = space.watch();
    space.apply(space::pod("main", "busybox", "echo first; echo last")).await;
    let reference = space.pod("main");
    let log = read_all(space.cluster.follow_logs(&reference, "main", None, None)).await;
    assert_eq!(log, "first\nlast\n");
    space::until_pod(&mut watch, done).await;
}

#[tokio::test]
async fn since_excludes_earlier_lines() {
    let space = Space::new("since").await;
    let pod = space.start("busybox", "for i in 1 2 3; do echo $i; sleep 0.2; done", done).await;
    let mut stream = space.cluster.follow_logs(&pod.reference(), "main", None, None);
    let mut times: Vec<(String, Timestamp)> = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.unwrap();
        times.push((String::from_utf8(chunk.text.to_vec()).unwrap(), chunk.time));
    }
    let last = times.last().unwrap().1;
    let rest = read_all(space.cluster.follow_logs(&pod.reference(), "main", None, Some(last))).await;
    assert_eq!(rest, "");
    let before = Timestamp(last.0 - 100_000);
    let rest = read_all(space.cluster.follow_logs(&pod.reference(), "main", None, Some(before))).await;
    assert_eq!(rest, "3\n");
}

#[tokio::test]
async fn requested_run_is_read_after_a_restart() {
    let space = Space::new("restarted").await;
    let mut watch = space.watch();
    let mut object = space::pod("main", "busybox", "cat /proc/sys/kernel/random/uuid; echo end; exit 1");
    object["spec"]["restartPolicy"] = json!("OnFailure");
    space.apply(object).await;
    // The first restart is immediate and may precede the reading; later ones are seconds apart.
    let first = space::until_pod(&mut watch, |pod| {
        let one = pod.containers.first();
        one.is_some_and(|one| one.restarts == 1 && matches!(one.state, ContainerState::Terminated { .. }))
    })
    .await;
    let run = first.containers[0].id.clone().unwrap();
    let restarts = first.containers[0].restarts;
    let expected = read_all(space.cluster.follow_logs(&first.reference(), "main", Some(&run), None)).await;
    space::until_pod(&mut watch, |pod| {
        pod.containers[0].restarts == restarts + 1 && pod.containers[0].id.as_ref() != Some(&run)
    })
    .await;
    let previous = read_all(space.cluster.follow_logs(&first.reference(), "main", Some(&run), None)).await;
    assert!(expected.ends_with("end\n"), "{expected}");
    assert_eq!(previous, expected);
}

#[tokio::test]
async fn unreadable_log_fails_with_cause() {
    let space = Space::new("nolog").await;
    let mut stream = space.cluster.follow_logs(&space.pod("absent"), "main", None, None);
    let failure = space::next(&mut stream, "a failure").await.unwrap_err();
    assert!(failure.message.contains("absent"), "{failure}");
    let pod = space.start("busybox", "sleep 1000", space::running).await;
    let mut stream = space.cluster.follow_logs(&pod.reference(), "other", None, None);
    let failure = space::next(&mut stream, "a failure").await.unwrap_err();
    assert!(failure.message.contains("no container named other"), "{failure}");
}
