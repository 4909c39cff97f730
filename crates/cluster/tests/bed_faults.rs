//! Restarts the API server. One test, because it disturbs every other one on the test bed.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use std::collections::HashSet;

use futures_util::StreamExt;
use lilt_cluster::NamespaceEvent;
use space::{DEADLINE, Space, next, pod, running};

const LINES: usize = 1500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn api_server_restart_neither_loses_nor_duplicates_events() {
    let space = Space::new("faults").await;
    let mut watch = space.watch();
    let command = format!("i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo line $i; usleep 5000; done");
    space.apply(pod("writer", "busybox", &command)).await;
    let writer = space::until_pod(&mut watch, running).await;
    let mut log = space.cluster.follow_logs(&writer.reference(), "main", None, None);
    let mut text = next(&mut log, "the first lines").await.unwrap().text.to_vec();

    let restart = tokio::task::spawn_blocking(|| space::testbed(&["restart", "apiserver"]));
    let mut facts = Vec::new();
    let until_recovered = async {
        while !facts.contains(&NamespaceEvent::Recovered) {
            facts.push(watch.next().await.expect("a watch does not end"));
        }
    };
    tokio::time::timeout(DEADLINE, until_recovered).await.expect("the watch recovers");
    restart.await.expect("the API server restarts");
    let trouble = facts.iter().find_map(|fact| match fact {
        NamespaceEvent::Trouble(failure) => Some(failure),
        _ => None,
    });
    assert!(trouble.expect("trouble is told before recovery").message.contains("kind-lilt"), "{facts:?}");

    // New events arrive through the recovered watch.
    space.apply(pod("second", "busybox", "sleep 1000")).await;
    let until_started = async {
        loop {
            let fact = watch.next().await.expect("a watch does not end");
            let last = matches!(&fact, NamespaceEvent::Notice(notice) if notice.pod().is_some_and(|pod| pod.name == "second") && notice.reason == "Started");
            facts.push(fact);
            if last {
                return;
            }
        }
    };
    // The node may take a while to reconnect to the API server.
    tokio::time::timeout(DEADLINE * 3, until_started).await.expect("notices come after the restart");
    assert!(facts.iter().any(|fact| matches!(fact, NamespaceEvent::PodChanged(pod) if pod.name == "second")));
    let notices: Vec<_> = facts
        .iter()
        .filter_map(|fact| match fact {
            NamespaceEvent::Notice(notice) => {
                Some((notice.pod(), &notice.reason, &notice.message, notice.at))
            }
            _ => None,
        })
        .collect();
    let distinct: HashSet<_> = notices.iter().collect();
    assert_eq!(distinct.len(), notices.len(), "a notice came twice: {notices:?}");

    let rest = async {
        while let Some(chunk) = log.next().await {
            text.extend_from_slice(&chunk.unwrap_or_else(|failure| panic!("{failure}")).text);
        }
    };
    tokio::time::timeout(DEADLINE, rest).await.expect("the log ends with its container");
    let expected: String = (1..=LINES).map(|number| format!("line {number}\n")).collect();
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}
