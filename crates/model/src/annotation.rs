//! Annotations of API objects, for what Tilt's fields cannot hold.

/// Why a resource is neither up to date nor updating, as text.
pub const HOLD: &str = "lilt.dev/hold";
/// The same as JSON: `{"hold": "dependencies", "on": [{"name": "db", "state": "updating"}]}` …
pub const HOLD_DATA: &str = "lilt.dev/hold-data";
/// What caused the running update, or the last one, as text.
pub const CAUSE: &str = "lilt.dev/cause";
/// Why a running resource is not healthy, as text.
pub const RUNTIME_MESSAGE: &str = "lilt.dev/runtime-message";
/// The Tiltfile's arguments, as a JSON list. Set on the resource of the Tiltfile.
pub const ARGS: &str = "lilt.dev/args";
/// The resources that must be ready before the first update, as a JSON list.
pub const RESOURCE_DEPS: &str = "lilt.dev/resource-deps";
/// The objects that were deleted or changed in the cluster since they were applied, as text.
pub const DRIFT: &str = "lilt.dev/drift";
/// The state of port forwards that do not work, as text.
pub const FORWARDS: &str = "lilt.dev/forwards";
/// Dependencies of the session that do not respond: a JSON list of services. Set on the `UISession`.
pub const UNREACHABLE: &str = "lilt.dev/unreachable";
/// The name of the `Cluster` of a resource, while that cluster is unreachable.
pub const UNREACHABLE_CLUSTER: &str = "lilt.dev/unreachable-cluster";

/// Returns whether the value consists of names. They are not redacted even if one equals the value of a secret.
pub fn is_reference(key: &str) -> bool {
    [RESOURCE_DEPS, UNREACHABLE_CLUSTER].contains(&key)
}
