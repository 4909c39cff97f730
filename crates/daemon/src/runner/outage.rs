//! Waits until something answers that did not.

use std::time::Duration;

use lilt_engine::{Event, Mode, Outage};
use lilt_model::log::Level;
use lilt_model::{ClusterName, Failure, Unreachable};
use lilt_store::Span;
use tokio::time::Instant;

use super::api_retry;
use super::deploy::engine;
use crate::context::Context;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Whoever waits for it sees within seconds that it is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// An answer that takes longer than this is none.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause before what seems to answer, and does not do so when it matters, is believed again.
const LONGEST_FIRST_PAUSE: Duration = Duration::from_secs(30);
/// Then a real attempt must tell: who runs `ci` wants to know,
const CI_LIMIT: Duration = Duration::from_secs(30);
/// and a question to a registry may fail where the work would not.
const REGISTRY_LIMIT: Duration = Duration::from_secs(600);

/// One that has seemed to be over `attempts` times is given more time each time.
pub(crate) async fn run(context: Context, outage: Outage, id: u64, attempts: u32, immediate: bool) {
    let pause = if immediate { Duration::ZERO } else { first_pause(attempts) };
    tokio::select! {
        () = wait(&context, &outage, pause) => context.send(Event::OutageOver { outage: id }).await,
        () = context.cancel.cancelled() => {}
    }
}

fn first_pause(attempts: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2u32.saturating_pow(attempts)).min(LONGEST_FIRST_PAUSE)
}

/// Until it is over, or a real attempt must tell. The first probe comes after `first_pause`.
async fn wait(context: &Context, outage: &Outage, first_pause: Duration) {
    let limit = match outage.unreachable {
        _ if context.settings.mode == Mode::Ci => Some(CI_LIMIT),
        Unreachable::Registry(_) => Some(REGISTRY_LIMIT),
        Unreachable::DockerEngine | Unreachable::Cluster | Unreachable::Machine => None,
    };
    let end = limit.map(|limit| Instant::now() + limit);
    tokio::time::sleep(first_pause).await;
    let mut pause = FIRST_PAUSE;
    while end.is_none_or(|end| Instant::now() < end) && !is_over(context, outage).await {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Of work for no resource, which the engine does not begin again.
pub(crate) struct OutageRetry<'c> {
    context: &'c Context,
    cluster: &'c ClusterName,
    span: Span,
    deadline: Option<Instant>,
    attempts: u32,
}

impl<'c> OutageRetry<'c> {
    pub(crate) fn new(context: &'c Context, cluster: &'c ClusterName, span: Span) -> Self {
        Self { context, cluster, span, deadline: api_retry::deadline(context, CI_LIMIT), attempts: 0 }
    }

    /// Waits until the unreachable dependency responds. Returns a failure that has another reason.
    pub(crate) async fn wait_out(&mut self, failure: Failure) -> Result<(), Failure> {
        let Some(unreachable) = failure.unreachable().cloned() else { return Err(failure) };
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(failure);
        }
        let condition = unreachable.return_condition();
        let words = format!("ERROR: {failure}\nIt begins again by itself when {condition}");
        self.span.print(Level::Error, &words);
        let outage = Outage { cluster: self.cluster.clone(), unreachable };
        wait(self.context, &outage, first_pause(self.attempts)).await;
        self.attempts = self.attempts.saturating_add(1);
        Ok(())
    }
}

/// Whether it seems to be over.
pub(super) async fn is_over(context: &Context, outage: &Outage) -> bool {
    match &outage.unreachable {
        Unreachable::Cluster => match context.cluster(&outage.cluster) {
            Ok(cluster) => cluster.answers(RESPONSE_TIMEOUT).await,
            Err(_) => false,
        },
        // Whether there is memory or room on the disk is seen by another attempt.
        Unreachable::Machine => lilt_host::limits::has_spare_files(),
        unreachable => match engine(context, &outage.cluster) {
            Ok(engine) => {
                tokio::time::timeout(RESPONSE_TIMEOUT, engine.is_back(unreachable)).await.unwrap_or(false)
            }
            Err(_) => false,
        },
    }
}
