//! Applied objects, from afar: whether they are still there and still the same. Only their metadata is watched.

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
use crate::inject::MANAGED_BY;
use crate::marks::mark;

/// A name, and the mark by which the object is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectFact {
    /// All there are; comes first, and again after a resync.
    Listed(Vec<(String, String)>),
    /// It is new or says something else than before.
    Changed(String, String),
    /// With the mark it had.
    Gone(String, String),
}

impl Cluster {
    /// Watches applied objects. The stream ends if they may not be watched, or if there is no such kind.
    pub async fn watch_objects(
        &self,
        scope: &ObjectScope,
    ) -> Result<BoxStream<'static, ObjectFact>, Failure> {
        let found = self.kinds.find(&scope.api_version, &scope.kind).await;
        let kind = found.map_err(|error| self.failure("asking which kinds it knows", &error))?;
        let Some(kind) = kind else { return Ok(futures_util::stream::empty().boxed()) };
        let api = kind.metadata_api(self.client.clone(), &scope.namespace);
        let config = match &scope.name {
            Some(name) => Config::default().fields(&format!("metadata.name={name}")),
            None => Config::default().labels(&format!("{MANAGED_BY}=tilt")),
        };
        let events = watcher::watcher(api, config).backoff(Steadily);
        let facts = events.scan(Known::default(), |known, event| {
            let fact = match event {
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
            std::future::ready(fact)
        });
        Ok(facts.filter_map(std::future::ready).boxed())
    }
}

/// A return of the API server should not be noticed much later than possible.
struct Steadily;

impl Iterator for Steadily {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

impl Backoff for Steadily {
    fn reset(&mut self) {}
}

/// Asking again would not help.
fn is_final(error: &Error) -> bool {
    let code = match error {
        Error::InitialListFailed(error) | Error::WatchStartFailed(error) => crate::error::code(error),
        Error::WatchError(status) => Some(status.code),
        _ => None,
    };
    matches!(code, Some(403..=405))
}

/// The marks so far: most changes are of the status, and nobody needs to hear of them.
#[derive(Default)]
struct Known {
    marks: HashMap<String, String>,
    listing: Vec<(String, String)>,
}

impl Known {
    fn take<K>(&mut self, event: Event<kube::core::PartialObjectMeta<K>>) -> Option<ObjectFact> {
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply(object) => self.listing.push(identity(&object.metadata)),
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listing);
                self.marks = listed.iter().cloned().collect();
                return Some(ObjectFact::Listed(listed));
            }
            Event::Apply(object) => {
                let (name, mark) = identity(&object.metadata);
                let before = self.marks.insert(name.clone(), mark.clone());
                return (before.as_ref() != Some(&mark)).then_some(ObjectFact::Changed(name, mark));
            }
            Event::Delete(object) => {
                let (name, mark) = identity(&object.metadata);
                self.marks.remove(&name);
                return Some(ObjectFact::Gone(name, mark));
            }
        }
        None
    }
}

fn identity(meta: &ObjectMeta) -> (String, String) {
    (meta.name.clone().unwrap_or_default(), mark(meta))
}
