//! Finds objects that other tools applied.

use std::collections::BTreeSet;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::{Failure, Uid};
use serde_json::Value;

use crate::apply::reference;
use crate::connect::Cluster;
use crate::fingerprint::fingerprint;
use crate::inject;
use crate::original_manifest::manifest_of;

const MAX_CONCURRENT: usize = 10;

/// An object that another tool applied.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundObject {
    /// Includes its namespace.
    pub object: ObjectRef,
    pub uid: Uid,
    /// Stays the same as long as nobody changes the object.
    pub fingerprint: String,
    /// The manifest it was created from, as far as the cluster records it.
    pub manifest: Value,
}

impl Cluster {
    /// Returns each object as it is in the cluster, in the order given.
    ///
    /// Fails if one does not exist or is of a kind that the cluster does not know.
    pub async fn find(&self, objects: &[Value]) -> Result<Vec<FoundObject>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        stream::iter(
            references
                .into_iter()
                .zip(objects.to_vec())
                .map(|(object, manifest)| self.find_one(object, manifest)),
        )
        .buffered(MAX_CONCURRENT)
        .try_collect()
        .await
    }

    /// Returns whether each object is in the cluster, in the order given.
    pub async fn exist(&self, objects: &[Value]) -> Result<Vec<(ObjectRef, bool)>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        let exists = |object: ObjectRef| async move {
            let found = self.get_metadata(object.clone()).await?;
            Ok((object, found.is_some()))
        };
        stream::iter(references.into_iter().map(exists)).buffered(MAX_CONCURRENT).try_collect().await
    }

    /// Returns the images whose containers refused to have files changed, as recorded on the workloads among the
    /// objects.
    ///
    /// A workload that cannot be read counts as one without a record.
    pub async fn unwritable_images(&self, objects: &[Value]) -> BTreeSet<String> {
        let workloads =
            objects.iter().filter(|object| inject::has_pod_template(object)).filter_map(ObjectRef::of);
        let read = |object: ObjectRef| async move {
            let kind = self.kinds.find(&object.api_version, &object.kind).await.ok()??;
            let namespace = if object.namespace.is_empty() { self.namespace() } else { &object.namespace };
            let found = kind.api(self.client.clone(), namespace).get_opt(&object.name).await.ok()??;
            Some(inject::agent::unwritable_images(&serde_json::to_value(found).ok()?))
        };
        let workloads: Vec<_> = workloads.map(read).collect();
        let noted: Vec<_> = stream::iter(workloads).buffered(MAX_CONCURRENT).collect().await;
        noted.into_iter().flatten().flatten().collect()
    }

    async fn find_one(&self, object: ObjectRef, manifest: Value) -> Result<FoundObject, Failure> {
        let missing = Failure::user(format!("{object} is not in the cluster"));
        let (object, meta) = self.get_metadata(object).await?.ok_or(missing)?;
        let mut manifest = manifest_of(&manifest, &meta);
        if !object.namespace.is_empty() {
            manifest["metadata"]["namespace"] = object.namespace.clone().into();
        }
        Ok(FoundObject {
            object,
            uid: Uid::from(meta.uid.clone().unwrap_or_default()),
            fingerprint: fingerprint(&meta),
            manifest,
        })
    }

    /// Returns none if the object does not exist or is of a kind that the cluster does not know.
    async fn get_metadata(&self, mut object: ObjectRef) -> Result<Option<(ObjectRef, ObjectMeta)>, Failure> {
        let refused = |error: &kube::Error| match crate::error::code(error) {
            Some(403) => self.forbidden(&format!("to read {object}"), error),
            _ => self.failure(&format!("reading {object}"), error),
        };
        let kind =
            self.kinds.find(&object.api_version, &object.kind).await.map_err(|error| refused(&error))?;
        let Some(kind) = kind else { return Ok(None) };
        let namespace = match object.namespace.as_str() {
            _ if !kind.namespaced => String::new(),
            "" => self.namespace().to_owned(),
            named => named.to_owned(),
        };
        let api = kind.api(self.client.clone(), &namespace);
        let found = api.get_metadata_opt(&object.name).await.map_err(|error| refused(&error))?;
        let Some(found) = found else { return Ok(None) };
        object.namespace = namespace;
        Ok(Some((object, found.metadata)))
    }
}
