//! Probes an unreachable dependency until it responds.

use std::time::Duration;

use lilt_engine::{Event, Outage};
use lilt_model::log::Level;
use lilt_model::{ClusterName, Failure, Unreachable};
use lilt_store::Span;
use tokio::time::Instant;

use super::api_retry;
use crate::context::Context;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Updates should continue within seconds after the dependency is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A slower response counts as none.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause before the next probe if the dependency seemed to be back, but the update failed again.
const LONGEST_FIRST_PAUSE: Duration = Duration::from_secs(30);
/// After this time `ci` repeats the work, and reports its failure.
const CI_LIMIT: Duration = Duration::from_secs(30);
/// After this time the work is repeated: a probe of a registry may fail where the push would not.
const REGISTRY_LIMIT: Duration = Duration::from_secs(600);

/// Reports the end of an outage. The pause before the first probe grows with `attempts`: how often it seemed to be over.
pub(crate) async fn run(
    context: Context,
    outage: Outage,
    id: u64,
    attempts: u32,
    immediate: bool,
    limit: Option<Duration>,
) {
    let pause = if immediate { Duration::ZERO } else { first_pause(attempts) };
    tokio::select! {
        () = wait(&context, &outage, pause, limit) => context.send(Event::OutageOver { outage: id }).await,
        () = context.cancel.cancelled() => {}
    }
}

fn first_pause(attempts: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2u32.saturating_pow(attempts)).min(LONGEST_FIRST_PAUSE)
}

/// Waits until the outage is over or the time limit is reached. The first probe comes after `first_pause`.
async fn wait(context: &Context, outage: &Outage, first_pause: Duration, limit: Option<Duration>) {
    probe_until(first_pause, limit, || is_over(context, outage)).await;
}

/// Probes with growing pauses until a probe succeeds, or until no time is left.
async fn probe_until<F: Future<Output = bool>>(
    first_pause: Duration,
    limit: Option<Duration>,
    probe: impl Fn() -> F,
) {
    let end = limit.map(|limit| Instant::now() + limit);
    tokio::time::sleep(first_pause).await;
    let mut pause = FIRST_PAUSE;
    while end.is_none_or(|end| Instant::now() < end) && !probe().await {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Retries work that the engine does not repeat after an outage, because it belongs to no resource.
pub(crate) struct OutageRetry<'c> {
    context: &'c Context,
    cluster: &'c ClusterName,
    span: Span,
    unattended: bool,
    deadline: Option<Instant>,
    attempts: u32,
}

impl<'c> OutageRetry<'c> {
    pub(crate) fn new(context: &'c Context, cluster: &'c ClusterName, span: Span, unattended: bool) -> Self {
        let deadline = api_retry::deadline(unattended, CI_LIMIT);
        Self { context, cluster, span, unattended, deadline, attempts: 0 }
    }

    /// Waits until the unreachable dependency responds. Returns a failure of another kind at once.
    pub(crate) async fn wait_out(&mut self, failure: Failure) -> Result<(), Failure> {
        let Some(unreachable) = failure.unreachable().cloned() else { return Err(failure) };
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(failure);
        }
        let condition = unreachable.return_condition();
        let message = format!("ERROR: {failure}\nIt begins again by itself when {condition}");
        self.span.print(Level::Error, &message);
        let outage = Outage { cluster: self.cluster.clone(), unreachable };
        let limit = match outage.unreachable {
            _ if self.unattended => Some(CI_LIMIT),
            Unreachable::Registry(_) => Some(REGISTRY_LIMIT),
            Unreachable::DockerEngine | Unreachable::Cluster | Unreachable::Machine => None,
        };
        wait(self.context, &outage, first_pause(self.attempts), limit).await;
        self.attempts = self.attempts.saturating_add(1);
        Ok(())
    }
}

/// Probes the dependency, and returns whether it seems to be back.
pub(super) async fn is_over(context: &Context, outage: &Outage) -> bool {
    match &outage.unreachable {
        Unreachable::Cluster => match context.connections.cluster(&outage.cluster) {
            Ok(cluster) => cluster.is_reachable(RESPONSE_TIMEOUT).await,
            Err(_) => false,
        },
        // Whether there is enough memory and disk space is seen by the next attempt.
        Unreachable::Machine => lilt_host::limits::has_spare_files(),
        unreachable => match context.connections.build_engine(&outage.cluster) {
            Ok(engine) => tokio::time::timeout(RESPONSE_TIMEOUT, engine.is_reachable_again(unreachable))
                .await
                .unwrap_or(false),
            Err(_) => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::test_support::{idle, sent_events, test_context};

    fn outage(unreachable: Unreachable) -> Outage {
        Outage { cluster: ClusterName::default(), unreachable }
    }

    #[tokio::test(start_paused = true)]
    async fn end_of_an_outage_is_reported_once() {
        let (context, mut sent) = test_context();
        run(context, outage(Unreachable::Machine), 7, 0, false, None).await;
        assert!(matches!(*sent_events(&mut sent), [Event::OutageOver { outage: 7 }]));
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_probing_ends_without_a_report() {
        let (context, mut sent) = test_context();
        let cancel = context.cancel.clone();
        let running = tokio::spawn(run(context, outage(Unreachable::Cluster), 7, 0, true, None));
        idle().await;
        assert!(!running.is_finished(), "no cluster responds");
        cancel.cancel();
        running.await.unwrap();
        assert!(sent_events(&mut sent).is_empty());
    }

    /// Returns the times of the probes in milliseconds. The first that succeeds has the number `success`.
    async fn probes(first_pause: Duration, limit: Option<Duration>, success: usize) -> Vec<u128> {
        let (begin, times) = (Instant::now(), RefCell::new(Vec::new()));
        let probe = || async {
            times.borrow_mut().push(begin.elapsed().as_millis());
            times.borrow().len() == success
        };
        probe_until(first_pause, limit, probe).await;
        times.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn outage_is_probed_with_growing_pauses_until_it_is_over() {
        let times = probes(Duration::from_millis(500), None, 6).await;
        assert_eq!(times, [500, 1000, 2000, 4000, 6000, 8000]);
    }

    #[tokio::test(start_paused = true)]
    async fn requested_probe_comes_at_once() {
        assert_eq!(probes(Duration::ZERO, None, 2).await, [0, 500]);
    }

    #[tokio::test(start_paused = true)]
    async fn probing_ends_after_its_time_limit() {
        let times = probes(Duration::ZERO, Some(Duration::from_secs(5)), usize::MAX).await;
        assert_eq!(times, [0, 500, 1500, 3500]);
    }

    #[test]
    fn outage_that_seemed_to_be_over_is_given_more_time_each_time() {
        let seconds = |attempts| first_pause(attempts).as_millis();
        assert_eq!([0, 1, 2, 5].map(seconds), [500, 1000, 2000, 16_000]);
        assert_eq!([6, 100, u32::MAX].map(seconds), [30_000; 3]);
    }
}
