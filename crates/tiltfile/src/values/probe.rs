//! What `probe()` and its actions return.

use std::fmt;

use allocative::Allocative;
use lilt_model::probe::{Probe, ProbeAction};
use starlark::any::ProvidesStaticType;
use starlark::starlark_simple_value;
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

use super::text::repr_simple;

/// What `exec_action`, `http_get_action` and `tcp_socket_action` return.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct ActionValue {
    #[allocative(skip)]
    pub(crate) action: ProbeAction,
    /// As it was given.
    pub(crate) scheme: String,
}
starlark_simple_value!(ActionValue);

impl ActionValue {
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.action {
            ProbeAction::Exec { .. } => "ExecAction",
            ProbeAction::HttpGet { .. } => "HTTPGetAction",
            ProbeAction::TcpSocket { .. } => "TCPSocketAction",
        }
    }

    /// Sorted by name.
    fn fields<'v>(&self, heap: Heap<'v>) -> Vec<(&'static str, Value<'v>)> {
        match &self.action {
            ProbeAction::Exec { command } => vec![("command", heap.alloc(command.clone()))],
            ProbeAction::HttpGet { port, host, path, .. } => vec![
                ("host", heap.alloc(host.as_str())),
                ("path", heap.alloc(path.as_str())),
                ("port", heap.alloc(*port)),
                ("scheme", heap.alloc(self.scheme.as_str())),
            ],
            ProbeAction::TcpSocket { port, host } => {
                vec![("host", heap.alloc(host.as_str())), ("port", heap.alloc(*port))]
            }
        }
    }
}

impl fmt::Display for ActionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Heap::temp(|heap| show(f, self.type_name(), &self.fields(heap)))
    }
}

#[starlark_value(type = "ProbeAction")]
impl<'v> StarlarkValue<'v> for ActionValue {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        self.fields(heap).into_iter().find(|(name, _)| *name == attribute).map(|(_, value)| value)
    }

    fn dir_attr(&self) -> Vec<String> {
        Heap::temp(|heap| self.fields(heap).into_iter().map(|(name, _)| name.to_owned()).collect())
    }
}

#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct ProbeValue {
    #[allocative(skip)]
    pub(crate) probe: Probe,
    /// Of its action, as it was given.
    pub(crate) scheme: String,
}
starlark_simple_value!(ProbeValue);

impl ProbeValue {
    /// Sorted by name.
    fn fields<'v>(&self, heap: Heap<'v>) -> Vec<(&'static str, Value<'v>)> {
        let Probe {
            initial_delay_secs,
            timeout_secs,
            period_secs,
            success_threshold,
            failure_threshold,
            action,
        } = &self.probe;
        let taken = ActionValue { action: action.clone(), scheme: self.scheme.clone() };
        let of_type = |name: &str| {
            if taken.type_name() == name { heap.alloc(taken.clone()) } else { Value::new_none() }
        };
        vec![
            ("exec", of_type("ExecAction")),
            ("failure_threshold", heap.alloc(*failure_threshold)),
            ("http_get", of_type("HTTPGetAction")),
            ("initial_delay_secs", heap.alloc(*initial_delay_secs)),
            ("period_secs", heap.alloc(*period_secs)),
            ("success_threshold", heap.alloc(*success_threshold)),
            ("tcp_socket", of_type("TCPSocketAction")),
            ("timeout_secs", heap.alloc(*timeout_secs)),
        ]
    }
}

impl fmt::Display for ProbeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Heap::temp(|heap| show(f, "Probe", &self.fields(heap)))
    }
}

#[starlark_value(type = "Probe")]
impl<'v> StarlarkValue<'v> for ProbeValue {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        self.fields(heap).into_iter().find(|(name, _)| *name == attribute).map(|(_, value)| value)
    }

    fn dir_attr(&self) -> Vec<String> {
        Heap::temp(|heap| self.fields(heap).into_iter().map(|(name, _)| name.to_owned()).collect())
    }
}

/// As Tilt shows a struct that has a type.
fn show(f: &mut fmt::Formatter<'_>, name: &str, fields: &[(&str, Value<'_>)]) -> fmt::Result {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name} = {}", repr_simple(*value))).collect();
    write!(f, "{name}({})", fields.join(", "))
}
