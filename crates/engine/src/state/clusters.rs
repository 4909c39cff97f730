//! The clusters of a session: its own, and those that resources name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use lilt_model::cluster::{ClusterAddress, ClusterInfo};
use lilt_model::kubernetes::{ObjectRef, ObjectScope};
use lilt_model::{ClusterName, Failure, ResourceName, Timestamp};
use serde::Serialize;

/// The state of each cluster. An unknown cluster has the default state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Clusters(BTreeMap<ClusterName, ClusterState>);

static UNKNOWN: LazyLock<ClusterState> = LazyLock::new(ClusterState::default);

impl Clusters {
    pub(crate) fn get(&self, name: &ClusterName) -> &ClusterState {
        self.0.get(name).unwrap_or(&UNKNOWN)
    }

    pub(crate) fn get_mut(&mut self, name: &ClusterName) -> &mut ClusterState {
        self.0.entry(name.clone()).or_default()
    }

    /// The session's own cluster comes first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ClusterName, &ClusterState)> {
        self.0.iter()
    }

    /// Returns whether the session has this cluster.
    pub(crate) fn has(&self, name: &ClusterName) -> bool {
        name.is_session() || self.0.contains_key(name)
    }

    /// The one that objects of the API call so.
    pub(crate) fn named(&self, object: &str) -> Option<&ClusterName> {
        self.0.keys().find(|name| name.object_name() == object)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ClusterState {
    /// Some resource deploys to it.
    pub(crate) wanted: bool,
    /// The address according to kubeconfig; known once a connection was attempted.
    pub(crate) address: Option<ClusterAddress>,
    pub(crate) info: Option<ClusterInfo>,
    pub(crate) connected: Option<Timestamp>,
    pub(crate) failure: Option<Failure>,
    /// The time at which the cluster became unreachable; set exactly while `failure` is.
    pub(crate) failing_since: Option<Timestamp>,
    /// The number of the last request to reconnect; 0 if there was none. A new number restarts the tasks that connect.
    pub(crate) reconnect: u64,
    /// Namespaces that something was deployed to, whose pods are watched.
    pub(crate) namespaces: BTreeSet<String>,
    /// The resource that applied each object.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) applied: BTreeMap<ObjectRef, ResourceName>,
    /// The scopes in which applied objects are watched, with the number of objects in each.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) scopes: BTreeMap<ObjectScope, usize>,
    /// Namespaces whose pods may not be read, with the error.
    pub(crate) refused: BTreeMap<String, Failure>,
}

impl ClusterState {
    /// Returns the reason why the cluster cannot be used yet.
    pub(crate) fn trouble(&self) -> Option<String> {
        match (&self.info, &self.failure) {
            (None, Some(failure)) => Some(failure.to_string()),
            (None, None) => Some("the cluster has not answered yet".to_owned()),
            (Some(_), _) => None,
        }
    }
}
