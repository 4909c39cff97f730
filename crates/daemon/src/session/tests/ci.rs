//! How `ci` ends.

use lilt_engine::Deployed;
use lilt_model::cluster::{ClusterInfo, Container, ContainerState, Pod, PodPhase, RestartPolicy};
use lilt_model::kubernetes::{KubernetesResource, ObjectRef, PodReadiness};
use lilt_model::{ClusterName, ContainerId, Uid};

use super::*;

/// A pod of the resource `job` that runs, or has failed.
fn pod(phase: PodPhase) -> Event {
    let (status, state) = match phase {
        PodPhase::Failed => {
            let (reason, message) = ("Error".to_owned(), String::new());
            let (started, finished) = (None, Timestamp(2));
            ("Error", ContainerState::Terminated { exit_code: 3, reason, message, started, finished })
        }
        _ => ("Running", ContainerState::Running { since: Timestamp(1) }),
    };
    let container = Container {
        name: "main".to_owned(),
        init: false,
        id: Some(ContainerId::new("containerd://1")),
        previous: None,
        previous_exit: None,
        image: "job".to_owned(),
        agent: false,
        ports: Vec::new(),
        state,
        ready: phase == PodPhase::Running,
        restarts: 0,
        restart_policy: RestartPolicy::default(),
    };
    let pod = Pod {
        cluster: ClusterName::default(),
        namespace: "default".to_owned(),
        name: "job-1".to_owned(),
        uid: Uid::from("uid-job-1".to_owned()),
        owners: vec![Uid::from("uid-job".to_owned())],
        nearest_owner: None,
        owner_kind: None,
        owner_created: None,
        template_hash: None,
        labels: [].into(),
        created: Timestamp(1),
        deleting: false,
        phase,
        ready: phase == PodPhase::Running,
        status: status.to_owned(),
        message: None,
        conditions: Vec::new(),
        containers: vec![container],
    };
    Event::PodChanged { pod: Box::new(pod) }
}

/// Starts a `ci` session whose job runs. Returns it with the task that reads its logs.
async fn ci_with_job() -> (Fixture, RunningTask) {
    let object = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}});
    let kubernetes = KubernetesResource {
        objects: vec![object.clone()],
        pod_readiness: PodReadiness::Succeeded,
        apply_timeout_secs: 30,
        ..KubernetesResource::default()
    };
    let resource = Resource { body: Body::Kubernetes(kubernetes), ..local("job") };
    let mut fixture = Fixture::loaded(Mode::Ci, project(vec![resource])).await;
    let info = Box::new(ClusterInfo { namespace: "default".to_owned(), ..ClusterInfo::default() });
    fixture.send(Event::ClusterConnected { cluster: ClusterName::default(), info }).await;
    let update = fixture.next_update().await;
    let mut reference = ObjectRef::of(&object).expect("it is complete");
    reference.namespace = "default".to_owned();
    let objects = vec![(reference, Uid::from("uid-job".to_owned()))];
    let deployed = Deployed { objects, marks: vec!["mark".to_owned()], ..Deployed::default() };
    let outcome = UpdateOutcome { deployed: Some(deployed), ..UpdateOutcome::success() };
    fixture.send(ended(&update, outcome)).await;
    update.finish();
    fixture.send(pod(PodPhase::Running)).await;
    let logs = loop {
        let task = fixture.next_started().await;
        if matches!(task.task, Task::LogStream { .. }) {
            break task;
        }
    };
    (fixture, logs)
}

#[tokio::test(start_paused = true)]
async fn ci_ends_when_every_resource_is_ready() {
    let mut fixture = Fixture::loaded(Mode::Ci, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    fixture.send(ended(&update, UpdateOutcome::success())).await;
    update.finish();
    assert_eq!(fixture.outcome.await.unwrap(), SessionOutcome::Verdict(Verdict::Ready));
}

#[tokio::test(start_paused = true)]
async fn ci_ends_with_the_first_failure() {
    let mut fixture = Fixture::loaded(Mode::Ci, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    fixture.send(ended(&update, UpdateOutcome::failed(Failure::user("no luck")))).await;
    update.finish();
    let outcome = fixture.outcome.await.unwrap();
    let SessionOutcome::Verdict(Verdict::Broken { resource, cause }) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(resource.as_str(), "web");
    assert!(cause.contains("no luck"), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn ci_reads_the_logs_of_a_failed_job_before_it_ends_other_tasks() {
    let (fixture, logs) = ci_with_job().await;
    fixture.send(pod(PodPhase::Failed)).await;
    logs.cancel.cancelled().await;
    idle().await;
    assert!(!fixture.shutdown.is_cancelled() && !fixture.outcome.is_finished());
    logs.finish();
    let outcome = fixture.outcome.await.unwrap();
    assert!(matches!(outcome, SessionOutcome::Verdict(Verdict::Broken { .. })), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn ci_waits_for_final_logs_for_a_limited_time() {
    let (fixture, logs) = ci_with_job().await;
    fixture.send(pod(PodPhase::Failed)).await;
    logs.cancel.cancelled().await;
    let begin = Instant::now();
    fixture.shutdown.cancelled().await;
    assert_eq!(begin.elapsed().as_secs(), FINAL_LOGS_TIMEOUT.as_secs());
    logs.finish();
    fixture.outcome.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn interrupted_ci_does_not_wait_for_final_logs() {
    let (fixture, logs) = ci_with_job().await;
    fixture.send(pod(PodPhase::Failed)).await;
    logs.cancel.cancelled().await;
    let begin = Instant::now();
    fixture.cancel.cancel();
    fixture.shutdown.cancelled().await;
    assert!(begin.elapsed() < FINAL_LOGS_TIMEOUT);
    logs.finish();
    fixture.outcome.await.unwrap();
}
