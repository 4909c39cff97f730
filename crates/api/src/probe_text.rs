//! A readiness probe as the API writes it.

use serde_json::{Value, json};

use crate::fields::{Fields, Node};
use lilt_model::probe::{Probe, ProbeAction};

/// With fields in Tilt's order; what is empty is left out.
pub fn written(probe: &Probe) -> Node {
    let (name, action) = action(&probe.action);
    Fields::new()
        .put(name, action.finish())
        .put_unless_empty("initialDelaySeconds", probe.initial_delay_secs)
        .put_unless_empty("timeoutSeconds", probe.timeout_secs)
        .put_unless_empty("periodSeconds", probe.period_secs)
        .put_unless_empty("successThreshold", probe.success_threshold)
        .put_unless_empty("failureThreshold", probe.failure_threshold)
        .finish()
}

fn action(action: &ProbeAction) -> (&'static str, Fields) {
    match action {
        ProbeAction::Exec { command } => ("exec", Fields::new().put_unless_empty("command", command.clone())),
        ProbeAction::HttpGet { port, host, scheme, path, headers } => {
            let headers = headers.iter().map(|(name, value)| json!({"name": name, "value": value}));
            let fields = Fields::new()
                .put_unless_empty("path", path.as_str())
                .put("port", *port)
                .put_unless_empty("host", host.as_str())
                .put_unless_empty("scheme", scheme.as_str())
                .put_unless_empty("httpHeaders", headers.collect::<Vec<_>>());
            ("httpGet", fields)
        }
        ProbeAction::TcpSocket { port, host } => {
            ("tcpSocket", Fields::new().put("port", *port).put_unless_empty("host", host.as_str()))
        }
    }
}

/// Why it cannot be one, in words.
pub fn read(probe: &Value) -> Result<Probe, String> {
    let is_there = |name: &str| probe.get(name).is_some_and(|action| !action.is_null());
    let text = |action: &Value, name: &str| action[name].as_str().unwrap_or_default().to_owned();
    let action = if is_there("exec") {
        let words = probe["exec"]["command"].as_array();
        let command: Vec<String> =
            words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        if command.is_empty() {
            return Err("exec needs a command".to_owned());
        }
        ProbeAction::Exec { command }
    } else if is_there("httpGet") {
        let action = &probe["httpGet"];
        let headers = action["httpHeaders"].as_array();
        let header = |header: &Value| (text(header, "name"), text(header, "value"));
        ProbeAction::HttpGet {
            port: port(action)?,
            host: text(action, "host"),
            scheme: scheme(action)?,
            path: text(action, "path"),
            headers: headers.into_iter().flatten().map(header).collect(),
        }
    } else if is_there("tcpSocket") {
        let action = &probe["tcpSocket"];
        ProbeAction::TcpSocket { port: port(action)?, host: text(action, "host") }
    } else {
        return Err("one of exec, httpGet and tcpSocket is needed".to_owned());
    };
    let number = |name: &str| probe[name].as_i64().and_then(|it| i32::try_from(it).ok()).unwrap_or(0);
    Ok(Probe {
        initial_delay_secs: number("initialDelaySeconds"),
        timeout_secs: number("timeoutSeconds"),
        period_secs: number("periodSeconds"),
        success_threshold: number("successThreshold"),
        failure_threshold: number("failureThreshold"),
        action,
    })
}

fn port(action: &Value) -> Result<i32, String> {
    let number = action["port"].as_i64().unwrap_or(0);
    let port = u16::try_from(number).ok().filter(|port| *port > 0);
    port.map(i32::from).ok_or_else(|| format!("port number out of range: {number}"))
}

fn scheme(action: &Value) -> Result<String, String> {
    let scheme = action["scheme"].as_str().unwrap_or_default().to_ascii_uppercase();
    match scheme.as_str() {
        "" | "HTTP" | "HTTPS" => Ok(scheme),
        _ => Err(format!("the scheme {scheme:?} is neither HTTP nor HTTPS")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let probes = [
            json!({"exec": {"command": ["test", "-e", "x"]}, "periodSeconds": 3}),
            json!({"httpGet": {"path": "/ok", "port": 80, "host": "h", "scheme": "HTTPS",
                "httpHeaders": [{"name": "A", "value": "b"}]}, "timeoutSeconds": 2}),
            json!({"tcpSocket": {"port": 5432}, "initialDelaySeconds": 1, "failureThreshold": 4}),
        ];
        for probe in probes {
            assert_eq!(read(&probe).map(|read| written(&read).value()), Ok(probe));
        }
    }

    #[test]
    fn what_is_no_probe_is_refused() {
        let words = |probe: Value| read(&probe).expect_err("it is none");
        assert_eq!(words(json!({})), "one of exec, httpGet and tcpSocket is needed");
        assert_eq!(words(json!({"exec": {}})), "exec needs a command");
        assert_eq!(words(json!({"tcpSocket": {"port": 0}})), "port number out of range: 0");
        assert!(words(json!({"httpGet": {"port": 1, "scheme": "ftp"}})).contains("neither"));
    }
}
