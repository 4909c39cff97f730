//! Applies objects.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::settings::ServerSideApply;
use lilt_model::{Failure, Location, Uid};
use serde_json::Value;

use crate::connect::Cluster;
use crate::fingerprint::KnownObject;
use crate::kinds::Kind;
use crate::order;

mod client_side;
mod content;
mod deployer;
mod kept;
mod merge;
mod ownership;
mod pausable_timeout;
mod preview;
mod rejection;
mod server_side;
mod target;

pub(crate) use deployer::DEPLOYED_BY;
pub use deployer::OtherDeployer;
pub use kept::KeptObject;
pub(crate) use ownership::{LAST_APPLIED, merge_fields};
use pausable_timeout::PausableTimeout;
pub use preview::Preview;
use target::Target;
pub use target::is_create_once;

/// Tilt has as many workers. API servers limit a client to few more requests.
const MAX_CONCURRENT: usize = 10;

/// Options of an apply.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions<'a> {
    /// Where each object is defined, for failures.
    pub origins: &'a [Location],
    /// For each object; a deletion before a recreation has its own timeout.
    pub timeout: Duration,
    pub merge: ServerSideApply,
    /// Overwrite entries of ConfigMaps and Secrets that people edited, because the user asked for it.
    pub overwrite: bool,
    /// Objects that were applied before: unchanged ones are not applied again.
    pub known: HashMap<ObjectRef, KnownObject>,
    /// Many objects are applied at once: check which of them are unchanged in a cached list.
    pub bulk: bool,
    /// The name of the session, recorded on workloads that it changes.
    pub deployer: Option<&'a str>,
}

/// The result of applying one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// With its namespace; empty for cluster-wide kinds.
    pub object: ObjectRef,
    pub uid: Uid,
    /// Stays the same as long as nobody changes the desired state.
    pub fingerprint: String,
    /// The digest of its manifest.
    pub manifest: String,
    /// False if it existed already with the same content.
    pub changed: bool,
    /// It was deleted and created again, because an immutable field changed.
    pub recreated: bool,
    /// It is a completed Job.
    pub complete: bool,
    /// The object in the cluster without its status and bookkeeping. If it was known and unchanged, its manifest.
    pub content: Value,
    /// Messages for the user.
    pub remarks: Vec<Remark>,
    /// The other session that deployed it before.
    pub other_deployer: Option<OtherDeployer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub warning: bool,
    pub text: String,
}

impl Remark {
    fn note(text: String) -> Self {
        Self { warning: false, text }
    }

    fn warning(text: String) -> Self {
        Self { warning: true, text }
    }
}

impl Cluster {
    /// Applies all objects, dependencies first, and returns the results in the order given.
    ///
    /// The first rejection ends it; objects that were applied before it stay.
    pub async fn apply(&self, objects: &[Value], timeout: Duration) -> Result<Vec<Applied>, Failure> {
        self.apply_with(objects, &ApplyOptions { timeout, ..ApplyOptions::default() }).await
    }

    /// Like [`Self::apply`], with options.
    pub async fn apply_with(
        &self,
        objects: &[Value],
        options: &ApplyOptions<'_>,
    ) -> Result<Vec<Applied>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        let mut applied: Vec<Option<Applied>> = vec![None; objects.len()];
        for batch in order::batches(references.iter().map(|object| object.kind.as_str()), order::rank) {
            let work = batch.into_iter().map(|at| {
                let name = &references[at];
                async move {
                    let limit = PausableTimeout::new(options.timeout);
                    let one = self.apply_one(name, &objects[at], objects, &limit, options);
                    let result = limit.run(one).await;
                    let result = result.unwrap_or_else(|| Err(rejection::timed_out(name, options.timeout)));
                    result.map(|applied| (at, applied)).map_err(|failure| match options.origins.get(at) {
                        Some(origin) if failure.location.is_none() => failure.at(origin.clone()),
                        _ => failure,
                    })
                }
            });
            let results: Vec<(usize, Applied)> =
                stream::iter(work).buffer_unordered(MAX_CONCURRENT).try_collect().await?;
            for (at, result) in results {
                applied[at] = Some(result);
            }
        }
        Ok(applied.into_iter().flatten().collect())
    }

    async fn apply_one(
        &self,
        object: &ObjectRef,
        body: &Value,
        all: &[Value],
        limit: &PausableTimeout,
        options: &ApplyOptions<'_>,
    ) -> Result<Applied, Failure> {
        let kind = self.kind_for_apply(object, all).await?;
        let target = self.target(object, kind);
        if let Some(unchanged) = target.unchanged(object, body, options).await {
            return Ok(unchanged);
        }
        let applied = target.apply(body, options, limit).await?;
        if object.kind == "CustomResourceDefinition" {
            target.wait_established().await?;
            self.wait_served(body).await?;
        }
        Ok(applied)
    }

    fn target(&self, object: &ObjectRef, kind: Kind) -> Target<'_> {
        let namespace = if object.namespace.is_empty() { self.namespace() } else { &object.namespace };
        Target {
            cluster: self,
            object: ObjectRef {
                namespace: if kind.namespaced { namespace.to_owned() } else { String::new() },
                ..object.clone()
            },
            api: kind.api(self.client.clone(), namespace),
            kind,
        }
    }

    /// Waits until the kinds of a CRD are served, because the next objects, also of other resources, may need them.
    async fn wait_served(&self, definition: &Value) -> Result<(), Failure> {
        for (api_version, kind) in served(definition) {
            loop {
                let found = self.kinds.find(&api_version, &kind).await;
                match found.map_err(|error| self.failure("asking which kinds it knows", &error))? {
                    Some(_) => break,
                    None => pause().await,
                }
            }
        }
        Ok(())
    }

    /// Returns the kind of an object. Waits for it if its CRD is part of the same apply.
    async fn kind_for_apply(&self, object: &ObjectRef, all: &[Value]) -> Result<Kind, Failure> {
        loop {
            let found = self.kinds.find(&object.api_version, &object.kind).await;
            match found.map_err(|error| self.failure("asking which kinds it knows", &error))? {
                Some(kind) => return Ok(kind),
                None if defines(all, object) => pause().await,
                None => return Err(rejection::unknown_kind(object)),
            }
        }
    }
}

/// Returns the reference of an object, or a failure that shows which object lacks a name.
pub(crate) fn reference(object: &Value) -> Result<ObjectRef, Failure> {
    ObjectRef::of(object).ok_or_else(|| {
        let start: String = object.to_string().chars().take(200).collect();
        Failure::user("an object lacks apiVersion, kind or metadata.name")
            .detail(start)
            .hint("every document given to k8s_yaml needs all three")
    })
}

/// Whether one of the objects is the CRD of this object's kind.
fn defines(all: &[Value], object: &ObjectRef) -> bool {
    let group = object.api_version.split_once('/').map_or("", |(group, _)| group);
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    all.iter().any(|other| {
        text(other, "/kind").as_deref() == Some("CustomResourceDefinition")
            && text(other, "/spec/group").as_deref() == Some(group)
            && text(other, "/spec/names/kind").as_deref() == Some(object.kind.as_str())
    })
}

/// Returns the kinds that a CRD defines: one for each served version.
fn served(definition: &Value) -> Vec<(String, String)> {
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (group, kind) = (text(definition, "/spec/group"), text(definition, "/spec/names/kind"));
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    served.map(|version| (format!("{group}/{}", text(version, "/name")), kind.clone())).collect()
}

/// Waits between two polls.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(25)).await;
}
