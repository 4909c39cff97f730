//! Readiness probes of servers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A readiness probe.
///
/// A number of 0 means the default: no initial delay, a timeout of 1 second, a period of 10 seconds, ready after 1
/// success, unready after 3 failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub initial_delay_secs: i32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timeout_secs: i32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub period_secs: i32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub success_threshold: i32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failure_threshold: i32,
    pub action: ProbeAction,
}

impl Probe {
    /// Creates a probe with all numbers at their defaults.
    pub fn new(action: ProbeAction) -> Self {
        Self {
            initial_delay_secs: 0,
            timeout_secs: 0,
            period_secs: 0,
            success_threshold: 0,
            failure_threshold: 0,
            action,
        }
    }

    pub fn initial_delay(&self) -> Duration {
        seconds(self.initial_delay_secs, 0)
    }

    /// Returns the timeout of one attempt.
    pub fn timeout(&self) -> Duration {
        seconds(self.timeout_secs, 1)
    }

    pub fn period(&self) -> Duration {
        seconds(self.period_secs, 10)
    }

    /// Returns the number of consecutive successes that make it ready.
    pub fn successes(&self) -> u32 {
        positive(self.success_threshold, 1)
    }

    /// Returns the number of consecutive failures that make it unready.
    pub fn failures(&self) -> u32 {
        positive(self.failure_threshold, 3)
    }
}

/// Derives readiness from consecutive attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeStreak {
    /// None: not known yet.
    ready: Option<bool>,
    last: Option<bool>,
    length: u32,
}

impl ProbeStreak {
    pub fn is_ready(&self) -> bool {
        self.ready == Some(true)
    }

    /// Records an attempt. Returns whether readiness changed or became known.
    pub fn record(&mut self, probe: &Probe, success: bool) -> bool {
        self.length = if self.last == Some(success) { self.length.saturating_add(1) } else { 1 };
        self.last = Some(success);
        let needed = if success { probe.successes() } else { probe.failures() };
        if self.length < needed || self.ready == Some(success) {
            return false;
        }
        self.ready = Some(success);
        true
    }
}

fn positive(value: i32, default: u32) -> u32 {
    u32::try_from(value).ok().filter(|value| *value > 0).unwrap_or(default)
}

fn seconds(value: i32, default: u32) -> Duration {
    Duration::from_secs(positive(value, default).into())
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeAction {
    /// Ready if the command exits with 0.
    Exec { command: Vec<String> },
    /// Ready if the response is a success or a redirect. Empty fields have defaults: `localhost`, `HTTP`, `/`.
    HttpGet {
        /// Not validated. An attempt fails if it is not a port.
        port: i32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        host: String,
        /// In upper case, otherwise not validated.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        scheme: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        path: String,
        /// Sent with the request.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        headers: Vec<(String, String)>,
    },
    /// Ready if the port accepts a connection.
    TcpSocket {
        /// Not validated. An attempt fails if it is not a port.
        port: i32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        host: String,
    },
}

// serde passes references to these predicates.
fn is_zero(value: &i32) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_changes_after_enough_attempts_in_a_row() {
        let action = ProbeAction::Exec { command: vec!["true".into()] };
        let probe = Probe { success_threshold: 2, failure_threshold: 3, ..Probe::new(action) };
        let mut streak = ProbeStreak::default();
        let decided: Vec<(bool, bool)> =
            [true, false, true, true, true, false, false, true, false, false, false]
                .into_iter()
                .map(|success| (streak.record(&probe, success), streak.is_ready()))
                .collect();
        let expected = [
            (false, false),
            (false, false),
            (false, false),
            (true, true),
            (false, true),
            (false, true),
            (false, true),
            (false, true),
            (false, true),
            (false, true),
            (true, false),
        ];
        assert_eq!(decided, expected);
    }

    #[test]
    fn numbers_default_to_those_of_kubernetes() {
        let probe = Probe::new(ProbeAction::TcpSocket { port: 1, host: String::new() });
        let numbers = (probe.initial_delay(), probe.timeout(), probe.period());
        assert_eq!(numbers, (Duration::ZERO, Duration::from_secs(1), Duration::from_secs(10)));
        assert_eq!((probe.successes(), probe.failures()), (1, 3));
    }
}
