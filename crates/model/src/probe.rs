//! How to find out whether a server is ready.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number of 0 means the default: no delay, 1 second of patience, every 10 seconds, ready after 1 success, no longer
/// ready after 3 failures.
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
    /// With every number at its default.
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

    /// How long one attempt may take.
    pub fn timeout(&self) -> Duration {
        seconds(self.timeout_secs, 1)
    }

    pub fn period(&self) -> Duration {
        seconds(self.period_secs, 10)
    }

    /// So many successes in a row make it ready.
    pub fn successes(&self) -> u32 {
        positive(self.success_threshold, 1)
    }

    /// So many failures in a row make it unready.
    pub fn failures(&self) -> u32 {
        positive(self.failure_threshold, 3)
    }
}

/// What a row of attempts means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// None: not decided yet.
    ready: Option<bool>,
    last: Option<bool>,
    length: u32,
}

impl Row {
    pub fn is_ready(&self) -> bool {
        self.ready == Some(true)
    }

    /// Notes an attempt; says whether it decides otherwise than before.
    pub fn note(&mut self, probe: &Probe, success: bool) -> bool {
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
    /// Ready if the answer is a success or a redirect. What is empty has its default: `localhost`, `HTTP`, `/`.
    HttpGet {
        /// As it was given. An attempt fails if it is no port.
        port: i32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        host: String,
        /// In capitals, as it was given otherwise.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        scheme: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        path: String,
        /// Sent with the request.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        headers: Vec<(String, String)>,
    },
    /// Ready if the port takes a connection.
    TcpSocket {
        /// As it was given. An attempt fails if it is no port.
        port: i32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        host: String,
    },
}

// serde hands references to these predicates.
fn is_zero(value: &i32) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_decides_when_it_is_long_enough() {
        let action = ProbeAction::Exec { command: vec!["true".into()] };
        let probe = Probe { success_threshold: 2, failure_threshold: 3, ..Probe::new(action) };
        let mut row = Row::default();
        let decided: Vec<(bool, bool)> =
            [true, false, true, true, true, false, false, true, false, false, false]
                .into_iter()
                .map(|success| (row.note(&probe, success), row.is_ready()))
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
    fn what_is_not_said_has_kubernetes_defaults() {
        let probe = Probe::new(ProbeAction::TcpSocket { port: 1, host: String::new() });
        let numbers = (probe.initial_delay(), probe.timeout(), probe.period());
        assert_eq!(numbers, (Duration::ZERO, Duration::from_secs(1), Duration::from_secs(10)));
        assert_eq!((probe.successes(), probe.failures()), (1, 3));
    }
}
