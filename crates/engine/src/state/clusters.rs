//! The clusters of a session: its own, and those that resources name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use lilt_model::cluster::{ClusterAddress, ClusterInfo};
use lilt_model::kubernetes::{ObjectRef, ObjectScope};
use lilt_model::{ClusterName, Failure, ResourceName, Timestamp};
use serde::Serialize;

/// What is known of each. One that nobody has spoken of yet is as empty as a new one.
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

    /// The session's own comes first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ClusterName, &ClusterState)> {
        self.0.iter()
    }

    /// Whether the session has it.
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
    /// Where kubeconfig says that it is; known once a connection was attempted.
    pub(crate) address: Option<ClusterAddress>,
    pub(crate) info: Option<ClusterInfo>,
    pub(crate) connected: Option<Timestamp>,
    pub(crate) failure: Option<Failure>,
    /// When the cluster became unreachable; set exactly while `failure` is.
    pub(crate) failing_since: Option<Timestamp>,
    /// The number of the last request to reconnect; 0 if there was none. A new number restarts the tasks that connect.
    pub(crate) reconnect: u64,
    /// Namespaces with pods of ours, once something was deployed there.
    pub(crate) namespaces: BTreeSet<String>,
    /// Which resource applied an object.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) applied: BTreeMap<ObjectRef, ResourceName>,
    /// Where applied objects are followed, and how many of them are there.
    #[serde(serialize_with = "crate::dump::pairs")]
    pub(crate) scopes: BTreeMap<ObjectScope, usize>,
    /// Namespaces whose pods may not be read, and who says so.
    pub(crate) refused: BTreeMap<String, Failure>,
}

impl ClusterState {
    /// Why nothing can be done there yet.
    pub(crate) fn trouble(&self) -> Option<String> {
        match (&self.info, &self.failure) {
            (None, Some(failure)) => Some(failure.to_string()),
            (None, None) => Some("the cluster has not answered yet".to_owned()),
            (Some(_), _) => None,
        }
    }
}
