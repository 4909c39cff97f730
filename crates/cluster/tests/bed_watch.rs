//! Pods, their owners and statuses, and notices about them.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use std::time::Duration;

use futures_util::StreamExt;
use lilt_cluster::NamespaceEvent;
use lilt_model::cluster::{ContainerState, PodPhase, Subject};
use serde_json::{Value, json};
use space::{Space, next, pod, until_pod};

fn deployment(name: &str, image: &str, command: &str) -> Value {
    let mut template = pod(name, image, command);
    let mut spec = template["spec"].take();
    spec["restartPolicy"] = "Always".into();
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name, "tilt.dev/pod-template-hash": "abc"}}, "spec": spec}}})
}

#[tokio::test]
async fn deployment_becomes_ready_and_owns_its_pod() {
    let space = Space::new("watch").await;
    let mut watch = space.watch();
    assert_eq!(next(&mut watch, "the first list").await, NamespaceEvent::PodsListed(Vec::new()));
    let applied = space.apply(deployment("web", "busybox", "sleep 1000")).await;
    let pod = until_pod(&mut watch, |pod| pod.ready).await;
    assert_eq!(pod.owners.len(), 2, "{pod:?}");
    assert_eq!(pod.owners[1], applied.uid);
    assert!(pod.nearest_owner.as_deref().unwrap().starts_with("web-"), "{pod:?}");
    assert_eq!(pod.template_hash.as_deref(), Some("abc"));
    assert_eq!(
        (pod.phase, pod.status.as_str(), pod.message.as_deref()),
        (PodPhase::Running, "Running", None)
    );
    let container = &pod.containers[0];
    assert!(container.id.is_some() && container.ready, "{container:?}");
    assert!(matches!(container.state, ContainerState::Running { .. }));

    // A later watch has it in its list, including owners.
    let mut second = space.watch();
    // Events are another list: either may arrive first.
    let pods = loop {
        if let NamespaceEvent::PodsListed(pods) = next(&mut second, "the list").await {
            break pods;
        }
    };
    assert_eq!((pods[0].uid.clone(), pods[0].owners.clone()), (pod.uid.clone(), pod.owners.clone()));

    space.cluster.delete(&[deployment("web", "", "")], None).await.unwrap();
    let gone = async {
        loop {
            if let NamespaceEvent::PodGone(gone) = next(&mut watch, "the pod to go").await {
                return gone;
            }
        }
    };
    assert_eq!(tokio::time::timeout(space::DEADLINE, gone).await.unwrap(), pod.reference());
}

#[tokio::test]
async fn crash_loop_is_reported() {
    let space = Space::new("crash").await;
    let mut watch = space.watch();
    space.apply(deployment("crash", "busybox", "exit 3")).await;
    let pod = until_pod(&mut watch, |pod| pod.status == "CrashLoopBackOff").await;
    assert!(pod.message.as_deref().unwrap_or_default().contains("back-off"), "{pod:?}");
    assert!(pod.restarts() >= 1);
}

/// Without waiting for Kubernetes' back-off; a running pod is not replaced.
#[tokio::test]
async fn crashed_pod_is_replaced_on_request() {
    let space = Space::new("replaced").await;
    let mut watch = space.watch();
    space.apply(deployment("crash", "busybox", "exit 3")).await;
    space.apply(deployment("good", "busybox", "sleep 1000")).await;
    let good = until_pod(&mut watch, |pod| pod.name.starts_with("good") && pod.ready).await.reference();
    // Longer than the interval of the checks.
    let crashed = until_pod(&mut watch, |pod| pod.status == "CrashLoopBackOff" && pod.restarts() >= 2).await;
    let both = [crashed.reference(), good];
    assert_eq!(space.cluster.replace_crashed(&both, true).await.unwrap(), [], "others come anyway");
    let replaced = space.cluster.replace_crashed(&both, false).await.unwrap();
    assert_eq!(replaced, [crashed.reference()]);
    until_pod(&mut watch, |pod| pod.name.starts_with("crash") && pod.uid != crashed.uid).await;
}

#[tokio::test]
async fn missing_image_is_reported_in_status_and_notice() {
    let space = Space::new("pull").await;
    let mut watch = space.watch();
    space.apply(pod("main", "localhost:5000/no/such:image", "true")).await;
    let (mut status, mut notice) = (None, None);
    let search = async {
        while status.is_none() || notice.is_none() {
            match watch.next().await.unwrap() {
                NamespaceEvent::PodChanged(pod)
                    if pod.status == "ErrImagePull" || pod.status == "ImagePullBackOff" =>
                {
                    status = pod.message;
                }
                NamespaceEvent::Notice(one) if one.warning => notice = Some(one),
                _ => {}
            }
        }
    };
    tokio::time::timeout(space::DEADLINE, search).await.expect("status and notice come");
    assert!(status.unwrap().contains("no/such"), "the message names the image");
    let notice = notice.unwrap();
    assert_eq!((notice.pod().map(|pod| pod.name.as_str()), notice.reason.as_str()), (Some("main"), "Failed"));
}

#[tokio::test]
async fn ended_pod_is_completed() {
    let space = Space::new("done").await;
    let pod = space.start("busybox", "true", |pod| pod.phase == PodPhase::Succeeded).await;
    assert_eq!(pod.status, "Completed");
    assert!(matches!(pod.containers[0].state, ContainerState::Terminated { exit_code: 0, .. }), "{pod:?}");
}

#[tokio::test]
async fn init_and_unschedulable_status_is_explained() {
    let space = Space::new("init").await;
    let mut watch = space.watch();
    let mut waiting = pod("waiting", "busybox", "sleep 1000");
    waiting["spec"]["initContainers"] =
        json!([{"name": "first", "image": "busybox", "command": ["sleep", "1000"]}]);
    let mut nowhere = pod("nowhere", "busybox", "true");
    nowhere["spec"]["nodeSelector"] = json!({"no-such": "node"});
    space.cluster.apply(&[waiting, nowhere], space::DEADLINE).await.unwrap();
    let pod = until_pod(&mut watch, |pod| {
        pod.name == "waiting" && pod.status == "Init:0/1" && pod.containers[0].id.is_some()
    })
    .await;
    assert!(pod.containers[0].init && !pod.containers[1].init);
    let mut watch = space.watch();
    let pod = until_pod(&mut watch, |pod| pod.name == "nowhere" && pod.message.is_some()).await;
    assert_eq!(pod.status, "Pending");
    assert!(pod.message.unwrap().contains("0/1 nodes are available"));
}

#[tokio::test]
async fn old_notices_are_not_sent() {
    let space = Space::new("notices").await;
    let first = space.start("busybox", "sleep 1000", space::running).await;
    // Event times are whole seconds.
    let now = first.conditions.iter().map(|it| it.since).max().unwrap().plus(Duration::from_secs(1));
    let mut watch = space.cluster.watch_namespace(&space.name, now);
    next(&mut watch, "the list").await;
    space.apply(pod("second", "busybox", "sleep 1000")).await;
    let mut told = Vec::new();
    let search = async {
        loop {
            if let NamespaceEvent::Notice(notice) = watch.next().await.unwrap() {
                told.extend(notice.pod().map(|pod| pod.name.clone()));
                if notice.reason == "Started" {
                    return;
                }
            }
        }
    };
    tokio::time::timeout(space::DEADLINE, search).await.expect("the second pod's start is told");
    assert!(!told.contains(&first.name), "{told:?}");
    assert!(told.contains(&"second".to_owned()));
}

#[tokio::test]
async fn failed_pod_creation_is_reported_with_its_owner() {
    let space = Space::new("refusal").await;
    let mut web = deployment("web", "busybox", "sleep 1000");
    web["spec"]["template"]["spec"]["serviceAccountName"] = json!("absent");
    let applied = space.apply(web).await;
    // A later watch reports it, too.
    for _ in 0..2 {
        let mut watch = space.watch();
        let search = async {
            loop {
                let NamespaceEvent::Notice(notice) = watch.next().await.unwrap() else { continue };
                if let Subject::Object { object, uids } = &notice.about
                    && object.kind == "ReplicaSet"
                {
                    return (notice.reason.clone(), notice.message.clone(), uids.clone());
                }
            }
        };
        let (reason, message, uids) =
            tokio::time::timeout(space::DEADLINE, search).await.expect("the refusal is told");
        assert_eq!(reason, "FailedCreate");
        assert!(message.contains("serviceaccount \"absent\" not found"), "{message}");
        assert_eq!(uids.last(), Some(&applied.uid), "{uids:?}");
    }
}
