//! A timeout for applying one object that is paused while another object is being deleted.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The deadline; none while it is paused. A channel because `run` has to be woken when it changes.
pub(super) struct PausableTimeout(watch::Sender<Option<Instant>>);

impl PausableTimeout {
    pub(super) fn new(time: Duration) -> Self {
        Self(watch::Sender::new(Some(Instant::now() + time)))
    }

    /// Runs `work`; returns none if the time is up first.
    pub(super) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut changes = self.0.subscribe();
        tokio::pin!(work);
        loop {
            let until = *changes.borrow_and_update();
            let elapsed = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                // The sender is a field of `self`, so the channel is open.
                _ = changes.changed() => {}
                () = elapsed => return None,
            }
        }
    }

    /// Stops the clock and returns the remaining time.
    pub(super) fn pause(&self) -> Duration {
        let until = self.0.send_replace(None);
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    pub(super) fn resume(&self, rest: Duration) {
        self.0.send_replace(Some(Instant::now() + rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn timeout_stands_still_while_paused() {
        let limit = PausableTimeout::new(SECOND * 3);
        let work = async {
            tokio::time::sleep(SECOND).await;
            let rest = limit.pause();
            tokio::time::sleep(SECOND * 60).await;
            limit.resume(rest);
            tokio::time::sleep(SECOND).await;
            rest
        };
        assert_eq!(limit.run(work).await, Some(SECOND * 2));

        let begin = Instant::now();
        let limit = PausableTimeout::new(SECOND * 3);
        let work = async {
            let rest = limit.pause();
            tokio::time::sleep(SECOND * 60).await;
            limit.resume(rest);
            std::future::pending::<()>().await;
        };
        assert_eq!(limit.run(work).await, None);
        assert_eq!(begin.elapsed().as_secs(), 63);
    }
}
