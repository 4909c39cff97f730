mod ci;
mod objects;

use lilt_api::ObjectKind;
use lilt_engine::{Task, UpdateOutcome};
use lilt_model::command::Command;
use lilt_model::files::FileSet;
use lilt_model::project::Project;
use lilt_model::request::TriggerReason;
use lilt_model::resource::{Body, LocalResource, Resource, TriggerMode};
use lilt_model::secret::Secret;
use lilt_model::settings::DockerPrune;
use lilt_model::{Timestamp, project};
use lilt_store::{Action, Key, Reader, Refusal, Snapshot};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::test_support::{RunningTask, StartedTasks, idle, next_started, no_connections, test_runner};

/// A running loop whose tasks are in the hands of the test.
struct Fixture {
    messages: mpsc::Sender<Message>,
    requests: mpsc::Sender<Request>,
    writes: mpsc::Sender<WriteRequest>,
    reader: Reader,
    started: StartedTasks,
    cancel: CancellationToken,
    shutdown: CancellationToken,
    outcome: JoinHandle<SessionOutcome>,
}

impl Fixture {
    fn start(mode: Mode) -> Self {
        let (logs, log_reader) = LogWriter::open(None, || Timestamp::ZERO);
        let (writer, queries, reader) = lilt_store::open(log_reader);
        let (messages, incoming) = mpsc::channel(MESSAGES);
        let (requests, incoming_requests) = mpsc::channel(16);
        let (writes, incoming_writes) = mpsc::channel(16);
        let (runner, started) = test_runner();
        let (cancel, shutdown) = (CancellationToken::new(), CancellationToken::new());
        let session = Session::new(
            Options::new("/p/Tiltfile", mode),
            Tasks::new(runner, no_connections()),
            Objects::new(writer, reader.clone()),
            queries,
            logs,
            None,
        );
        let inputs = Inputs { incoming, requests: incoming_requests, writes: incoming_writes };
        let tokens = (cancel.clone(), shutdown.clone());
        let outcome = tokio::spawn(async move { session.run(inputs, &tokens.0, &tokens.1).await });
        Self { messages, requests, writes, reader, started, cancel, shutdown, outcome }
    }

    /// Starts a session, and loads a project.
    async fn loaded(mode: Mode, project: Project) -> Self {
        let mut fixture = Self::start(mode);
        let load = fixture.next_started().await;
        fixture.send(loaded(&load, project)).await;
        load.finish();
        fixture
    }

    async fn send(&self, event: Event) {
        self.messages.send(Message::Event(Stamped::now(event))).await.expect("the loop runs");
    }

    async fn next_started(&mut self) -> RunningTask {
        next_started(&mut self.started).await
    }

    /// Returns the update that starts next, and ends no other task.
    async fn next_update(&mut self) -> RunningTask {
        loop {
            let task = self.next_started().await;
            if matches!(task.task, Task::Update { .. }) {
                return task;
            }
        }
    }

    /// Writes an object, and returns the answer.
    async fn write(&self, key: Key, action: Action) -> Result<Snapshot, Refusal> {
        let (reply, answer) = oneshot::channel();
        self.writes.send(WriteRequest { key, action, reply }).await.expect("the loop runs");
        answer.await.expect("it is answered")
    }

    fn get(&self, kind: ObjectKind, name: &str) -> Option<Value> {
        let object = self.reader.get(&Key::new(kind, name))?;
        Some(serde_json::from_str(object.text()).expect("it is JSON"))
    }

    fn version(&self, kind: ObjectKind, name: &str) -> u64 {
        self.reader.get(&Key::new(kind, name)).expect("it exists").version
    }

    /// Cancels the session and waits for its end.
    async fn stop(self) -> SessionOutcome {
        self.cancel.cancel();
        self.outcome.await.expect("the loop ends")
    }
}

fn project(resources: Vec<Resource>) -> Project {
    let docker_prune = DockerPrune { enabled: false, ..DockerPrune::default() };
    let settings = project::Settings { docker_prune, ..project::Settings::default() };
    Project { resources, settings, ..Project::default() }
}

/// A resource with a command.
fn local(name: &str) -> Resource {
    let update = Some(Command::shell(format!("make {name}"), "/p"));
    Resource {
        name: name.into(),
        labels: Vec::new(),
        links: Vec::new(),
        resource_deps: Vec::new(),
        trigger_mode: TriggerMode::Auto,
        auto_init: true,
        cascade: false,
        body: Body::Local(LocalResource { update, ..LocalResource::default() }),
    }
}

fn loaded(load: &RunningTask, project: Project) -> Event {
    let Task::Load { load, .. } = load.task else { panic!("{:?} is no load", load.task) };
    let (files, contents) = (FileSet::default(), Default::default());
    Event::Loaded { load, files, contents, outcome: Ok(Box::new(project)) }
}

fn ended(update: &RunningTask, outcome: UpdateOutcome) -> Event {
    let Task::Update { resource, update, .. } = &update.task else {
        panic!("{:?} is no update", update.task)
    };
    Event::UpdateEnded { resource: resource.clone(), update: *update, outcome: Box::new(outcome) }
}

#[tokio::test(start_paused = true)]
async fn loaded_resource_is_committed_and_updated() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    assert_eq!(update.id(), TaskId::Update("web".into()));
    idle().await;
    let status = |fixture: &Fixture| fixture.reader.resource("web").expect("it exists").status.clone();
    assert!(status(&fixture).current_build.is_some());
    fixture.send(ended(&update, UpdateOutcome::success())).await;
    update.finish();
    idle().await;
    assert!(status(&fixture).current_build.is_none());
    assert_eq!(status(&fixture).build_history.len(), 1);
    assert_eq!(fixture.stop().await, SessionOutcome::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn events_that_arrived_together_are_applied_before_a_task_starts() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    // One turn: the resource that the first event queues is removed by the second.
    let reload = Event::Requested { request: Request::SetArgs { args: vec!["fast".into()] } };
    for event in [ended(&update, UpdateOutcome::success()), reload.clone(), reload] {
        let message = Message::Event(Stamped::now(event));
        fixture.messages.try_send(message).expect("there is room");
    }
    update.finish();
    let load = fixture.next_started().await;
    assert!(matches!(&load.task, Task::Load { args, .. } if *args == ["fast"]), "{load:?}");
    idle().await;
    assert!(!load.is_cancelled(), "it is the load of the last event");
    assert!(fixture.started.try_recv().is_err(), "only one load has started");
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn panic_of_an_update_fails_it() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    update.panic("index out of bounds");
    idle().await;
    let resource = fixture.reader.resource("web").expect("it exists");
    let error = resource.status.build_history.first().map(|build| build.error.clone());
    assert!(error.as_ref().is_some_and(|error| error.contains("index out of bounds")), "{error:?}");
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn request_to_cancel_ends_the_update() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    fixture.requests.send(Request::Cancel { resource: "web".into() }).await.unwrap();
    update.cancel.cancelled().await;
    // The result of the cancelled update is stale.
    fixture.send(ended(&update, UpdateOutcome::failed(Failure::user("too late")))).await;
    update.finish();
    idle().await;
    let history = fixture.reader.resource("web").expect("it exists").status.build_history.clone();
    assert!(history.iter().all(|build| !build.error.contains("too late")), "{history:?}");
    let (resource, reason) = ("web".into(), TriggerReason::WEB);
    fixture.requests.send(Request::Trigger { resource, reason }).await.unwrap();
    fixture.next_update().await;
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn values_of_secrets_are_redacted_in_objects_and_logs() {
    let secret = Secret {
        name: "db".into(),
        key: "pw".into(),
        value: b"hunter2hunter2".to_vec(),
        encoded: "aHVudGVyMmh1bnRlcjI=".into(),
    };
    let project = Project { secrets: vec![secret], ..project(vec![local("web")]) };
    let mut fixture = Fixture::loaded(Mode::Up, project).await;
    let update = fixture.next_update().await;
    // As a runner that did not redact it.
    let failure = Failure::user("no access with hunter2hunter2");
    fixture.send(ended(&update, UpdateOutcome::failed(failure))).await;
    update.finish();
    idle().await;
    let object = fixture.get(ObjectKind::UIResource, "web").expect("it exists").to_string();
    assert!(object.contains("no access with [redacted secret db:pw]"), "{object}");
    assert!(!object.contains("hunter2"), "{object}");
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_session_signals_shutdown_before_it_cancels_tasks() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    let (shutdown, task) = (fixture.shutdown.clone(), update.cancel.clone());
    let watch = tokio::spawn(async move {
        task.cancelled().await;
        shutdown.is_cancelled()
    });
    fixture.cancel.cancel();
    assert!(watch.await.unwrap());
    assert!(!fixture.outcome.is_finished(), "it waits for its tasks");
    update.finish();
    assert_eq!(fixture.outcome.await.unwrap(), SessionOutcome::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn shutdown_receives_messages_so_that_no_task_is_blocked() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    let messages = fixture.messages.clone();
    // A task that sends more than the channel can hold before it ends.
    let sender = tokio::spawn(async move {
        update.cancel.cancelled().await;
        for _ in 0..2 * MESSAGES {
            messages.send(Message::Event(Stamped::now(Event::Woke))).await.expect("the loop receives");
        }
        update.finish();
    });
    assert_eq!(fixture.stop().await, SessionOutcome::Cancelled);
    sender.await.expect("all of its messages were received");
}

#[tokio::test(start_paused = true)]
async fn task_that_does_not_end_is_aborted_at_shutdown() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let stuck = fixture.next_update().await;
    let begin = Instant::now();
    fixture.stop().await;
    assert!(stuck.is_cancelled() && stuck.is_aborted());
    assert_eq!(begin.elapsed().as_millis(), LONGEST_SHUTDOWN.as_millis());
}
