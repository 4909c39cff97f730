//! Writes to a cluster that are in flight when their task is cancelled.
//!
//! A request that was sent may take effect although nobody waits for its response. A cancelled task therefore lets it
//! finish. The task table starts deletions of the resource's objects only after the task has ended.

use lilt_model::{Failure, FailureKind};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::context::GRACE;

/// The write requests of one task.
#[derive(Debug)]
pub(crate) struct Writes {
    /// One permit: a task sends one write request at a time.
    requests: Semaphore,
    cancel: CancellationToken,
    shutdown: CancellationToken,
}

/// A write request in flight, until it is dropped.
pub(crate) type WriteInFlight<'w> = SemaphorePermit<'w>;

impl Writes {
    pub(crate) fn new(cancel: CancellationToken, shutdown: CancellationToken) -> Self {
        Self { requests: Semaphore::new(1), cancel, shutdown }
    }

    /// Begins a write request. Fails if the task is cancelled.
    pub(crate) async fn begin_write(&self) -> Result<WriteInFlight<'_>, Failure> {
        let permit = self.requests.acquire().await;
        let permit = permit.map_err(|_| Failure::internal("write requests of the task are closed"))?;
        match self.cancel.is_cancelled() {
            true => Err(Failure::new(FailureKind::Cancelled, "it is no longer wanted")),
            false => Ok(permit),
        }
    }

    /// Runs `work` to its end. When the task is cancelled, returns none after the write in flight has finished.
    ///
    /// Gives up on a request that takes longer than [`GRACE`], or at the end of the session.
    pub(crate) async fn drain_writes<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            result = &mut work => return Some(result),
        }
        tokio::select! {
            biased;
            _ = self.requests.acquire() => {}
            _ = work => {}
            () = self.shutdown.cancelled() => {}
            () = tokio::time::sleep(GRACE) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    struct Fixture {
        writes: Writes,
        cancel: CancellationToken,
        shutdown: CancellationToken,
    }

    fn fixture() -> Fixture {
        let (cancel, shutdown) = (CancellationToken::new(), CancellationToken::new());
        Fixture { writes: Writes::new(cancel.clone(), shutdown.clone()), cancel, shutdown }
    }

    /// Sends a request that takes so many seconds, then another.
    async fn two_requests(writes: &Writes, seconds: u64) -> Result<(), Failure> {
        let write = writes.begin_write().await?;
        sleep(Duration::from_secs(seconds)).await;
        drop(write);
        let _write = writes.begin_write().await?;
        std::future::pending().await
    }

    async fn cancel_after(token: &CancellationToken, seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
        token.cancel();
        std::future::pending::<()>().await;
    }

    /// Returns after how many seconds the work ends if the tokens are cancelled at these times.
    async fn seconds(request: u64, cancel: u64, shutdown: u64) -> u64 {
        let fixture = fixture();
        let begin = Instant::now();
        let work = fixture.writes.drain_writes(two_requests(&fixture.writes, request));
        let result = tokio::select! {
            result = work => result,
            () = cancel_after(&fixture.cancel, cancel) => unreachable!(),
            () = cancel_after(&fixture.shutdown, shutdown) => unreachable!(),
        };
        assert!(result.is_none());
        begin.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_task_finishes_the_write_in_flight_and_no_other() {
        assert_eq!(seconds(5, 2, 100).await, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn write_in_flight_is_given_up_after_the_grace_period_or_at_shutdown() {
        assert_eq!(seconds(60, 2, 100).await, 2 + GRACE.as_secs());
        assert_eq!(seconds(60, 2, 4).await, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_task_without_a_write_in_flight_ends_at_once() {
        let fixture = fixture();
        let begin = Instant::now();
        let work = fixture.writes.drain_writes(sleep(Duration::from_secs(60)));
        let result = tokio::select! {
            result = work => result,
            () = cancel_after(&fixture.cancel, 3) => unreachable!(),
        };
        assert!(result.is_none());
        assert_eq!(begin.elapsed().as_secs(), 3);
        let begun = fixture.writes.begin_write().await.map(drop);
        assert_eq!(begun.map_err(|failure| failure.kind), Err(FailureKind::Cancelled));
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_is_not_cancelled_runs_to_its_end() {
        let fixture = fixture();
        assert_eq!(fixture.writes.drain_writes(async { 7 }).await, Some(7));
    }
}
