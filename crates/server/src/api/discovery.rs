//! The discovery documents that Kubernetes' clients request first.

use lilt_api::kinds::{Kind, kinds};
use serde_json::{Value, json};

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

fn group() -> Value {
    let version = json!({"groupVersion": "tilt.dev/v1alpha1", "version": "v1alpha1"});
    json!({"name": "tilt.dev", "versions": [version], "preferredVersion": version})
}

/// `/api`: the core API of Kubernetes, which is empty here.
pub(crate) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": [], "serverAddressByClientCIDRs": []})
}

/// `/apis`
pub(crate) fn groups() -> Value {
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group()]})
}

/// `/apis/tilt.dev`
pub(crate) fn one_group() -> Value {
    let mut group = group();
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    group
}

/// `/apis/tilt.dev/v1alpha1`
pub(crate) fn resources() -> Value {
    let resources: Vec<Value> = kinds().all().iter().flat_map(entries).collect();
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "tilt.dev/v1alpha1", "resources": resources,
    })
}

fn entries(kind: &Kind) -> Vec<Value> {
    let mut entry = json!({
        "name": kind.plural, "singularName": kind.singular(), "namespaced": false, "kind": kind.name, "verbs": VERBS,
    });
    if !kind.short_names.is_empty() {
        entry["shortNames"] = json!(kind.short_names);
    }
    let status = json!({
        "name": format!("{}/status", kind.plural), "singularName": "", "namespaced": false, "kind": kind.name,
        "verbs": STATUS_VERBS,
    });
    if kind.has_status() { vec![entry, status] } else { vec![entry] }
}

/// `/version`, as Kubernetes' clients read it.
pub(crate) fn version(lilt: &str) -> Value {
    json!({
        "major": "0", "minor": "37", "gitVersion": format!("v{}", lilt_model::COMPATIBLE_TILT_VERSION),
        "gitCommit": format!("lilt-{lilt}"), "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "rustc", "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}
