//! Caches which API path serves a kind.

use std::collections::HashMap;
use std::fmt;

use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind, PartialObjectMeta};
use kube::discovery::{self, Scope};
use kube::error::DiscoveryError;
use kube::{Client, Error};

use crate::shared::Shared;

/// A kind as the cluster serves it.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    /// Whether it has a status subresource.
    pub(crate) has_status: bool,
}

impl Kind {
    /// Returns the API for objects of this kind. The namespace is ignored for cluster-wide kinds.
    pub(crate) fn api(&self, client: Client, namespace: &str) -> Api<DynamicObject> {
        if self.namespaced {
            Api::namespaced_with(client, namespace, &self.resource)
        } else {
            Api::all_with(client, &self.resource)
        }
    }

    /// Returns the API for the metadata of objects of this kind.
    pub(crate) fn metadata_api(
        &self,
        client: Client,
        namespace: &str,
    ) -> Api<PartialObjectMeta<DynamicObject>> {
        if self.namespaced {
            Api::namespaced_with(client, namespace, &self.resource)
        } else {
            Api::all_with(client, &self.resource)
        }
    }
}

/// The known kinds. Unknown ones are requested each time, because their CRD may have been created.
#[derive(Clone)]
pub(crate) struct Kinds {
    client: Client,
    known: Shared<HashMap<GroupVersionKind, Kind>>,
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kinds").field("known", &self.known.read(HashMap::len)).finish()
    }
}

impl Kinds {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, known: Shared::default() }
    }

    /// Returns none if the cluster does not know the kind.
    pub(crate) async fn find(&self, api_version: &str, kind: &str) -> Result<Option<Kind>, Error> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let wanted = GroupVersionKind::gvk(group, version, kind);
        if let Some(known) = self.known.read(|known| known.get(&wanted).cloned()) {
            return Ok(Some(known));
        }
        match discovery::pinned_kind(&self.client, &wanted).await {
            Ok((resource, capabilities)) => {
                let has_status = capabilities.subresources.iter().any(|(part, _)| part.plural == "status");
                let found =
                    Kind { resource, namespaced: capabilities.scope == Scope::Namespaced, has_status };
                self.known.update(|known| known.insert(wanted, found.clone()));
                Ok(Some(found))
            }
            Err(Error::Discovery(DiscoveryError::MissingKind(_) | DiscoveryError::MissingResource(_))) => {
                Ok(None)
            }
            Err(error) if crate::error::is_not_found(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Drops a kind after a 404: its CRD may have been deleted or replaced.
    pub(crate) fn forget(&self, kind: &Kind) {
        self.known.update(|known| known.retain(|_, other| other.resource != kind.resource));
    }
}
