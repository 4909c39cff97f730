//! Retries requests to an API server that becomes unreachable while they run. It usually comes back.

use std::time::Duration;

use lilt_cluster::{Cluster, is_unreachable};
use lilt_model::Failure;
use tokio::time::Instant;

const PAUSE: Duration = Duration::from_millis(500);
/// How often the API server is probed while a request runs.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// A slower response counts as none.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns when to give up on an unreachable cluster: after `limit` if nobody attends the session, otherwise never.
pub(crate) fn deadline(unattended: bool, limit: Duration) -> Option<Instant> {
    unattended.then(|| Instant::now() + limit)
}

/// Probes an API server.
pub(crate) trait ApiServer {
    /// Returns whether it responds within this time.
    fn responds(&self, within: Duration) -> impl Future<Output = bool> + Send;
}

impl ApiServer for Cluster {
    async fn responds(&self, within: Duration) -> bool {
        self.is_reachable(within).await
    }
}

/// The attempts of one request.
pub(crate) struct ApiRetry<'c, S> {
    server: &'c S,
    /// None: it is retried for ever.
    deadline: Option<Instant>,
    reported: bool,
    /// The server did not respond during the last attempt, or after it.
    unreachable: bool,
}

impl<'c, S: ApiServer> ApiRetry<'c, S> {
    pub(crate) fn new(server: &'c S, deadline: Option<Instant>) -> Self {
        Self { server, deadline, reported: false, unreachable: false }
    }

    /// Runs one attempt, and records whether the server responded all the time. A timeout without that is no failure of the request.
    pub(crate) async fn attempt<T>(&mut self, work: impl Future<Output = T>) -> T {
        let server = self.server;
        let mut missed = false;
        let result = {
            let heartbeat = async {
                loop {
                    tokio::time::sleep(HEARTBEAT).await;
                    missed |= !server.responds(HEARTBEAT).await;
                }
            };
            tokio::select! {
                result = work => result,
                () = heartbeat => unreachable!("invariant: the heartbeat never ends"),
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
        let unreachable = is_unreachable(failure) || !self.server.responds(RESPONSE_TIMEOUT).await;
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

#[cfg(test)]
mod tests {
    use lilt_model::Unreachable;
    use tokio::time::sleep;

    use super::*;

    /// A server that does not respond between two times.
    struct TestServer {
        begin: Instant,
        outage: std::ops::Range<u64>,
    }

    impl TestServer {
        fn with_outage(outage: std::ops::Range<u64>) -> Self {
            Self { begin: Instant::now(), outage }
        }
    }

    impl ApiServer for TestServer {
        async fn responds(&self, _within: Duration) -> bool {
            !self.outage.contains(&self.begin.elapsed().as_secs())
        }
    }

    /// Makes an attempt that fails after so many seconds. Returns whether it is retried, and what was reported.
    async fn attempt(
        retry: &mut ApiRetry<'_, TestServer>,
        seconds: u64,
        failure: &Failure,
    ) -> (bool, Option<String>) {
        retry.attempt(sleep(Duration::from_secs(seconds))).await;
        let mut reported = None;
        let retries = retry.should_retry(failure, |text| reported = Some(text.to_owned())).await;
        (retries, reported)
    }

    fn timeout() -> Failure {
        Failure::environment("not applied in time")
    }

    fn unreachable() -> Failure {
        Failure::environment("connection refused").of_kind(Unreachable::Cluster)
    }

    #[tokio::test(start_paused = true)]
    async fn failure_of_a_server_that_responds_is_not_retried() {
        let server = TestServer::with_outage(0..0);
        let mut retry = ApiRetry::new(&server, None);
        assert_eq!(attempt(&mut retry, 5, &timeout()).await, (false, None));
    }

    #[tokio::test(start_paused = true)]
    async fn unreachable_server_is_retried_and_reported_once() {
        let server = TestServer::with_outage(0..100);
        let mut retry = ApiRetry::new(&server, None);
        let first = attempt(&mut retry, 0, &unreachable()).await;
        assert_eq!(first, (true, Some("connection refused; trying again".to_owned())));
        for _ in 0..50 {
            assert_eq!(attempt(&mut retry, 0, &unreachable()).await, (true, None));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn timeout_is_retried_if_the_server_was_unreachable_meanwhile() {
        let server = TestServer::with_outage(3..5);
        let mut retry = ApiRetry::new(&server, None);
        assert!(attempt(&mut retry, 10, &timeout()).await.0, "it had not the time");
        assert!(!attempt(&mut retry, 10, &timeout()).await.0, "now it had");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_retried_after_the_deadline() {
        let server = TestServer::with_outage(0..100);
        let mut retry = ApiRetry::new(&server, Some(Instant::now() + Duration::from_secs(30)));
        assert!(attempt(&mut retry, 29, &unreachable()).await.0);
        assert!(!attempt(&mut retry, 1, &unreachable()).await.0);
    }

    #[tokio::test(start_paused = true)]
    async fn result_of_an_attempt_is_passed_on() {
        let server = TestServer::with_outage(0..100);
        assert_eq!(ApiRetry::new(&server, None).attempt(async { 7 }).await, 7);
    }
}
