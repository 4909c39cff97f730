//! An API server that goes away in the middle of something usually comes back: what it was asked for is asked again.

use std::time::Duration;

use lilt_cluster::{Cluster, is_unreachable};
use lilt_model::Failure;
use tokio::time::Instant;

const PAUSE: Duration = Duration::from_millis(500);

/// With one piece of work, until the API server has answered.
pub(crate) struct Patience<'c> {
    cluster: &'c Cluster,
    /// None: it has no end.
    deadline: Option<Instant>,
    told: bool,
    /// It was found to be away after the last attempt.
    away: bool,
}

impl<'c> Patience<'c> {
    pub(crate) fn new(cluster: &'c Cluster, deadline: Option<Instant>) -> Self {
        Self { cluster, deadline, told: false, away: false }
    }

    /// Whether to try again after a failure, which is told once; waits a little before.
    pub(crate) async fn lasts(&mut self, failure: &Failure, tell: impl FnOnce(&str)) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return false;
        }
        // What takes too long may be the server's silence; an attempt that began in it has not had its time.
        let away = is_unreachable(failure) || !self.cluster.answers().await;
        if !away && !self.away {
            return false;
        }
        self.away = away;
        if !std::mem::replace(&mut self.told, true) {
            tell(&format!("{}; trying again", failure.message));
        }
        tokio::time::sleep(PAUSE).await;
        true
    }
}
