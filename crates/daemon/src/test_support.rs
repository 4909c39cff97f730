//! What tests of the loop, the task table and single runners need instead of clusters, processes and files.

use std::sync::Arc;
use std::time::Duration;

use lilt_cluster::SessionKubeconfig;
use lilt_engine::{Event, Mode, Task, TaskId};
use lilt_host::process::Guardian;
use lilt_model::{Failure, Timestamp};
use lilt_store::LogWriter;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::command_environment::CommandEnvironment;
use crate::connections::Connections;
use crate::context::{Context, Message};
use crate::settings::{BuildInfo, Project, Settings};
use crate::tasks::{Runner, TaskScope};

/// Connections of a machine without Docker engine and clusters.
pub(crate) fn no_connections() -> Connections {
    Connections::new(Err(Failure::environment("no engine in tests")))
}

/// Returns a context without connections, and what its runner sends.
pub(crate) fn test_context() -> (Context, mpsc::Receiver<Message>) {
    let project =
        Project { tiltfile: "/p/Tiltfile".into(), args: Vec::new(), context: None, namespace: None };
    let environment = CommandEnvironment {
        variables: Vec::new(),
        programs: Vec::new(),
        kubeconfig: SessionKubeconfig::in_folder("/nowhere".into(), None, None),
    };
    let settings = Settings::new("up", project, BuildInfo { version: "1", date: "" }, environment);
    let (logs, _) = LogWriter::open(None, || Timestamp::ZERO);
    let (messages, sent) = mpsc::channel(16);
    let context = Context {
        settings: Arc::new(Settings { mode: Mode::Up, ..settings }),
        // It starts with the first command.
        guardian: Guardian::new("/nonexistent".into(), Vec::new()),
        connections: Arc::new(no_connections()),
        logs,
        started: Timestamp::ZERO,
        messages,
        cancel: CancellationToken::new(),
        shutdown: CancellationToken::new(),
    };
    (context, sent)
}

/// Returns the events that were sent so far.
pub(crate) fn sent_events(sent: &mut mpsc::Receiver<Message>) -> Vec<Event> {
    let mut events = Vec::new();
    while let Ok(Message::Event(stamped)) = sent.try_recv() {
        events.push(stamped.event);
    }
    events
}

/// Hands every task that starts to the test.
#[derive(Debug)]
pub(crate) struct TestRunner {
    started: mpsc::UnboundedSender<RunningTask>,
}

/// A task that runs until the test ends it, or until it is aborted.
#[derive(Debug)]
pub(crate) struct RunningTask {
    pub(crate) task: Task,
    pub(crate) feed: watch::Receiver<Task>,
    pub(crate) cancel: CancellationToken,
    end: oneshot::Sender<End>,
}

#[derive(Debug)]
enum End {
    Finished,
    Panicked(&'static str),
}

/// The tasks that have started, in their order.
pub(crate) type StartedTasks = mpsc::UnboundedReceiver<RunningTask>;

pub(crate) fn test_runner() -> (TestRunner, StartedTasks) {
    let (started, receiver) = mpsc::unbounded_channel();
    (TestRunner { started }, receiver)
}

impl Runner for TestRunner {
    fn run(
        &self,
        feed: watch::Receiver<Task>,
        scope: TaskScope,
    ) -> impl Future<Output = ()> + Send + 'static {
        let started = self.started.clone();
        async move {
            let (end, ended) = oneshot::channel();
            let task = feed.borrow().clone();
            started.send(RunningTask { task, feed, cancel: scope.cancel, end }).expect("the test runs");
            match ended.await {
                Ok(End::Finished) => {}
                Ok(End::Panicked(message)) => panic!("{message}"),
                // The test has dropped the task: it runs until it is aborted.
                Err(_) => std::future::pending().await,
            }
        }
    }
}

impl RunningTask {
    pub(crate) fn id(&self) -> TaskId {
        self.task.id()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Ends the task. It may have been aborted already.
    pub(crate) fn finish(self) {
        let _ = self.end.send(End::Finished);
    }

    pub(crate) fn panic(self, message: &'static str) {
        self.end.send(End::Panicked(message)).expect("the task runs");
    }

    /// Returns whether the task was aborted.
    pub(crate) fn is_aborted(&self) -> bool {
        self.end.is_closed()
    }
}

/// Returns the next task that starts.
pub(crate) async fn next_started(started: &mut StartedTasks) -> RunningTask {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, started.recv()).await.expect("a task starts").expect("the runner lives")
}

/// Waits until nothing but timers can make progress. Time must be paused.
pub(crate) async fn idle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
