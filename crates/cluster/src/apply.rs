//! Server-side apply of many objects.

use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::{Failure, Location, Uid};
use serde_json::Value;
use tokio::time::Instant;

use crate::connect::Cluster;
use crate::error::{causes_of_status, code, status};
use crate::kinds::Kind;
use crate::order;

mod refusal;

/// Tilt's name in `metadata.managedFields`: who switches tools keeps the ownership of fields.
const FIELD_MANAGER: &str = "tilt";
/// As many requests at once as Tilt has workers; the API server limits one client to few more.
const AT_ONCE: usize = 10;

/// One object as it now stands in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// With the namespace it went to; empty for cluster-wide kinds.
    pub object: ObjectRef,
    pub uid: Uid,
    /// False if it was there already, exactly so.
    pub changed: bool,
    /// It had to be deleted and made anew, because an immutable field changed.
    pub recreated: bool,
    /// A job that is done already.
    pub complete: bool,
}

impl Cluster {
    /// Applies all objects, what others need first, and gives them back in the order given. The first refusal ends
    /// it; what was applied before stays.
    pub async fn apply(&self, objects: &[Value], timeout: Duration) -> Result<Vec<Applied>, Failure> {
        self.apply_from(objects, &[], timeout).await
    }

    /// The same; `origins` says where each object was written, so that a refusal can point there.
    pub async fn apply_from(
        &self,
        objects: &[Value],
        origins: &[Location],
        timeout: Duration,
    ) -> Result<Vec<Applied>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        let deadline = Instant::now() + timeout;
        let mut applied: Vec<Option<Applied>> = vec![None; objects.len()];
        for batch in order::batches(references.iter().map(|object| object.kind.as_str())) {
            let work = batch.into_iter().map(|at| {
                let one = self.apply_one(&references[at], &objects[at], objects, deadline);
                let name = &references[at];
                async move {
                    let result = match tokio::time::timeout_at(deadline, one).await {
                        Ok(result) => result,
                        Err(_) => Err(refusal::too_slow(name, timeout)),
                    };
                    result.map(|applied| (at, applied)).map_err(|failure| match origins.get(at) {
                        Some(origin) if failure.location.is_none() => failure.at(origin.clone()),
                        _ => failure,
                    })
                }
            });
            let results: Vec<(usize, Applied)> =
                stream::iter(work).buffer_unordered(AT_ONCE).try_collect().await?;
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
        deadline: Instant,
    ) -> Result<Applied, Failure> {
        let kind = self.kind_for_apply(object, all, deadline).await?;
        let namespace = if object.namespace.is_empty() { self.namespace() } else { &object.namespace };
        let target = Target {
            cluster: self,
            object: ObjectRef {
                namespace: if kind.namespaced { namespace.to_owned() } else { String::new() },
                ..object.clone()
            },
            api: kind.api(self.client.clone(), namespace),
            kind,
        };
        let applied = target.apply(body).await?;
        if object.kind == "CustomResourceDefinition" {
            target.wait_established().await?;
        }
        Ok(applied)
    }

    /// A kind whose definition is part of the same apply may need a moment to be served.
    async fn kind_for_apply(
        &self,
        object: &ObjectRef,
        all: &[Value],
        deadline: Instant,
    ) -> Result<Kind, Failure> {
        loop {
            let found = self.kinds.find(&object.api_version, &object.kind).await;
            match found.map_err(|error| self.failure("asking which kinds it knows", &error))? {
                Some(kind) => return Ok(kind),
                None if defines(all, object) && Instant::now() < deadline => pause().await,
                None => return Err(refusal::unknown_kind(object)),
            }
        }
    }
}

/// Which object it is, or a failure that shows what lacks a name.
pub(crate) fn reference(object: &Value) -> Result<ObjectRef, Failure> {
    ObjectRef::of(object).ok_or_else(|| {
        let start: String = object.to_string().chars().take(200).collect();
        Failure::user("an object lacks apiVersion, kind or metadata.name")
            .detail(start)
            .hint("every document given to k8s_yaml needs all three")
    })
}

/// Whether one of the objects is the definition of this object's kind.
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

/// Between two questions whether something has come or gone.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(25)).await;
}

/// One object and where it goes.
struct Target<'a> {
    cluster: &'a Cluster,
    object: ObjectRef,
    api: Api<DynamicObject>,
    kind: Kind,
}

impl Target<'_> {
    async fn apply(&self, body: &Value) -> Result<Applied, Failure> {
        // Unreadable is no obstacle: then we do not know what changed, and say that it did.
        let before = self.api.get_metadata_opt(&self.object.name).await.ok().flatten();
        let mut recreated = false;
        let mut after = match self.patch(body).await {
            Ok(object) => object,
            Err(error) if is_immutable(&error) && before.is_some() => {
                recreated = true;
                self.delete_and_wait().await?;
                self.patch(body).await.map_err(|error| self.refused(&error))?
            }
            Err(error) => return Err(self.refused(&error)),
        };
        // An apply may land on an object that is on its way out, and would go with it.
        if after.metadata.deletion_timestamp.is_some() {
            recreated = true;
            self.wait_gone(after.metadata.uid.as_deref()).await?;
            after = self.patch(body).await.map_err(|error| self.refused(&error))?;
        }
        let version_before = before.and_then(|object| object.metadata.resource_version);
        Ok(Applied {
            object: self.object.clone(),
            uid: Uid::new(after.metadata.uid.as_deref().unwrap_or_default()),
            changed: recreated
                || version_before.is_none()
                || version_before != after.metadata.resource_version,
            recreated,
            complete: is_complete(&after),
        })
    }

    async fn patch(&self, body: &Value) -> kube::Result<DynamicObject> {
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        self.api.patch(&self.object.name, &parameters, &Patch::Apply(body)).await
    }

    async fn delete_and_wait(&self) -> Result<(), Failure> {
        let current =
            self.api.get_metadata_opt(&self.object.name).await.map_err(|error| self.refused(&error))?;
        let uid = current.and_then(|object| object.metadata.uid);
        match self.api.delete(&self.object.name, &DeleteParams::background()).await {
            Ok(_) => {}
            Err(error) if code(&error) == Some(404) => {}
            Err(error) => return Err(self.refused(&error)),
        }
        self.wait_gone(uid.as_deref()).await
    }

    async fn wait_gone(&self, uid: Option<&str>) -> Result<(), Failure> {
        loop {
            let current =
                self.api.get_metadata_opt(&self.object.name).await.map_err(|error| self.refused(&error))?;
            match current {
                Some(object) if object.metadata.uid.as_deref() == uid => pause().await,
                _ => return Ok(()),
            }
        }
    }

    /// A definition is served only once its names are accepted.
    async fn wait_established(&self) -> Result<(), Failure> {
        loop {
            let definition = self.api.get(&self.object.name).await.map_err(|error| self.refused(&error))?;
            let conditions = definition.data.pointer("/status/conditions").and_then(Value::as_array);
            let established = conditions.is_some_and(|conditions| {
                conditions
                    .iter()
                    .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
            });
            if established {
                return Ok(());
            }
            pause().await;
        }
    }

    fn refused(&self, error: &kube::Error) -> Failure {
        match (code(error), status(error)) {
            (Some(403), _) if !is_immutable(error) => {
                self.cluster.forbidden(&format!("to apply {}", self.object), error)
            }
            (Some(404), _) => {
                self.cluster.kinds.forget(&self.kind);
                refusal::missing(&self.object, causes_of_status(error))
            }
            (Some(401) | None, _) | (_, None) => self.cluster.failure("applying", error),
            (_, Some(status)) => refusal::refused(&self.object, status),
        }
    }
}

fn is_complete(object: &DynamicObject) -> bool {
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    let met = |condition: &Value| condition["type"] == "Complete" && condition["status"] == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(met))
}

/// As Tilt guesses it: the API server has no code of its own for it.
fn is_immutable(error: &kube::Error) -> bool {
    status(error).is_some_and(|status| {
        status.code == 422
            && (status.message.contains("field is immutable") || status.message.contains("Forbidden:"))
    })
}
