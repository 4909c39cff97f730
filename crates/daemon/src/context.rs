//! What a runner is given: how to tell, where to log, when to stop, and the clients of the edges.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lilt_cluster::Cluster;
use lilt_engine::{Event, WatchId};
use lilt_host::process::{Daemons, Guardian, Process};
use lilt_host::watch::Watcher;
use lilt_model::command::Command;
use lilt_model::log::Source;
use lilt_model::{ClusterName, Failure, FailureKind, ResourceName, SpanId, Timestamp};
use lilt_store::{LogWriter, Span};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::deployers::Deployers;
use crate::in_flight::{InFlightWrite, InFlightWrites};
use crate::minikube::ClusterEngine;
use crate::runner::{ConnectionSlots, Readings};
use crate::secrets;
use crate::settings::Settings;

/// How long a process may take to end by itself when its task is replaced.
const GRACE: Duration = Duration::from_secs(10);
/// And when the whole session ends: people wait for their prompt.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(1000);

/// An event with the time it happened.
#[derive(Debug)]
pub(crate) struct Stamped {
    pub(crate) at: Timestamp,
    pub(crate) event: Event,
}

impl Stamped {
    pub(crate) fn now(event: Event) -> Self {
        Self { at: lilt_host::clock::now(), event }
    }
}

/// The clients of the edges. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    /// Watches of the engine are labelled; others have no group.
    pub(crate) watcher: Watcher<Option<WatchId>>,
    /// Starts commands, and ends them with lilt.
    pub(crate) guardian: Guardian,
    pub(crate) docker: Result<Arc<lilt_docker::Engine>, Failure>,
    /// Each is set once, by the runner that connects; tasks that need it are planned only after that.
    pub(crate) clusters: Arc<watch::Sender<BTreeMap<ClusterName, Connection>>>,
    /// What is being applied.
    pub(crate) in_flight: InFlightWrites,
    /// The files of live updates that run.
    pub(crate) readings: Readings,
    /// Places for connections through forwarded ports.
    pub(crate) forward_slots: ConnectionSlots,
    /// Other sessions that deploy the same objects.
    pub(crate) deployers: Deployers,
}

/// A cluster that answers.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) cluster: Cluster,
    /// The engine inside it, where it has one that builds.
    pub(crate) engine: Option<Arc<ClusterEngine>>,
    /// What commands are given that deploy there, if that is not what all commands are given.
    pub(crate) kubeconfig: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) settings: Arc<Settings>,
    pub(crate) edges: Edges,
    pub(crate) logs: LogWriter,
    /// When the session began.
    pub(crate) started: Timestamp,
    /// Bounded: runners wait while the loop is busy. The loop takes events until every runner has ended.
    pub(crate) events: mpsc::Sender<Stamped>,
    /// This task is no longer wanted.
    pub(crate) cancel: CancellationToken,
    /// The whole session ends.
    pub(crate) shutdown: CancellationToken,
}

impl Context {
    pub(crate) async fn send(&self, mut event: Event) {
        secrets::redact_event(&self.logs.redactor(), &mut event);
        // The loop outlives all runners; if it is gone, nobody is left to tell.
        let _ = self.events.send(Stamped::now(event)).await;
    }

    /// The section of log for an update of a resource, as `UIResource` names it.
    pub(crate) fn update_span(&self, resource: &ResourceName, update: u64) -> Span {
        // As under Tilt, `--source build` is about images and deployments.
        let source = if resource.is_tiltfile() { Source::Runtime } else { Source::Build };
        self.logs.span(update_span_id(resource, update), Some(resource.clone()), source)
    }

    pub(crate) fn runtime_span(&self, resource: &ResourceName, id: String) -> Span {
        self.logs.span(SpanId::from(id), Some(resource.clone()), Source::Runtime)
    }

    pub(crate) fn cluster(&self, name: &ClusterName) -> Result<Cluster, Failure> {
        let connection = self.edges.clusters.borrow().get(name).map(|connection| connection.cluster.clone());
        connection.ok_or_else(|| {
            Failure::internal("a task that needs the cluster was started before it was connected")
        })
    }

    /// Something of a resource is about to be written to a cluster.
    pub(crate) fn begin_write(&self, resource: &ResourceName) -> Result<InFlightWrite, Failure> {
        let write = self.edges.in_flight.begin(resource, &self.cancel);
        write.ok_or_else(|| Failure::new(FailureKind::Cancelled, "it is no longer wanted"))
    }

    /// After a cancellation: lets what is on its way to a cluster arrive, so that what deletes it comes later. `work` does no
    /// more than that.
    pub(crate) async fn drain_writes<T>(&self, resource: &ResourceName, work: impl Future<Output = T>) {
        if !self.edges.in_flight.is_under_way(resource) {
            return;
        }
        tokio::select! {
            _ = work => {}
            () = self.edges.in_flight.none_of(resource) => {}
            () = self.shutdown.cancelled() => {}
            () = tokio::time::sleep(GRACE) => {}
        }
    }

    /// The engine inside a cluster, where it has one that builds.
    pub(crate) fn cluster_engine(&self, name: &ClusterName) -> Option<Arc<ClusterEngine>> {
        self.edges.clusters.borrow().get(name)?.engine.clone()
    }

    /// A command of what is deployed to a cluster: it meets that one.
    pub(crate) fn with_kubeconfig(&self, name: &ClusterName, command: &Command) -> Command {
        let mut command = command.clone();
        if let Some(Connection { kubeconfig: Some(path), .. }) = self.edges.clusters.borrow().get(name) {
            command.env.push(("KUBECONFIG".to_owned(), path.display().to_string()));
        }
        command
    }

    /// Returns when the whole session ends, and what is under way has had its time.
    pub(crate) async fn shutdown_grace_elapsed(&self) {
        self.shutdown.cancelled().await;
        tokio::time::sleep(SHUTDOWN_GRACE).await;
    }

    /// Ends a process in the time that the occasion allows.
    pub(crate) async fn stop_process(&self, process: &mut Process, daemons: Daemons) {
        // The guardian sees to them at the end; a look at all of them for each of many processes would take long.
        let daemons = if self.shutdown.is_cancelled() { Daemons::Leave } else { daemons };
        let hurry = self.shutdown_grace_elapsed();
        tokio::select! {
            _ = process.stop(GRACE, daemons) => {}
            () = hurry => {
                let _ = process.stop(Duration::ZERO, Daemons::Leave).await;
            }
        }
    }
}

pub(crate) fn update_span_id(resource: &ResourceName, update: u64) -> SpanId {
    SpanId::from(format!("build:{resource}:{update}"))
}
