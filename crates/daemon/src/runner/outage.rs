//! Probes an unreachable dependency until it responds.

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
/// Updates should continue within seconds after the dependency is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A slower response counts as none.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause before the next probe if the dependency seemed to be back, but the update failed again.
const LONGEST_FIRST_PAUSE: Duration = Duration::from_secs(30);
/// After this time `ci` tries the update again, and reports its failure.
const CI_LIMIT: Duration = Duration::from_secs(30);
/// After this time the update is tried again: a probe of a registry may fail where the push would not.
const REGISTRY_LIMIT: Duration = Duration::from_secs(600);

/// Reports the end of an outage. The pause before the first probe grows with `attempts`: how often it seemed to be over.
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

/// Waits until the outage is over or its time limit is reached. The first probe comes after `first_pause`.
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

/// Retries work that the engine does not repeat after an outage, because it belongs to no resource.
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

    /// Waits until the unreachable dependency responds. Returns a failure of another kind at once.
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

/// Probes the dependency, and returns whether it seems to be back.
pub(super) async fn is_over(context: &Context, outage: &Outage) -> bool {
    match &outage.unreachable {
        Unreachable::Cluster => match context.cluster(&outage.cluster) {
            Ok(cluster) => cluster.is_reachable(RESPONSE_TIMEOUT).await,
            Err(_) => false,
        },
        // Whether there is enough memory and disk space is seen by the next attempt.
        Unreachable::Machine => lilt_host::limits::has_spare_files(),
        unreachable => match engine(context, &outage.cluster) {
            Ok(engine) => tokio::time::timeout(RESPONSE_TIMEOUT, engine.is_reachable_again(unreachable))
                .await
                .unwrap_or(false),
            Err(_) => false,
        },
    }
}
