//! The only loop: wait for an event, drain what else has come, let the engine decide, make what runs equal to the
//! plan, and show the result.

use std::collections::BTreeMap;
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
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::api::{Objects, Store};
use crate::context::{Context, Edges, Stamped, update_span_id};
use crate::deployers::Deployers;
use crate::examine;
use crate::in_flight::InFlightWrites;
use crate::object_queries::ObjectQueries;
use crate::recording::Recording;
use crate::runner::{ConnectionSlots, Readings};
use crate::secrets;
use crate::settings::Settings;
use crate::tasks::{Section, Tasks};

/// Events that may wait while the loop is in a turn; runners wait beyond that.
const EVENTS: usize = 1024;
/// Events taken into one turn, so that readers see something even under a flood.
const DRAINED: usize = 4096;
/// How long after a load of the Tiltfile the code that ran then is given back.
const QUIET: Duration = Duration::from_secs(2);
/// Everything that runs must have ended by then. A shell prompt that takes longer feels broken.
const LONGEST_SHUTDOWN: Duration = Duration::from_millis(1800);
/// How long the end of `ci` waits for the logs of containers that have ended.
const FINAL_LOGS_TIMEOUT: Duration = Duration::from_secs(20);

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionOutcome {
    /// It was told to.
    Cancelled,
    /// `ci` is done.
    Verdict(Verdict),
}

/// Runs a session until it is cancelled or, in `ci`, decided. When it returns nothing that it started is left.
pub async fn run(
    settings: Settings,
    mut requests: mpsc::Receiver<Request>,
    store: Store,
    logs: LogWriter,
    cancel: CancellationToken,
) -> Result<SessionOutcome, Failure> {
    let (events, mut incoming) = mpsc::channel(EVENTS);
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
    let context = Context {
        edges: Edges {
            watcher: Watcher::start(settings.watch_mode)?,
            guardian: guardian.clone(),
            docker: examine::engine().map(Arc::new),
            clusters: Arc::new(watch::Sender::new(BTreeMap::new())),
            in_flight: InFlightWrites::default(),
            readings: Readings::default(),
            forward_slots: ConnectionSlots::within(lilt_host::limits::open_files()),
            deployers: Deployers::of_session(&settings.tiltfile, started),
        },
        settings: Arc::new(settings),
        logs: logs.clone(),
        started,
        events,
        cancel: CancellationToken::new(),
        shutdown: shutdown.clone(),
    };
    let Store { writer, reader, mut writes, queries } = store;
    let objects = Objects::new(writer, reader);
    let mut session = Session {
        state: State::new(options),
        tasks: Tasks::new(context),
        queries,
        logs,
        objects,
        recording,
        loaded: None,
        object_queries: ObjectQueries::new(),
    };
    session.apply_now(Event::Started);
    let ended = loop {
        session.turn();
        if let Some(verdict) = session.verdict_in_ci() {
            break SessionOutcome::Verdict(verdict);
        }
        let loaded = session.loaded;
        tokio::select! {
            biased;
            () = cancel.cancelled() => break SessionOutcome::Cancelled,
            Some(event) = incoming.recv() => session.apply_event(event),
            Some(request) = requests.recv() => session.apply_now(Event::Requested { request }),
            Some(write) = writes.recv() => session.apply_write(write),
            panicked = session.tasks.next_ended() => session.note_panic(panicked),
            () = quiet_after_load(loaded) => session.release_code_pages(),
            query = session.queries.next() => session.answer(query),
            Some(()) = session.object_queries.next_ended() => {}
        }
        for _ in 0..DRAINED {
            let Ok(event) = incoming.try_recv() else { break };
            session.apply_event(event);
        }
    };
    if matches!(ended, SessionOutcome::Verdict(_)) {
        session.drain_final_logs(&mut incoming, &cancel).await;
    }
    shutdown.cancel();
    session.queries.store_final_notices(all_notices(&session.state));
    session.stop(&mut incoming).await;
    guardian.close().await;
    Ok(ended)
}

/// Returns a while after a load.
async fn quiet_after_load(loaded: Option<tokio::time::Instant>) {
    match loaded {
        Some(at) => tokio::time::sleep_until(at + QUIET).await,
        None => std::future::pending().await,
    }
}

struct Session {
    state: State,
    tasks: Tasks,
    queries: SessionQueries,
    /// For what the engine itself has to say.
    logs: LogWriter,
    objects: Objects,
    recording: Option<Recording>,
    /// When the Tiltfile was last loaded, until what only that needed was given back.
    loaded: Option<tokio::time::Instant>,
    object_queries: ObjectQueries,
}

impl Session {
    fn release_code_pages(&mut self) {
        self.loaded = None;
        lilt_host::memory::release_code_pages();
    }

    fn apply_event(&mut self, Stamped { at, event }: Stamped) {
        let is_load = matches!(event, Event::Loaded { .. });
        if is_load || matches!(event, Event::Started) {
            // What a start or a load needs is not what comes next needs; and once more when that is done.
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

    /// Answers a reader who wants to see more than what was committed.
    fn answer(&mut self, query: SessionQuery) {
        let answer = match &query.subject {
            QuerySubject::Engine => dump(&self.state),
            QuerySubject::Notices(name) => notices(&self.state, name),
            QuerySubject::Objects(name) => match applied_objects(&self.state, name) {
                Some((cluster, objects)) => {
                    let objects = objects.cloned().collect();
                    let context = self.tasks.context().clone();
                    return self.object_queries.begin(context, cluster.clone(), objects, query);
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

    fn note_panic(&mut self, panicked: Option<(lilt_engine::TaskId, Failure)>) {
        if let Some((task, failure)) = panicked {
            tracing::error!(?task, %failure, "a task broke");
            self.apply_now(Event::TaskBroke { task, failure });
        }
    }

    /// Decides, and makes the decision true, for what was touched.
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
        // Last: what deletes must find that what applied was told to end.
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

    /// What a job or a broken container said to its end is what people look for: nothing else ends before it is shown.
    async fn drain_final_logs(&mut self, incoming: &mut mpsc::Receiver<Stamped>, cancel: &CancellationToken) {
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

    /// Ends every task. Their last events are taken off their hands, so that none waits for us.
    async fn stop(mut self, incoming: &mut mpsc::Receiver<Stamped>) {
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
