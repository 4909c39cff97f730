//! `probe` and the actions it can take.

use lilt_model::probe::{Probe, ProbeAction};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Value, ValueLike};

use crate::arguments::{Argument, Function};
use crate::values::{ActionValue, ProbeValue};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Tells whether the server of a local resource is ready. Takes exactly one of `exec`, `http_get` and `tcp_socket`.
    ///
    /// # Arguments
    /// * `initial_delay_secs`: how long to wait before the first attempt
    /// * `timeout_secs`: how long one attempt may take, 1 unless given
    /// * `period_secs`: how often to try, every 10 seconds unless given
    /// * `success_threshold`: how many attempts must succeed in a row, 1 unless given
    /// * `failure_threshold`: how many must fail in a row before it no longer counts as ready, 3 unless given
    /// * `exec`: an `exec_action()`
    /// * `http_get`: an `http_get_action()`
    /// * `tcp_socket`: a `tcp_socket_action()`
    fn probe<'v>(
        initial_delay_secs: Option<Value<'v>>,
        timeout_secs: Option<Value<'v>>,
        period_secs: Option<Value<'v>>,
        success_threshold: Option<Value<'v>>,
        failure_threshold: Option<Value<'v>>,
        exec: Option<Value<'v>>,
        http_get: Option<Value<'v>>,
        tcp_socket: Option<Value<'v>>,
    ) -> starlark::Result<ProbeValue> {
        let function = Function("probe");
        // Negative ones are accepted, as by Tilt: they mean the default.
        let number = |name, value| function.argument(name, value).number().map(Option::unwrap_or_default);
        let action = |name, value, wanted| action(function.argument(name, value), wanted);
        let mut actions = [
            action("exec", exec, "ExecAction")?,
            action("http_get", http_get, "HTTPGetAction")?,
            action("tcp_socket", tcp_socket, "TCPSocketAction")?,
        ]
        .into_iter()
        .flatten();
        let (Some(ActionValue { action, scheme }), None) = (actions.next(), actions.next()) else {
            return Err(function.refuse("exactly one of exec, http_get and tcp_socket must be given"));
        };
        let probe = Probe {
            initial_delay_secs: number("initial_delay_secs", initial_delay_secs)?,
            timeout_secs: number("timeout_secs", timeout_secs)?,
            period_secs: number("period_secs", period_secs)?,
            success_threshold: number("success_threshold", success_threshold)?,
            failure_threshold: number("failure_threshold", failure_threshold)?,
            action,
        };
        Ok(ProbeValue { probe, scheme })
    }

    /// For `probe`: succeeds if a command exits with 0.
    ///
    /// # Arguments
    /// * `command`: a list of words; there is no shell unless it is one of them
    fn exec_action<'v>(command: Value<'v>) -> starlark::Result<ActionValue> {
        // An empty command is accepted, as by Tilt: the probe fails then.
        let command = Function("exec_action").argument("command", command).string_list()?;
        Ok(ActionValue { action: ProbeAction::Exec { command }, scheme: String::new() })
    }

    /// For `probe`: succeeds if a server answers a GET request with a code from 200 to 399.
    ///
    /// # Arguments
    /// * `port`: from 1 to 65535
    /// * `host`: `localhost` unless given
    /// * `scheme`: `http`, unless it is `https`
    /// * `path`: of the request
    fn http_get_action<'v>(
        port: Value<'v>,
        host: Option<Value<'v>>,
        scheme: Option<Value<'v>>,
        path: Option<Value<'v>>,
    ) -> starlark::Result<ActionValue> {
        let function = Function("http_get_action");
        let argument = function.argument("scheme", scheme);
        let scheme = argument.string()?;
        // Any scheme and any port are accepted, as by Tilt: the probe fails then.
        let action = ProbeAction::HttpGet {
            port: function.argument("port", port).number()?.unwrap_or(0),
            host: function.argument("host", host).string()?,
            scheme: scheme.to_ascii_uppercase(),
            path: function.argument("path", path).string()?,
            headers: Vec::new(),
        };
        Ok(ActionValue { action, scheme })
    }

    /// For `probe`: succeeds if a port takes a connection.
    ///
    /// # Arguments
    /// * `port`: from 1 to 65535
    /// * `host`: `localhost` unless given
    fn tcp_socket_action<'v>(port: Value<'v>, host: Option<Value<'v>>) -> starlark::Result<ActionValue> {
        let function = Function("tcp_socket_action");
        let action = ProbeAction::TcpSocket {
            port: function.argument("port", port).number()?.unwrap_or(0),
            host: function.argument("host", host).string()?,
        };
        Ok(ActionValue { action, scheme: String::new() })
    }
}

/// The probe of an argument that takes one.
pub(super) fn probe_of(argument: Argument<'_>) -> starlark::Result<Option<Probe>> {
    let probe = |value: Value<'_>| value.downcast_ref::<ProbeValue>().map(|probe| probe.probe.clone());
    let found = argument.value().map(|value| probe(value).ok_or_else(|| argument.wrong("a probe()", value)));
    found.transpose()
}

fn action(argument: Argument<'_>, wanted: &'static str) -> starlark::Result<Option<ActionValue>> {
    let Some(value) = argument.value() else { return Ok(None) };
    let found = value.downcast_ref::<ActionValue>().filter(|action| action.type_name() == wanted);
    let wanted = match wanted {
        "ExecAction" => "an exec_action()",
        "HTTPGetAction" => "an http_get_action()",
        _ => "a tcp_socket_action()",
    };
    found.cloned().map(Some).ok_or_else(|| argument.wrong(wanted, value))
}
