//! Retries requests to an API server that becomes unreachable while they run. It usually comes back.

use std::time::Duration;

use lilt_cluster::{Cluster, is_unreachable};
use lilt_engine::Mode;
use lilt_model::Failure;
use tokio::time::Instant;

use crate::context::Context;

const PAUSE: Duration = Duration::from_millis(500);
/// How often the API server is probed while a request runs.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// A slower response counts as none.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns when to give up on an unreachable cluster. `up` never does, `ci` does after `limit`.
pub(crate) fn deadline(context: &Context, limit: Duration) -> Option<Instant> {
    (context.settings.mode == Mode::Ci).then(|| Instant::now() + limit)
}

/// The attempts of one request.
pub(crate) struct ApiRetry<'c> {
    cluster: &'c Cluster,
    /// None: it is retried for ever.
    deadline: Option<Instant>,
    reported: bool,
    /// The server did not respond during the last attempt, or after it.
    unreachable: bool,
}

impl<'c> ApiRetry<'c> {
    pub(crate) fn new(cluster: &'c Cluster, deadline: Option<Instant>) -> Self {
        Self { cluster, deadline, reported: false, unreachable: false }
    }

    /// Runs one attempt, and records whether the server responded all the time. A timeout without that is no failure of the request.
    pub(crate) async fn attempt<T>(&mut self, work: impl Future<Output = T>) -> T {
        let cluster = self.cluster;
        let mut missed = false;
        let result = {
            let heartbeat = async {
                loop {
                    tokio::time::sleep(HEARTBEAT).await;
                    missed |= !cluster.is_reachable(HEARTBEAT).await;
                }
            };
            tokio::select! {
                result = work => result,
                () = heartbeat => unreachable!("invariant: it beats for ever"),
            }
        };
        self.unreachable |= missed;
        result
    }

    /// Returns whether to retry after a failure, after a short pause. Reports the first failure.
    pub(crate) async fn should_retry(&mut self, failure: &Failure, report: impl FnOnce(&str)) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return false;
        }
        let unreachable = is_unreachable(failure) || !self.cluster.is_reachable(RESPONSE_TIMEOUT).await;
        if !unreachable && !self.unreachable {
            return false;
        }
        self.unreachable = unreachable;
        if !std::mem::replace(&mut self.reported, true) {
            report(&format!("{}; trying again", failure.message));
        }
        tokio::time::sleep(PAUSE).await;
        true
    }
}
