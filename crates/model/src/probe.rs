//! How to find out whether a server is ready.

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeAction {
    /// Ready if the command exits with 0.
    Exec { command: Vec<String> },
    /// Ready if the answer is a success or a redirect. What is empty has its default: `localhost`, `HTTP`, `/`.
    HttpGet {
        port: u16,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        host: String,
        /// In capitals.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        scheme: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        path: String,
    },
    /// Ready if the port takes a connection.
    TcpSocket {
        port: u16,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        host: String,
    },
}

// serde hands references to these predicates.
fn is_zero(value: &i32) -> bool {
    *value == 0
}
