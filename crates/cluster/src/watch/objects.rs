//! Watches the metadata of applied objects, to notice when they are changed or deleted.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Config, Error, Event};
use lilt_model::Failure;
use lilt_model::kubernetes::ObjectScope;

use crate::connect::Cluster;
use crate::fingerprint::fingerprint;
use crate::inject::MANAGED_BY;

/// An event about one object, identified by its name and its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectEvent {
    /// All existing objects. Sent first, and again after a resync.
    Listed(Vec<(String, String)>),
    /// The object is new, or its content changed.
    Changed(String, String),
    /// With its last fingerprint.
    Gone(String, String),
}

impl Cluster {
    /// Watches applied objects. The stream ends if watching is forbidden or the kind does not exist.
    pub async fn watch_objects(
        &self,
        scope: &ObjectScope,
    ) -> Result<BoxStream<'static, ObjectEvent>, Failure> {
        let found = self.kinds.find(&scope.api_version, &scope.kind).await;
        let kind = found.map_err(|error| self.failure("asking which kinds it knows", &error))?;
        let Some(kind) = kind else { return Ok(futures_util::stream::empty().boxed()) };
        let api = kind.metadata_api(self.client.clone(), &scope.namespace);
        let config = match &scope.name {
            Some(name) => Config::default().fields(&format!("metadata.name={name}")),
            None => Config::default().labels(&format!("{MANAGED_BY}=tilt")),
        };
        let events = watcher::watcher(api, config).backoff(EverySecond);
        let events_receiver = events.scan(Known::default(), |known, event| {
            let event = match event {
                Ok(event) => Some(known.take(event)),
                Err(error) if is_final(&error) => {
                    tracing::debug!(%error, "applied objects are not watched");
                    None
                }
                Err(error) => {
                    tracing::debug!(%error, "watching applied objects");
                    Some(None)
                }
            };
            std::future::ready(event)
        });
        Ok(events_receiver.filter_map(std::future::ready).boxed())
    }
}

/// Retries every second, so that the return of the API server is noticed soon.
struct EverySecond;

impl Iterator for EverySecond {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

impl Backoff for EverySecond {
    fn reset(&mut self) {}
}

/// Whether a retry cannot succeed.
fn is_final(error: &Error) -> bool {
    let code = match error {
        Error::InitialListFailed(error) | Error::WatchStartFailed(error) => crate::error::code(error),
        Error::WatchError(status) => Some(status.code),
        _ => None,
    };
    matches!(code, Some(403..=405))
}

/// The last known fingerprints. Most changes are of the status only and are not reported.
#[derive(Default)]
struct Known {
    fingerprints: HashMap<String, String>,
    listing: Vec<(String, String)>,
}

impl Known {
    fn take<K>(&mut self, event: Event<kube::core::PartialObjectMeta<K>>) -> Option<ObjectEvent> {
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply(object) => self.listing.push(identity(&object.metadata)),
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listing);
                self.fingerprints = listed.iter().cloned().collect();
                return Some(ObjectEvent::Listed(listed));
            }
            Event::Apply(object) => {
                let (name, fingerprint) = identity(&object.metadata);
                let before = self.fingerprints.insert(name.clone(), fingerprint.clone());
                return (before.as_ref() != Some(&fingerprint))
                    .then_some(ObjectEvent::Changed(name, fingerprint));
            }
            Event::Delete(object) => {
                let (name, fingerprint) = identity(&object.metadata);
                self.fingerprints.remove(&name);
                return Some(ObjectEvent::Gone(name, fingerprint));
            }
        }
        None
    }
}

fn identity(meta: &ObjectMeta) -> (String, String) {
    (meta.name.clone().unwrap_or_default(), fingerprint(meta))
}
