//! One async function per kind of task. Each ends with exactly one terminal event if its kind has one, and leaves nothing
//! behind when it is cancelled.

mod api_retry;
mod apply;
mod capture;
mod cleanup;
mod cluster;
mod command;
pub(crate) mod connect;
mod deploy;
mod extension;
mod forward;
mod image;
mod kubeconfig;
mod load;
mod local;
mod log_stream;
mod namespace;
mod objects;
mod outage;
mod pod_report;
mod probe;
mod prune;
mod report;
mod sync;
mod telemetry;
mod wake;
mod watch;

use std::sync::Arc;

use lilt_engine::{Cause, Event, Task, UpdateJob, UpdateOutcome, WatchId};
use lilt_host::process::Guardian;
use lilt_host::watch::Watcher;
use lilt_model::{Failure, ResourceName, Timestamp};
use lilt_store::LogWriter;
use tokio::sync::mpsc;
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;

use crate::context::{Context, Message};
use crate::deployers::Deployers;
use crate::plugin_log::PluginLog;
use crate::settings::Settings;
use crate::tasks::{Runner, TaskScope};

pub(crate) use connect::{Connected, connect};
pub(crate) use deploy::base::Base;
pub(crate) use deploy::{CachedBuild, ImageReferences, cached_references, in_pods, injections};
pub(crate) use forward::ConnectionSlots;
pub(crate) use load::evaluate;
pub(crate) use prune::{distinct, prune};
pub(crate) use sync::FileReader;

/// Runs the tasks of a session. Each runner gets what it uses.
#[derive(Debug)]
pub(crate) struct Runners {
    pub(crate) settings: Arc<Settings>,
    pub(crate) guardian: Guardian,
    pub(crate) logs: LogWriter,
    /// When the session began.
    pub(crate) started: Timestamp,
    pub(crate) messages: mpsc::Sender<Message>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) shared: Shared,
}

/// Watches files. Watches of the engine are labelled with their id.
pub(crate) type FileWatcher = Watcher<Option<WatchId>>;

/// What some runners share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) watcher: FileWatcher,
    pub(crate) plugin_log: PluginLog,
    pub(crate) deployers: Deployers,
    pub(crate) file_reader: FileReader,
    /// Limits the connections through forwarded ports.
    pub(crate) forward_slots: ConnectionSlots,
}

impl Runner for Runners {
    fn run(&self, feed: Receiver<Task>, scope: TaskScope) -> impl Future<Output = ()> + Send + 'static {
        let TaskScope { cancel, connections } = scope;
        let context = Context {
            settings: Arc::clone(&self.settings),
            guardian: self.guardian.clone(),
            connections,
            logs: self.logs.clone(),
            started: self.started,
            messages: self.messages.clone(),
            cancel,
            shutdown: self.shutdown.clone(),
        };
        run(context, self.shared.clone(), feed)
    }
}

/// Runs a task to its end. `feed` delivers changes to tasks that continue with them.
async fn run(context: Context, shared: Shared, feed: Receiver<Task>) {
    let Shared { watcher, plugin_log, deployers, file_reader, forward_slots } = shared;
    let task = feed.borrow().clone();
    match task {
        Task::Load { tiltfile: name, load, cause, path, args, secrets } => {
            load::run(context, load::LoadJob { name, load, cause, path, args, secrets }).await;
        }
        Task::Apply { name, run, job } => apply::run(context, name, run, &job).await,
        Task::Image { object, run, job, resource } => image::run(context, object, run, resource, &job).await,
        Task::Cluster { name, run, source } => {
            cluster::run(context, watcher, plugin_log, name, run, source).await;
        }
        Task::Repository { name, run, source } => extension::fetch(context, name, run, source).await,
        Task::Extension { name, run, source, path } => {
            extension::find(context, name, run, source, path).await;
        }
        Task::Watch { watch, .. } => watch::run(context, watcher, watch, feed).await,
        Task::Update { resource, update, cause, job } => match &*job {
            UpdateJob::Local(job) => local::run(context, resource, update, cause, job).await,
            UpdateJob::Deploy(job) => {
                deploy::run(context, deployers, file_reader, resource, update, cause, job).await;
            }
            UpdateJob::Refused(failure) => refuse(context, resource, update, &cause, failure.clone()).await,
        },
        Task::Command { owner, run, command, on_exit, resource } => {
            command::run(context, owner, run, command, on_exit, resource).await;
        }
        Task::Probe { owner, run, probe, resource } => {
            probe::run(context, owner, run, probe, resource).await;
        }
        Task::Outage { outage, id, attempts, immediate, limit } => {
            outage::run(context, outage, id, attempts, immediate, limit).await;
        }
        Task::Prune(job) => prune::run(context, &job).await,
        Task::Telemetry(job) => telemetry::run(context, &job).await,
        Task::Wake { at } => wake::run(context, at).await,
        Task::Connect { cluster, .. } => connect::run(context, watcher, plugin_log, cluster).await,
        Task::Kubeconfig { cluster } => kubeconfig::run(context, watcher, cluster).await,
        Task::Namespace { cluster, namespace, reconnect } => {
            namespace::run(context, cluster, namespace, reconnect > 0).await;
        }
        Task::Objects { scope } => objects::follow(context, scope).await,
        Task::Inspect { resource, inspection } => {
            objects::inspect(context, deployers, resource, *inspection).await;
        }
        Task::LogStream { owner, resource, pod, .. } => {
            log_stream::run(context, owner, resource, &pod.cluster, feed).await;
        }
        Task::Forward { owner, slot, resource, cluster, forward, .. } => {
            let port = forward::Port::new(context, forward_slots, owner, slot, resource, cluster, forward);
            port.run(feed).await;
        }
        Task::Sync { owner, resource, .. } => {
            sync::run(context, file_reader, owner, resource, feed).await;
        }
        Task::Cleanup { cleanup, resource, leftovers, reason } => {
            cleanup::run(context, cleanup, resource, leftovers, reason).await;
        }
    }
}

/// Reports the failure of an update that cannot be done.
async fn refuse(context: Context, resource: ResourceName, update: u64, cause: &Cause, failure: Failure) {
    let mut span = context.update_span(&resource, update);
    report::begin(&mut span, cause);
    report::failed(&mut span, &failure);
    drop(span);
    let outcome = UpdateOutcome { failure: Some(failure), ..UpdateOutcome::success() };
    context.send(Event::UpdateEnded { resource, update, outcome: Box::new(outcome) }).await;
}
