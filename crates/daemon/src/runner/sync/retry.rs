//! Decides whether a failed attempt to update a container is repeated.

use std::time::Duration;

use lilt_model::{Class, Failure};
use tokio::time::Instant;

/// How often something is tried while the API server responds.
const ATTEMPTS: u32 = 4;

const TIMING: Timing = Timing {
    pause: Duration::from_millis(250),
    longest_pause: Duration::from_secs(1),
    startup: Duration::from_secs(10),
};

struct Timing {
    /// Between two attempts.
    pause: Duration,
    /// Between two checks of an API server that stays unreachable.
    longest_pause: Duration,
    /// An API server that has just started may refuse what it allows a moment later.
    startup: Duration,
}

/// The failed attempts of one update of one container.
pub(super) struct Retries {
    timing: Timing,
    attempts: u32,
    /// Failures before this time are blamed on the start of the API server.
    startup_ends: Option<Instant>,
    /// No retries after this time.
    deadline: Option<Instant>,
    has_reported: bool,
    /// The API server was unreachable for an attempt and responded right after it.
    came_back: bool,
}

impl Retries {
    pub(super) fn new(deadline: Option<Instant>) -> Self {
        Self {
            timing: TIMING,
            attempts: 0,
            startup_ends: None,
            deadline,
            has_reported: false,
            came_back: false,
        }
    }

    /// Waits until another attempt is worth it. Returns false if it is not.
    ///
    /// Waits for an unreachable API server, or whatever else `check_reachable` checks, however long that takes: a build and a
    /// deploy would need it as well, and would replace a pod that runs. `report` gets the reason for the wait, once.
    pub(super) async fn wait<Check, Report>(
        &mut self,
        failure: &Failure,
        check_reachable: impl Fn() -> Check,
        report: impl FnOnce(Failure) -> Report,
    ) -> bool
    where
        Check: Future<Output = Result<(), Failure>>,
        Report: Future<Output = ()>,
    {
        if failure.class() != Class::Environment || self.is_too_late() {
            return false;
        }
        self.attempts += 1;
        if self.attempts < ATTEMPTS {
            tokio::time::sleep(self.timing.pause).await;
            return true;
        }
        let Err(cause) = check_reachable().await else {
            // It may have come back this moment. Where only such connections fail, as behind some proxies, once is enough.
            let is_back = failure.unreachable().is_some() && !std::mem::replace(&mut self.came_back, true);
            let is_starting = self.startup_ends.is_some_and(|end| Instant::now() < end);
            if is_back || is_starting {
                tokio::time::sleep(self.timing.pause).await;
            }
            return is_back || is_starting;
        };
        if !std::mem::replace(&mut self.has_reported, true) {
            report(cause).await;
        }
        let mut pause = self.timing.pause;
        loop {
            tokio::time::sleep(pause).await;
            if check_reachable().await.is_ok() {
                break;
            }
            if self.is_too_late() {
                return false;
            }
            pause = (pause * 2).min(self.timing.longest_pause);
        }
        self.attempts = 0;
        self.startup_ends = Some(Instant::now() + self.timing.startup);
        true
    }

    fn is_too_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use lilt_model::Unreachable;

    use super::*;

    fn refused() -> Failure {
        Failure::environment("connection refused").of_kind(Unreachable::Cluster)
    }

    fn lost() -> Failure {
        Failure::environment("lost the channel")
    }

    const HOUR: Duration = Duration::from_secs(3600);
    const PAUSE: Duration = Duration::from_millis(1);

    fn retries(startup: Duration, deadline: Option<Instant>) -> Retries {
        let timing = Timing { pause: PAUSE, longest_pause: PAUSE, startup };
        Retries { timing, ..Retries::new(deadline) }
    }

    /// Waits once after a failure, with an API server that responds after so many checks. Returns the outcome and how
    /// many reasons for the wait were reported.
    async fn wait(retries: &mut Retries, failure: &Failure, unreachable_checks: u32) -> (bool, u32) {
        let (checks, reports) = (Cell::new(0), Cell::new(0));
        let check = || async {
            checks.set(checks.get() + 1);
            if checks.get() <= unreachable_checks { Err(refused()) } else { Ok(()) }
        };
        let report = |_| async { reports.set(reports.get() + 1) };
        let is_worth_it = retries.wait(failure, check, report).await;
        (is_worth_it, reports.get())
    }

    async fn exhaust_attempts(retries: &mut Retries) {
        for _ in 1..ATTEMPTS {
            assert_eq!(wait(retries, &lost(), 0).await, (true, 0));
        }
    }

    #[tokio::test]
    async fn unreachable_api_server_is_waited_for_and_reported_once() {
        let engine = Failure::environment("no engine").of_kind(Unreachable::DockerEngine);
        for failure in [refused(), lost(), engine] {
            let mut retries = retries(HOUR, None);
            exhaust_attempts(&mut retries).await;
            assert_eq!(wait(&mut retries, &failure, 50).await, (true, 1), "{failure}");
            exhaust_attempts(&mut retries).await;
            assert_eq!(wait(&mut retries, &failure, 50).await, (true, 0), "{failure}");
        }
    }

    #[tokio::test]
    async fn failures_after_an_outage_are_retried_while_the_api_server_starts() {
        for (startup, is_worth_it) in [(HOUR, true), (Duration::ZERO, false)] {
            let mut retries = retries(startup, None);
            exhaust_attempts(&mut retries).await;
            assert_eq!(wait(&mut retries, &refused(), 3).await, (true, 1));
            exhaust_attempts(&mut retries).await;
            assert_eq!(wait(&mut retries, &lost(), 0).await, (is_worth_it, 0));
        }
    }

    #[tokio::test]
    async fn failures_while_the_api_server_responds_end_the_retries() {
        let mut lossy = retries(HOUR, None);
        exhaust_attempts(&mut lossy).await;
        assert_eq!(wait(&mut lossy, &lost(), 0).await, (false, 0));
        // One more attempt if the API server comes back between attempt and check.
        let mut refusing = retries(HOUR, None);
        exhaust_attempts(&mut refusing).await;
        assert_eq!(wait(&mut refusing, &refused(), 0).await, (true, 0));
        assert_eq!(wait(&mut refusing, &refused(), 0).await, (false, 0));
    }

    #[tokio::test]
    async fn deadline_and_user_errors_end_the_wait() {
        let mut late = retries(HOUR, Some(Instant::now() + 20 * PAUSE));
        while wait(&mut late, &refused(), u32::MAX).await.0 {}
        let user = Failure::user("no tar in the container");
        assert_eq!(wait(&mut retries(HOUR, None), &user, 0).await, (false, 0));
    }
}
