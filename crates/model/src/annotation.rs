//! Annotations of API objects in which lilt says more than Tilt's fields can hold.

/// Why a resource is not up to date and not updating, in words.
pub const HOLD: &str = "lilt.dev/hold";
/// The same as JSON: `{"hold": "dependencies", "on": [{"name": "db", "state": "updating"}]}` …
pub const HOLD_DATA: &str = "lilt.dev/hold-data";
/// What caused the running update, or the last one, in words.
pub const CAUSE: &str = "lilt.dev/cause";
/// Why a running resource is not healthy, in words.
pub const RUNTIME_MESSAGE: &str = "lilt.dev/runtime-message";
/// The Tiltfile's arguments, as a JSON list; at the resource of the Tiltfile.
pub const ARGS: &str = "lilt.dev/args";
/// The resources that must be ready before the first update, as a JSON list.
pub const RESOURCE_DEPS: &str = "lilt.dev/resource-deps";
/// What of its objects was deleted or changed in the cluster since they were applied, in words.
pub const DRIFT: &str = "lilt.dev/drift";
/// State of the forwards that do not work, in words.
pub const FORWARDS: &str = "lilt.dev/forwards";
/// Dependencies of the session that do not respond: a JSON list of services. Set on the `UISession`.
pub const UNREACHABLE: &str = "lilt.dev/unreachable";
/// The name of the `Cluster` of a resource, while that cluster is unreachable.
pub const UNREACHABLE_CLUSTER: &str = "lilt.dev/unreachable-cluster";

/// Whether the value consists of names, which stay even if one of them equals the value of a secret.
pub fn is_reference(key: &str) -> bool {
    [RESOURCE_DEPS, UNREACHABLE_CLUSTER].contains(&key)
}
