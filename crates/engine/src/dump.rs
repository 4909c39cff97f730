//! The whole state as JSON, for debugging. Its format may change at any time.

use std::collections::BTreeSet;

use lilt_model::cluster::{Notice, ReportedNotice};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::resource::Body;
use lilt_model::{ClusterName, ResourceName};
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::record::{names, redact};
use crate::state::{ResourceState, State};

/// Returns the state as JSON, without the secrets of the Tiltfile.
pub fn dump(state: &State) -> Value {
    match serde_json::to_value(state) {
        Ok(mut value) => {
            redact(&mut value, &state.redactor, &names_in(state));
            value
        }
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// Returns the notices about the objects and pods of a resource, oldest first, without secrets.
pub fn notices(state: &State, name: &ResourceName) -> Value {
    let kubernetes = state.resources.get(name).and_then(ResourceState::kubernetes);
    let about_pods = kubernetes
        .into_iter()
        .flat_map(|kubernetes| &kubernetes.pods)
        .filter_map(|pod| state.pods.notices.get(pod))
        .flat_map(|notices| notices.iter());
    let about_objects = kubernetes.into_iter().flat_map(|kubernetes| kubernetes.notices.iter());
    let mut found: Vec<&Notice> = about_objects.chain(about_pods).collect();
    found.sort_by_key(|notice| notice.at);
    let mut value = json!(found.into_iter().map(ReportedNotice::from).collect::<Vec<_>>());
    redact(&mut value, &state.redactor, &names_in(state));
    value
}

fn names_in(state: &State) -> BTreeSet<String> {
    state.resources.values().flat_map(|resource| names(&resource.spec)).collect()
}

/// Returns the notices of every resource that is in a cluster.
pub fn all_notices(state: &State) -> Vec<(ResourceName, Value)> {
    let in_cluster = state.resources.iter().filter(|(_, resource)| resource.kubernetes().is_some());
    in_cluster.map(|(name, _)| (name.clone(), notices(state, name))).collect()
}

/// Returns the applied objects of a resource, and their cluster.
pub fn applied_objects<'a>(
    state: &'a State,
    name: &ResourceName,
) -> Option<(&'a ClusterName, impl Iterator<Item = &'a ObjectRef> + use<'a>)> {
    let resource = state.resources.get(name)?;
    let Body::Kubernetes(spec) = &resource.spec.body else { return None };
    let deployed = resource.kubernetes()?.deployed.as_ref()?;
    Some((&spec.cluster, deployed.objects.iter().map(|(object, _)| object)))
}

/// Serializes a map whose keys are not strings as a list of pairs.
pub(crate) fn pairs<'a, K: Serialize + 'a, V: Serialize + 'a, S: Serializer>(
    map: &'a std::collections::BTreeMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(map.len()))?;
    for pair in map {
        list.serialize_element(&pair)?;
    }
    list.end()
}
