//! The loop that owns all state: receive an event and all others that have arrived, apply them, schedule updates,
//! reconcile the tasks with the plan, and commit the projection.

use std::sync::Arc;
use std::time::Duration;

use lilt_engine::{
    Event, Mode, Options, Owner, State, TaskId, Verdict, all_notices, applied_objects, apply, dump, notices,
    plan_object, plan_resource, plan_session, project_resource, project_session, schedule, verdict,
};
use lilt_host::process::Guardian;
use lilt_host::watch::Watcher;
use lilt_model::log::Source;
use lilt_model::request::Request;
use lilt_model::{Failure, ResourceName, SpanId};
use lilt_store::{LogWriter, QuerySubject, SessionQueries, SessionQuery, WriteRequest};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::api::{Objects, Store};
use crate::connections::Connections;
use crate::context::{Message, Stamped, update_span_id};
use crate::deployers::Deployers;
use crate::examine;
use crate::object_queries::ObjectQueries;
use crate::plugin_log::PluginLog;
use crate::recording::Recording;
use crate::runner::{ConnectionSlots, FileReader, Runners, Shared};
use crate::secrets;
use crate::settings::Settings;
use crate::tasks::{Runner, Section, Tasks};

/// Messages that are buffered during a turn; runners wait beyond that.
const MESSAGES: usize = 1024;
/// Limits the messages of one turn, so that readers see updates even under a flood.
const DRAINED: usize = 4096;
/// When to release the memory of code that ran during a load of the Tiltfile.
const QUIET: Duration = Duration::from_secs(2);
/// All tasks must have ended by then. A shell prompt that takes longer feels broken.
const LONGEST_SHUTDOWN: Duration = Duration::from_millis(1800);
/// How long the end of `ci` waits for the logs of containers that have ended.
const FINAL_LOGS_TIMEOUT: Duration = Duration::from_secs(20);

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionOutcome {
    /// It was cancelled.
    Cancelled,
    /// `ci` has succeeded or failed.
    Verdict(Verdict),
}

/// Runs a session until it is cancelled or, in `ci`, decided. When it returns, nothing that it started is left.
pub async fn run(
    settings: Settings,
    requests: mpsc::Receiver<Request>,
    store: Store,
    logs: LogWriter,
    cancel: CancellationToken,
) -> Result<SessionOutcome, Failure> {
    let (messages, incoming) = mpsc::channel(MESSAGES);
    let shutdown = CancellationToken::new();
    let options = Options {
        tiltfile: settings.tiltfile.clone(),
        mode: settings.mode,
        version: settings.version.clone(),
        build_date: settings.build_date.clone(),
        args: settings.args.clone(),
        pid: std::process::id(),
        ci_timeout: settings.ci_timeout,
        context: settings.kubeconfig.context().map(str::to_owned),
        namespace: settings.namespace.clone(),
    };
    let open_files = lilt_host::limits::raise_open_files().unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot raise the limit of open files");
        None
    });
    let guardian = Guardian::of_this_program()?.with_open_files(open_files);
    let recording = settings.record.as_ref().map(|path| Recording::begin(path, &options)).transpose()?;
    let started = lilt_host::clock::now();
    // Tasks that own what runners share. They end with this function.
    let mut services = JoinSet::new();
    let shared = Shared {
        watcher: Watcher::start(settings.watch_mode)?,
        plugin_log: PluginLog::start(logs.clone(), &mut services),
        deployers: Deployers::start(&settings.tiltfile, started, &mut services),
        file_reader: FileReader::start(&mut services),
        forward_slots: ConnectionSlots::within(lilt_host::limits::open_files()),
    };
    let runners = Runners {
        settings: Arc::new(settings),
        guardian: guardian.clone(),
        logs: logs.clone(),
        started,
        messages,
        shutdown: shutdown.clone(),
        shared,
    };
    let connections = Connections::new(examine::engine().map(Arc::new));
    let Store { writer, reader, writes, queries } = store;
    let objects = Objects::new(writer, reader);
    let session = Session::new(options, Tasks::new(runners, connections), objects, queries, logs, recording);
    let outcome = session.run(Inputs { incoming, requests, writes }, &cancel, &shutdown).await;
    guardian.close().await;
    Ok(outcome)
}

/// What the loop receives.
struct Inputs {
    incoming: mpsc::Receiver<Message>,
    requests: mpsc::Receiver<Request>,
    writes: mpsc::Receiver<WriteRequest>,
}

/// Returns [`QUIET`] after a load of the Tiltfile.
async fn quiet_after_load(loaded: Option<tokio::time::Instant>) {
    match loaded {
        Some(at) => tokio::time::sleep_until(at + QUIET).await,
        None => std::future::pending().await,
    }
}

struct Session<R> {
    state: State,
    tasks: Tasks<R>,
    queries: SessionQueries,
    /// For log lines of the engine itself.
    logs: LogWriter,
    objects: Objects,
    recording: Option<Recording>,
    /// When the Tiltfile was last loaded. None after the memory that only that needed was released.
    loaded: Option<tokio::time::Instant>,
    object_queries: ObjectQueries,
}

impl<R: Runner> Session<R> {
    fn new(
        options: Options,
        tasks: Tasks<R>,
        objects: Objects,
        queries: SessionQueries,
        logs: LogWriter,
        recording: Option<Recording>,
    ) -> Self {
        Self {
            state: State::new(options),
            tasks,
            queries,
            logs,
            objects,
            recording,
            loaded: None,
            object_queries: ObjectQueries::new(),
        }
    }

    /// Runs the loop until it is cancelled or, in `ci`, decided. `shutdown` is cancelled before the tasks are.
    async fn run(
        mut self,
        mut inputs: Inputs,
        cancel: &CancellationToken,
        shutdown: &CancellationToken,
    ) -> SessionOutcome {
        self.apply_now(Event::Started);
        let outcome = loop {
            self.turn();
            if let Some(verdict) = self.verdict_in_ci() {
                break SessionOutcome::Verdict(verdict);
            }
            let loaded = self.loaded;
            tokio::select! {
                biased;
                () = cancel.cancelled() => break SessionOutcome::Cancelled,
                Some(message) = inputs.incoming.recv() => self.receive(message),
                Some(request) = inputs.requests.recv() => self.apply_now(Event::Requested { request }),
                Some(write) = inputs.writes.recv() => self.apply_write(write),
                panicked = self.tasks.next_ended() => self.note_panic(panicked),
                () = quiet_after_load(loaded) => self.release_code_pages(),
                query = self.queries.next() => self.answer(query),
                Some(()) = self.object_queries.next_ended() => {}
            }
            for _ in 0..DRAINED {
                let Ok(message) = inputs.incoming.try_recv() else { break };
                self.receive(message);
            }
        };
        if matches!(outcome, SessionOutcome::Verdict(_)) {
            self.drain_final_logs(&mut inputs.incoming, cancel).await;
        }
        shutdown.cancel();
        self.queries.store_final_notices(all_notices(&self.state));
        self.stop(&mut inputs.incoming).await;
        outcome
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Event(event) => self.apply_event(event),
            Message::Connected { cluster, connection, info } => {
                self.tasks.connect(cluster.clone(), connection);
                self.apply_now(Event::ClusterConnected { cluster, info });
            }
        }
    }

    fn release_code_pages(&mut self) {
        self.loaded = None;
        lilt_host::memory::release_code_pages();
    }

    fn apply_event(&mut self, Stamped { at, event }: Stamped) {
        let is_load = matches!(event, Event::Loaded { .. });
        if is_load || matches!(event, Event::Started) {
            // The code of a start or a load is not needed any more. Released again after [`QUIET`].
            lilt_host::memory::release_code_pages();
        }
        if is_load {
            self.loaded = Some(tokio::time::Instant::now());
        }
        if let Some(recording) = &mut self.recording {
            recording.event(at, &event);
        }
        apply(&mut self.state, at, event);
        if is_load {
            self.logs.set_secrets(self.state.secrets());
        }
    }

    /// Answers a reader who queries more than what is in the store.
    fn answer(&mut self, query: SessionQuery) {
        let answer = match &query.subject {
            QuerySubject::Engine => dump(&self.state),
            QuerySubject::Notices(name) => notices(&self.state, name),
            QuerySubject::Objects(name) => match applied_objects(&self.state, name) {
                Some((cluster, objects)) => {
                    let objects = objects.cloned().collect();
                    let cluster = self.tasks.connections().cluster(cluster);
                    return self.object_queries.begin(cluster, objects, self.logs.clone(), query);
                }
                None => json!([]),
            },
        };
        query.answer(answer);
    }

    fn apply_now(&mut self, event: Event) {
        self.apply_event(Stamped::now(event));
    }

    fn apply_write(&mut self, write: WriteRequest) {
        for event in self.objects.write(&self.state, write) {
            self.apply_now(event);
        }
    }

    fn note_panic(&mut self, panicked: Option<(TaskId, Failure)>) {
        if let Some((task, failure)) = panicked {
            tracing::error!(?task, %failure, "a task panicked");
            self.apply_now(Event::TaskBroke { task, failure });
        }
    }

    /// Schedules updates, reconciles the tasks of what was touched, and commits its objects.
    fn turn(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.turn();
        }
        let redactor = self.logs.redactor();
        self.state.set_redactor(redactor.clone());
        schedule(&mut self.state);
        let touched = self.state.take_touched();
        if touched.session {
            let mut session = project_session(&self.state);
            secrets::redact_session(&redactor, &mut session);
            self.objects.put_session(&self.state, session);
        }
        for name in touched.resources {
            self.reconcile(&name);
            let mut resource = project_resource(&self.state, &name);
            if let Some(resource) = &mut resource {
                secrets::redact_resource(&redactor, resource);
            }
            self.objects.put_resource(&self.state, &name, resource);
        }
        for key in touched.objects {
            self.tasks.reconcile(&Section::Owner(Owner::Object(key.clone())), plan_object(&self.state, &key));
            self.objects.put_object(&self.state, &key);
        }
        // Last: deletions wait for tasks that write objects, and so these must be cancelled before.
        if touched.session {
            self.tasks.reconcile(&Section::Session, plan_session(&self.state));
        }
        for note in self.state.take_notes() {
            let id = match note.update {
                Some(update) => update_span_id(&note.resource, update),
                None => SpanId::from(format!("engine:{}", note.resource)),
            };
            self.logs.span(id, Some(note.resource), Source::Build).print(note.level, &note.text);
        }
        for (name, mut record) in self.state.take_records() {
            secrets::redact_record(&redactor, &mut record);
            self.objects.put_record(name, record);
        }
        let consequences = self.objects.commit();
        if !consequences.is_empty() {
            consequences.into_iter().for_each(|event| self.apply_now(event));
            self.turn();
        }
    }

    fn reconcile(&mut self, name: &ResourceName) {
        if !name.is_tiltfile() {
            self.tasks
                .reconcile(&Section::Owner(Owner::Resource(name.clone())), plan_resource(&self.state, name));
        }
    }

    fn verdict_in_ci(&self) -> Option<Verdict> {
        if self.state.mode() == Mode::Ci { verdict(&self.state) } else { None }
    }

    /// Reads the logs of terminated containers to their end: the last lines of a failed job matter most.
    async fn drain_final_logs(&mut self, incoming: &mut mpsc::Receiver<Message>, cancel: &CancellationToken) {
        self.tasks.stop_matching(|id| matches!(id, TaskId::LogStream(..)));
        let deadline = tokio::time::sleep(FINAL_LOGS_TIMEOUT);
        tokio::pin!(deadline);
        while self.tasks.is_stopping() {
            tokio::select! {
                () = &mut deadline => break,
                () = cancel.cancelled() => break,
                _ = self.tasks.next_ended() => {}
                Some(_) = incoming.recv() => {}
            }
        }
    }

    /// Cancels all tasks and waits for them. Receives their last messages, so that none of them is blocked.
    async fn stop(mut self, incoming: &mut mpsc::Receiver<Message>) {
        self.tasks.stop_all();
        let deadline = tokio::time::sleep(LONGEST_SHUTDOWN);
        tokio::pin!(deadline);
        while !self.tasks.is_idle() {
            tokio::select! {
                () = &mut deadline => break,
                _ = self.tasks.next_ended() => {}
                Some(_) = incoming.recv() => {}
            }
        }
        self.tasks.abort_all().await;
    }
}

#[cfg(test)]
mod tests;
