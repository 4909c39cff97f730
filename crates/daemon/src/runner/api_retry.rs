//! An API server that goes unreachable in the middle of something usually comes back: what it was asked for is asked again.

use std::time::Duration;

use lilt_cluster::{Cluster, is_unreachable};
use lilt_engine::Mode;
use lilt_model::Failure;
use tokio::time::Instant;

use crate::context::Context;

const PAUSE: Duration = Duration::from_millis(500);
/// Work that takes longer than this is watched: is the server still there?
const HEARTBEAT: Duration = Duration::from_secs(1);
/// An answer that takes longer than this is none.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A session waits for its cluster, however long that is unreachable; who runs `ci` wants to know.
pub(crate) fn deadline(context: &Context, limit: Duration) -> Option<Instant> {
    (context.settings.mode == Mode::Ci).then(|| Instant::now() + limit)
}

/// With one piece of work, until the API server has answered.
pub(crate) struct ApiRetry<'c> {
    cluster: &'c Cluster,
    /// None: it has no end.
    deadline: Option<Instant>,
    reported: bool,
    /// The server was missed during the last attempt, or after it.
    unreachable: bool,
}

impl<'c> ApiRetry<'c> {
    pub(crate) fn new(cluster: &'c Cluster, deadline: Option<Instant>) -> Self {
        Self { cluster, deadline, reported: false, unreachable: false }
    }

    /// Works, and notes whether the server was there all the time: what was too slow in its silence has not had its time.
    pub(crate) async fn attempt<T>(&mut self, work: impl Future<Output = T>) -> T {
        let cluster = self.cluster;
        let mut missed = false;
        let result = {
            let heartbeat = async {
                loop {
                    tokio::time::sleep(HEARTBEAT).await;
                    missed |= !cluster.answers(HEARTBEAT).await;
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

    /// Whether to try again after a failure, which is reported once; waits a little before.
    pub(crate) async fn should_retry(&mut self, failure: &Failure, report: impl FnOnce(&str)) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return false;
        }
        let unreachable = is_unreachable(failure) || !self.cluster.answers(RESPONSE_TIMEOUT).await;
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
