//! The current time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use lilt_model::Timestamp;

pub fn now() -> Timestamp {
    Timestamp::ZERO.plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Returns a point of the monotonic clock, for code that has no tokio runtime.
pub fn instant() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_in_this_century() {
        assert!(now() > Timestamp::from_rfc3339("2024-01-01T00:00:00Z").expect("a time"));
        assert!(now() < Timestamp::from_rfc3339("2124-01-01T00:00:00Z").expect("a time"));
    }
}
