use std::path::PathBuf;

use lilt_engine::{ApplyJob, ApplySource, Cause, CleanupReason, DeployJob, Leftovers};
use lilt_model::Timestamp;
use lilt_model::cluster::Delivery;
use lilt_model::kubernetes::KubernetesResource;
use lilt_model::settings::ServerSideApply;

use super::*;
use crate::test_support::{
    RunningTask, StartedTasks, TestRunner, idle, next_started, no_connections, test_runner,
};

struct Table {
    tasks: Tasks<TestRunner>,
    started: StartedTasks,
}

impl Table {
    fn new() -> Self {
        let (runner, started) = test_runner();
        Self { tasks: Tasks::new(runner, no_connections()), started }
    }

    fn plan(&mut self, section: &Section, tasks: impl IntoIterator<Item = Task>) {
        self.tasks.reconcile(section, tasks.into_iter().collect());
    }

    async fn next_started(&mut self) -> RunningTask {
        next_started(&mut self.started).await
    }

    async fn assert_nothing_starts(&mut self) {
        idle().await;
        assert!(self.started.try_recv().is_err());
    }

    /// Ends a task, and lets the table notice.
    async fn finish(&mut self, task: RunningTask) {
        task.finish();
        assert_eq!(self.tasks.next_ended().await, None);
    }
}

fn wake(seconds: i64) -> Task {
    Task::Wake { at: Timestamp(seconds * 1_000_000) }
}

/// A task that continues with other arguments.
fn load(number: u64, argument: &str) -> Task {
    Task::Load {
        tiltfile: ResourceName::tiltfile(),
        load: number,
        cause: Cause::Initial,
        path: PathBuf::from("/p/Tiltfile"),
        args: vec![argument.to_owned()],
        secrets: Vec::new(),
    }
}

fn deploy(resource: &str, update: u64) -> Task {
    let job = DeployJob {
        kubernetes: KubernetesResource::default(),
        images: Vec::new(),
        registry: None,
        platform: None,
        namespace: String::new(),
        delivered: Vec::new(),
        delivery: Delivery::Push,
        rerun: false,
        first: false,
        follows_command: false,
        crashing: Vec::new(),
        closed: Vec::new(),
        merge: ServerSideApply::Auto,
        unattended: false,
    };
    let job = Arc::new(UpdateJob::Deploy(Box::new(job)));
    Task::Update { resource: resource.into(), update, cause: Cause::Initial, job }
}

fn refused(resource: &str, update: u64) -> Task {
    let job = Arc::new(UpdateJob::Refused(Failure::user("no")));
    Task::Update { resource: resource.into(), update, cause: Cause::Initial, job }
}

/// The apply of a `KubernetesApply` that logs to a resource.
fn apply(name: &str, resource: &str) -> Task {
    let job = ApplyJob {
        cluster: ClusterName::default(),
        source: ApplySource::Text(String::new()),
        images: Vec::new(),
        locators: Vec::new(),
        timeout: None,
        merge: ServerSideApply::Auto,
        resource: resource.into(),
        unattended: false,
    };
    Task::Apply { name: name.to_owned(), run: 1, job: Arc::new(job) }
}

fn cleanup(number: u64, resource: &str) -> Task {
    let (resource, leftovers) = (resource.into(), Leftovers::default());
    Task::Cleanup { cleanup: number, resource, leftovers, reason: CleanupReason::Disabled }
}

fn owner(name: &str) -> Section {
    Section::Owner(Owner::Resource(name.into()))
}

#[tokio::test(start_paused = true)]
async fn replacement_starts_when_the_former_task_has_ended() {
    let mut table = Table::new();
    table.plan(&Section::Session, [wake(1)]);
    let former = table.next_started().await;
    table.plan(&Section::Session, [wake(2)]);
    assert!(former.is_cancelled());
    table.assert_nothing_starts().await;
    // Only the last of several replacements starts.
    table.plan(&Section::Session, [wake(3)]);
    table.assert_nothing_starts().await;
    table.finish(former).await;
    assert_eq!(table.next_started().await.task, wake(3));
}

#[tokio::test(start_paused = true)]
async fn replacement_that_is_not_planned_any_more_does_not_start() {
    let mut table = Table::new();
    table.plan(&Section::Session, [wake(1)]);
    let former = table.next_started().await;
    table.plan(&Section::Session, [wake(2)]);
    table.plan(&Section::Session, []);
    table.finish(former).await;
    table.assert_nothing_starts().await;
    assert!(table.tasks.is_idle());
}

#[tokio::test(start_paused = true)]
async fn cancelled_task_that_is_planned_again_restarts() {
    let mut table = Table::new();
    table.plan(&Section::Session, [wake(1)]);
    let former = table.next_started().await;
    table.plan(&Section::Session, []);
    assert!(former.is_cancelled() && table.tasks.is_stopping());
    table.plan(&Section::Session, [wake(1)]);
    table.finish(former).await;
    assert_eq!(table.next_started().await.task, wake(1));
}

#[tokio::test(start_paused = true)]
async fn continuing_task_is_fed_and_keeps_running() {
    let mut table = Table::new();
    table.plan(&Section::Session, [load(1, "a")]);
    let mut running = table.next_started().await;
    running.feed.mark_unchanged();
    table.plan(&Section::Session, [load(1, "a")]);
    assert!(!running.feed.has_changed().unwrap(), "nothing to tell it");
    table.plan(&Section::Session, [load(1, "b")]);
    assert!(running.feed.has_changed().unwrap() && !running.is_cancelled());
    assert_eq!(*running.feed.borrow_and_update(), load(1, "b"));
    table.plan(&Section::Session, [load(2, "b")]);
    assert!(running.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn task_that_ended_restarts_only_when_the_plan_has_another() {
    let mut table = Table::new();
    table.plan(&Section::Session, [wake(1)]);
    let running = table.next_started().await;
    table.finish(running).await;
    table.plan(&Section::Session, [wake(1)]);
    table.assert_nothing_starts().await;
    table.plan(&Section::Session, [wake(2)]);
    assert_eq!(table.next_started().await.task, wake(2));
}

#[tokio::test(start_paused = true)]
async fn task_that_ended_restarts_after_the_plan_has_lacked_it() {
    let mut table = Table::new();
    table.plan(&Section::Session, [wake(1)]);
    let running = table.next_started().await;
    table.finish(running).await;
    table.plan(&Section::Session, []);
    table.plan(&Section::Session, [wake(1)]);
    assert_eq!(table.next_started().await.task, wake(1));
}

#[tokio::test(start_paused = true)]
async fn sections_are_reconciled_independently() {
    let mut table = Table::new();
    table.plan(&owner("web"), [deploy("web", 1)]);
    table.plan(&Section::Session, [wake(1)]);
    let (web, session) = (table.next_started().await, table.next_started().await);
    table.plan(&owner("web"), []);
    assert!(web.is_cancelled() && !session.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn panic_of_a_task_is_reported_with_its_message() {
    let mut table = Table::new();
    table.plan(&Section::Session, [wake(1)]);
    let running = table.next_started().await;
    running.panic("index out of bounds");
    let (id, failure) = table.tasks.next_ended().await.expect("it panicked");
    assert_eq!(id, TaskId::Wake);
    assert_eq!(failure, Failure::internal("index out of bounds"));
    // As any other task that ended.
    table.plan(&Section::Session, [wake(1)]);
    table.assert_nothing_starts().await;
}

#[tokio::test(start_paused = true)]
async fn stop_all_cancels_every_task_and_starts_no_replacement() {
    let mut table = Table::new();
    table.plan(&owner("web"), [deploy("web", 1)]);
    table.plan(&Section::Session, [wake(1)]);
    let (web, session) = (table.next_started().await, table.next_started().await);
    table.plan(&Section::Session, [wake(2), cleanup(1, "web")]);
    table.tasks.stop_all();
    assert!(web.is_cancelled() && session.is_cancelled());
    table.finish(web).await;
    table.finish(session).await;
    table.assert_nothing_starts().await;
    assert!(table.tasks.is_idle() && !table.tasks.is_stopping());
}

#[tokio::test(start_paused = true)]
async fn stop_matching_leaves_the_others_running() {
    let mut table = Table::new();
    table.plan(&Section::Session, [wake(1), load(1, "a")]);
    let mut running = [table.next_started().await, table.next_started().await];
    running.sort_by_key(RunningTask::id);
    table.tasks.stop_matching(|id| matches!(id, TaskId::Load(_)));
    assert_eq!(running.each_ref().map(RunningTask::is_cancelled), [true, false]);
    assert!(table.tasks.is_stopping());
    let [load, wake] = running;
    table.finish(load).await;
    assert!(!table.tasks.is_stopping() && !wake.is_aborted());
}

#[tokio::test(start_paused = true)]
async fn abort_drops_tasks_that_do_not_end() {
    let mut table = Table::new();
    table.plan(&Section::Session, [wake(1)]);
    let stuck = table.next_started().await;
    table.tasks.stop_all();
    table.tasks.abort_all().await;
    assert!(stuck.is_aborted() && table.tasks.is_idle());
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_the_cancelled_update_of_its_resource() {
    let mut table = Table::new();
    table.plan(&owner("web"), [deploy("web", 1)]);
    table.plan(&owner("db"), [deploy("db", 1)]);
    let (web, _db) = (table.next_started().await, table.next_started().await);
    table.plan(&owner("web"), []);
    table.plan(&Section::Session, [cleanup(1, "web"), cleanup(2, "api")]);
    assert_eq!(table.next_started().await.id(), TaskId::Cleanup(2));
    table.assert_nothing_starts().await;
    table.finish(web).await;
    assert_eq!(table.next_started().await.id(), TaskId::Cleanup(1));
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_a_running_update_that_may_deploy_by_a_former_command() {
    let mut table = Table::new();
    table.plan(&owner("web"), [deploy("web", 1)]);
    let web = table.next_started().await;
    table.plan(&Section::Session, [cleanup(1, "web")]);
    table.assert_nothing_starts().await;
    table.finish(web).await;
    assert_eq!(table.next_started().await.id(), TaskId::Cleanup(1));
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_cancelled_applies_and_not_for_other_applies_of_the_log() {
    let mut table = Table::new();
    table.plan(&owner("one"), [apply("one", "web")]);
    table.plan(&owner("two"), [apply("two", "web")]);
    let (one, _two) = (table.next_started().await, table.next_started().await);
    table.plan(&owner("one"), []);
    table.plan(&Section::Session, [cleanup(1, "web")]);
    table.assert_nothing_starts().await;
    table.finish(one).await;
    assert_eq!(table.next_started().await.id(), TaskId::Cleanup(1));
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_until_the_last_writer_has_ended() {
    let mut table = Table::new();
    table.plan(&owner("web"), [deploy("web", 1)]);
    table.plan(&owner("one"), [apply("one", "web")]);
    let (web, one) = (table.next_started().await, table.next_started().await);
    table.plan(&owner("web"), []);
    table.plan(&owner("one"), []);
    table.plan(&Section::Session, [cleanup(1, "web")]);
    table.finish(web).await;
    table.assert_nothing_starts().await;
    table.finish(one).await;
    assert_eq!(table.next_started().await.id(), TaskId::Cleanup(1));
}

#[tokio::test(start_paused = true)]
async fn deletion_does_not_wait_for_tasks_that_write_nothing() {
    let mut table = Table::new();
    table.plan(&owner("web"), [refused("web", 1)]);
    table.next_started().await;
    table.plan(&Section::Session, [cleanup(1, "web")]);
    assert_eq!(table.next_started().await.id(), TaskId::Cleanup(1));
}

#[tokio::test(start_paused = true)]
async fn waiting_deletion_that_is_not_planned_any_more_does_not_start() {
    let mut table = Table::new();
    table.plan(&owner("web"), [deploy("web", 1)]);
    let web = table.next_started().await;
    table.plan(&Section::Session, [cleanup(1, "web")]);
    table.plan(&Section::Session, []);
    table.finish(web).await;
    table.assert_nothing_starts().await;
}

#[tokio::test(start_paused = true)]
async fn waiting_deletion_starts_with_its_latest_specification() {
    let mut table = Table::new();
    table.plan(&owner("web"), [deploy("web", 1)]);
    let web = table.next_started().await;
    table.plan(&Section::Session, [cleanup(1, "web")]);
    let fewer = Leftovers { cluster: "other".into(), ..Leftovers::default() };
    let reason = CleanupReason::Unnamed;
    let changed = Task::Cleanup { cleanup: 1, resource: "web".into(), leftovers: fewer, reason };
    table.plan(&Section::Session, [changed.clone()]);
    table.finish(web).await;
    assert_eq!(table.next_started().await.task, changed);
    table.assert_nothing_starts().await;
}
