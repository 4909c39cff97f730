//! Readiness probes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;

/// Tells whether something is ready; by one of exec, httpGet and tcpSocket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Probe {
    /// By a command.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub exec: Option<ExecAction>,
    /// By a web request.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub http_get: Option<HTTPGetAction>,
    /// By a connection.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tcp_socket: Option<TCPSocketAction>,
    /// How long after the start it begins.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub initial_delay_seconds: i32,
    /// How long one attempt may take.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub timeout_seconds: i32,
    /// How often it asks.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub period_seconds: i32,
    /// After so many successes in a row it is ready.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub success_threshold: i32,
    /// After so many failures in a row it is not ready any more.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub failure_threshold: i32,
}

/// Ready if a command succeeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExecAction {
    /// The command, word by word.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub command: Vec<String>,
}

/// Ready if a web request is answered with a code from 200 to 399.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct HTTPGetAction {
    /// The path that is asked for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: String,
    /// The port, from 1 to 65535.
    pub port: i32,
    /// The host; without one this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host: String,
    /// HTTP or HTTPS.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub scheme: String,
    /// Headers of the request.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub http_headers: Vec<HTTPHeader>,
}

/// A header of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct HTTPHeader {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// Ready if a connection is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TCPSocketAction {
    /// The port, from 1 to 65535.
    pub port: i32,
    /// The host; without one this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host: String,
}
