//! What every runner gets: settings, logs, connections, a channel to the loop, and tokens that end the task.

use std::sync::Arc;
use std::time::Duration;

use lilt_engine::Event;
use lilt_host::process::{Daemons, Guardian, Process};
use lilt_model::cluster::ClusterInfo;
use lilt_model::log::Source;
use lilt_model::{ClusterName, ResourceName, SpanId, Timestamp};
use lilt_store::{LogWriter, Span};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::connections::{Connection, Connections};
use crate::secrets;
use crate::settings::Settings;

/// How long a process may take to exit by itself when its task is cancelled.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// The same at the end of the session: people wait for their prompt.
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

/// What a runner sends to the loop.
#[derive(Debug)]
pub(crate) enum Message {
    Event(Stamped),
    /// A cluster is connected. Tasks that start from now on get the connection.
    Connected {
        cluster: ClusterName,
        connection: Connection,
        info: Box<ClusterInfo>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) settings: Arc<Settings>,
    /// Starts commands, and kills them when lilt is gone.
    pub(crate) guardian: Guardian,
    pub(crate) connections: Arc<Connections>,
    pub(crate) logs: LogWriter,
    /// When the session began.
    pub(crate) started: Timestamp,
    /// Bounded: runners wait while the loop is busy. The loop receives messages until every runner has ended.
    pub(crate) messages: mpsc::Sender<Message>,
    /// Cancels this task.
    pub(crate) cancel: CancellationToken,
    /// Cancelled at the end of the session.
    pub(crate) shutdown: CancellationToken,
}

impl Context {
    pub(crate) async fn send(&self, mut event: Event) {
        secrets::redact_event(&self.logs.redactor(), &mut event);
        self.send_message(Message::Event(Stamped::now(event))).await;
    }

    pub(crate) async fn send_message(&self, message: Message) {
        // Fails only if the loop was aborted together with all tasks.
        let _ = self.messages.send(message).await;
    }

    /// Returns the log span of an update, as `UIResource` names it.
    pub(crate) fn update_span(&self, resource: &ResourceName, update: u64) -> Span {
        // As in Tilt, `--source build` is about images and deployments.
        let source = if resource.is_tiltfile() { Source::Runtime } else { Source::Build };
        self.logs.span(update_span_id(resource, update), Some(resource.clone()), source)
    }

    pub(crate) fn runtime_span(&self, resource: &ResourceName, id: String) -> Span {
        self.logs.span(SpanId::from(id), Some(resource.clone()), Source::Runtime)
    }

    /// Returns when the session has been ending for as long as processes and requests may take then.
    pub(crate) async fn shutdown_grace_elapsed(&self) {
        self.shutdown.cancelled().await;
        tokio::time::sleep(SHUTDOWN_GRACE).await;
    }

    /// Ends a process within [`GRACE`], or faster at the end of the session.
    pub(crate) async fn stop_process(&self, process: &mut Process, daemons: Daemons) {
        // At the end the guardian kills all of them. Searching the process table for each process would take long.
        let daemons = if self.shutdown.is_cancelled() { Daemons::Leave } else { daemons };
        tokio::select! {
            _ = process.stop(GRACE, daemons) => {}
            () = self.shutdown_grace_elapsed() => {
                let _ = process.stop(Duration::ZERO, Daemons::Leave).await;
            }
        }
    }
}

pub(crate) fn update_span_id(resource: &ResourceName, update: u64) -> SpanId {
    SpanId::from(format!("build:{resource}:{update}"))
}
