//! Previews an apply with dry-run requests.

use futures_util::stream::{self, StreamExt as _};
use kube::api::DynamicObject;
use lilt_model::Failure;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::settings::ServerSideApply;
use serde_json::Value;

use super::ownership::is_autoscaled;
use super::target::{Target, WriteOptions, is_create_once, is_immutable};
use super::{MAX_CONCURRENT, OtherDeployer, deployer, reference, rejection};
use crate::connect::Cluster;
use crate::difference::{FieldChange, differences};
use crate::error::{causes_of_status, is_not_found};
use crate::inject::agent::{strip_agent, strip_image_content, uses_agent};

/// What applying an object would do.
#[derive(Clone, Debug, PartialEq)]
pub enum Preview {
    Create,
    Unchanged,
    Change(Vec<FieldChange>),
    /// Delete and create it again, with the reason.
    Recreate(String),
    /// Keep it although it differs, because it is only created once.
    Keep(Vec<FieldChange>),
    Refused(Failure),
}

impl Cluster {
    /// Returns what applying each object would do, in the order given, without changing anything.
    pub async fn preview(
        &self,
        objects: &[Value],
        merge: ServerSideApply,
    ) -> Result<Vec<(ObjectRef, Preview)>, Failure> {
        self.preview_among(objects, objects, merge).await
    }

    /// Like [`Self::preview`], for objects that are applied together with `all`: namespaces and CRDs among those may
    /// not exist yet.
    pub async fn preview_among(
        &self,
        objects: &[Value],
        all: &[Value],
        merge: ServerSideApply,
    ) -> Result<Vec<(ObjectRef, Preview)>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        let work = references.into_iter().zip(objects).map(|(object, body)| async move {
            let preview = self.preview_one(&object, body, all, merge).await;
            (object, preview.unwrap_or_else(Preview::Refused))
        });
        Ok(stream::iter(work).buffered(MAX_CONCURRENT).collect().await)
    }

    /// Returns the fields of an object that differ from its manifest; none if the object does not exist.
    ///
    /// Legitimate changes do not count: the certificates of webhooks, an autoscaler's replicas. `merge` is none for
    /// objects that another tool applied.
    pub async fn drift(
        &self,
        manifest: &Value,
        merge: Option<ServerSideApply>,
    ) -> Result<Option<Vec<FieldChange>>, Failure> {
        Ok(self.drift_and_deployer(manifest, merge, "").await?.map(|(changes, _)| changes))
    }

    /// Like [`Self::drift`], with the session that deployed the object last unless that is `own`.
    pub async fn drift_and_deployer(
        &self,
        manifest: &Value,
        merge: Option<ServerSideApply>,
        own: &str,
    ) -> Result<Option<(Vec<FieldChange>, Option<OtherDeployer>)>, Failure> {
        let object = reference(manifest)?;
        let found = self.kinds.find(&object.api_version, &object.kind).await;
        let kind = found.map_err(|error| self.failure("asking which kinds it knows", &error))?;
        let Some(kind) = kind else { return Ok(None) };
        let target = self.target(&object, kind);
        let Some(meta) = target.metadata().await.filter(|meta| meta.deletion_timestamp.is_none()) else {
            return Ok(None);
        };
        let mut changes = match merge {
            Some(merge) => target.differences(manifest, merge).await?,
            None => target.diff_forced(manifest).await.map_err(|error| target.refused(&error))?,
        };
        let scaled = is_autoscaled(&meta);
        let by_right = |path: &str| path.ends_with("caBundle") || (scaled && path == "spec.replicas");
        changes.retain(|change| !by_right(&change.path));
        // Seen from the manifest: before is what it says, after is what the cluster has.
        for change in &mut changes {
            std::mem::swap(&mut change.before, &mut change.after);
        }
        Ok(Some((changes, deployer::other(&meta, own))))
    }

    async fn preview_one(
        &self,
        object: &ObjectRef,
        body: &Value,
        all: &[Value],
        merge: ServerSideApply,
    ) -> Result<Preview, Failure> {
        let found = self.kinds.find(&object.api_version, &object.kind).await;
        let kind = match found.map_err(|error| self.failure("asking which kinds it knows", &error))? {
            Some(kind) => kind,
            None if super::defines(all, object) => return Ok(Preview::Create),
            None => return Err(rejection::unknown_kind(object)),
        };
        let target = self.target(object, kind);
        let current = target.api.get_metadata_opt(&target.object.name).await;
        if current.map_err(|error| target.refused(&error))?.is_none() {
            return target.preview_creation(body, all, merge).await;
        }
        match target.diff(body, merge).await {
            Ok(changes) if changes.is_empty() => Ok(Preview::Unchanged),
            Ok(changes) if is_create_once(body) => Ok(Preview::Keep(changes)),
            Ok(changes) => Ok(Preview::Change(changes)),
            Err(error) if is_immutable(&error) && !target.deletion_loses_data() => {
                Ok(Preview::Recreate(causes_of_status(&error)))
            }
            Err(error) => Err(target.refused(&error)),
        }
    }
}

impl Target<'_> {
    pub(super) async fn differences(
        &self,
        body: &Value,
        merge: ServerSideApply,
    ) -> Result<Vec<FieldChange>, Failure> {
        self.diff(body, merge).await.map_err(|error| self.refused(&error))
    }

    /// Compares the object with the result of forcing every field of `body`, whoever owns it.
    async fn diff_forced(&self, body: &Value) -> kube::Result<Vec<FieldChange>> {
        let before = self.api.get(&self.object.name).await?;
        let after = self.patch(body, true, true).await?;
        Ok(differences(&value(before)?, &value(after)?))
    }

    /// Compares the object with the result of applying `body`.
    pub(super) async fn diff(&self, body: &Value, merge: ServerSideApply) -> kube::Result<Vec<FieldChange>> {
        let before = self.api.get(&self.object.name).await?;
        let options = WriteOptions { merge, overwrite: true, dry: true };
        let after = self.write(body, Some(&before.metadata), options, &mut Vec::new()).await?;
        let (mut before, mut after) = (value(before)?, value(after)?);
        // Manifests do not contain what live updates add to pods.
        if !uses_agent(body) {
            strip_agent(&mut before, &mut after);
        }
        strip_image_content(&mut before, &mut after);
        Ok(differences(&before, &after))
    }

    async fn preview_creation(
        &self,
        body: &Value,
        all: &[Value],
        merge: ServerSideApply,
    ) -> Result<Preview, Failure> {
        let options = WriteOptions { merge, overwrite: true, dry: true };
        match self.write(body, None, options, &mut Vec::new()).await {
            Ok(_) => Ok(Preview::Create),
            // The same apply creates its namespace.
            Err(error) if is_not_found(&error) && creates_namespace(all, &self.object.namespace) => {
                Ok(Preview::Create)
            }
            Err(error) => Err(self.refused(&error)),
        }
    }
}

fn value(object: DynamicObject) -> kube::Result<Value> {
    serde_json::to_value(object).map_err(kube::Error::SerdeError)
}

fn creates_namespace(all: &[Value], namespace: &str) -> bool {
    all.iter().any(|object| object["kind"] == "Namespace" && object["metadata"]["name"] == *namespace)
}
