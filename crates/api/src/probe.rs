//! Readiness probes.

use lilt_model::probe as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_empty;

/// A readiness probe; one of `exec`, `httpGet` and `tcpSocket` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Probe {
    /// Probes by running a command.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub exec: Option<ExecAction>,
    /// Probes by sending an HTTP request.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub http_get: Option<HTTPGetAction>,
    /// Probes by opening a TCP connection.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tcp_socket: Option<TCPSocketAction>,
    /// Seconds between the start of the process and the first probe. Defaults to 0.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub initial_delay_seconds: i32,
    /// Seconds after which a probe times out. Defaults to 1.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub timeout_seconds: i32,
    /// Seconds between probes. Defaults to 10.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub period_seconds: i32,
    /// Consecutive successes required to become ready. Defaults to 1.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub success_threshold: i32,
    /// Consecutive failures required to become unready. Defaults to 3.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub failure_threshold: i32,
}

/// A command; exit code 0 means ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ExecAction {
    /// Command and arguments. They are not run in a shell.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub command: Vec<String>,
}

/// An HTTP GET request; a status code from 200 to 399 means ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct HTTPGetAction {
    /// Path of the request.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub path: String,
    /// Port, from 1 to 65535.
    pub port: i32,
    /// Host name. Defaults to this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host: String,
    /// `HTTP` or `HTTPS`. Defaults to `HTTP`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub scheme: String,
    /// Headers of the request.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub http_headers: Vec<HTTPHeader>,
}

/// A header of an HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct HTTPHeader {
    /// Name of the header.
    pub name: String,
    /// Value of the header.
    pub value: String,
}

/// A TCP connection; an accepted one means ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct TCPSocketAction {
    /// Port, from 1 to 65535.
    pub port: i32,
    /// Host name. Defaults to this machine.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub host: String,
}

impl From<&model::Probe> for Probe {
    fn from(probe: &model::Probe) -> Self {
        let timing = Self {
            initial_delay_seconds: probe.initial_delay_secs,
            timeout_seconds: probe.timeout_secs,
            period_seconds: probe.period_secs,
            success_threshold: probe.success_threshold,
            failure_threshold: probe.failure_threshold,
            ..Self::default()
        };
        match probe.action.clone() {
            model::ProbeAction::Exec { command } => Self { exec: Some(ExecAction { command }), ..timing },
            model::ProbeAction::HttpGet { port, host, scheme, path, headers } => {
                let header = |(name, value)| HTTPHeader { name, value };
                let http_headers = headers.into_iter().map(header).collect();
                Self { http_get: Some(HTTPGetAction { path, port, host, scheme, http_headers }), ..timing }
            }
            model::ProbeAction::TcpSocket { port, host } => {
                Self { tcp_socket: Some(TCPSocketAction { port, host }), ..timing }
            }
        }
    }
}

impl TryFrom<&Probe> for model::Probe {
    /// The reason why the probe is invalid.
    type Error = String;

    fn try_from(probe: &Probe) -> Result<Self, String> {
        let action = match (&probe.exec, &probe.http_get, &probe.tcp_socket) {
            (Some(exec), _, _) if exec.command.is_empty() => return Err("exec needs a command".to_owned()),
            (Some(exec), _, _) => model::ProbeAction::Exec { command: exec.command.clone() },
            (None, Some(http), _) => model::ProbeAction::HttpGet {
                port: valid_port(http.port)?,
                host: http.host.clone(),
                scheme: valid_scheme(&http.scheme)?,
                path: http.path.clone(),
                headers: http.http_headers.iter().map(|it| (it.name.clone(), it.value.clone())).collect(),
            },
            (None, None, Some(tcp)) => {
                model::ProbeAction::TcpSocket { port: valid_port(tcp.port)?, host: tcp.host.clone() }
            }
            (None, None, None) => return Err("one of exec, httpGet and tcpSocket is needed".to_owned()),
        };
        Ok(model::Probe {
            initial_delay_secs: probe.initial_delay_seconds,
            timeout_secs: probe.timeout_seconds,
            period_secs: probe.period_seconds,
            success_threshold: probe.success_threshold,
            failure_threshold: probe.failure_threshold,
            action,
        })
    }
}

fn valid_port(port: i32) -> Result<i32, String> {
    let is_valid = u16::try_from(port).is_ok_and(|port| port > 0);
    if is_valid { Ok(port) } else { Err(format!("port number out of range: {port}")) }
}

fn valid_scheme(scheme: &str) -> Result<String, String> {
    let scheme = scheme.to_ascii_uppercase();
    match scheme.as_str() {
        "" | "HTTP" | "HTTPS" => Ok(scheme),
        _ => Err(format!("the scheme {scheme:?} is neither HTTP nor HTTPS")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(probe: &Value) -> Result<model::Probe, String> {
        let probe: Probe = serde_json::from_value(probe.clone()).expect("a probe");
        model::Probe::try_from(&probe)
    }

    #[test]
    fn probe_survives_the_round_trip() {
        let probes = [
            json!({"exec": {"command": ["test", "-e", "x"]}, "periodSeconds": 3}),
            json!({"httpGet": {"path": "/ok", "port": 80, "host": "h", "scheme": "HTTPS",
                "httpHeaders": [{"name": "A", "value": "b"}]}, "timeoutSeconds": 2}),
            json!({"tcpSocket": {"port": 5432}, "initialDelaySeconds": 1, "failureThreshold": 4}),
        ];
        for probe in probes {
            assert_eq!(read(&probe).map(|read| json!(Probe::from(&read))), Ok(probe));
        }
    }

    #[test]
    fn invalid_probe_is_refused_with_a_reason() {
        let reason = |probe: Value| read(&probe).expect_err("it is none");
        assert_eq!(reason(json!({})), "one of exec, httpGet and tcpSocket is needed");
        assert_eq!(reason(json!({"exec": {}})), "exec needs a command");
        assert_eq!(reason(json!({"tcpSocket": {"port": 0}})), "port number out of range: 0");
        assert!(reason(json!({"httpGet": {"port": 1, "scheme": "ftp"}})).contains("neither"));
    }
}
