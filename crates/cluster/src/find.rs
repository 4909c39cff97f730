//! Finding objects that others applied.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::{Failure, Uid};
use serde_json::Value;

use crate::apply::reference;
use crate::connect::Cluster;

const AT_ONCE: usize = 10;

impl Cluster {
    /// Each object as it is in the cluster, in the order given: with its namespace and uid. One that is not there, or is
    /// of a kind that the cluster does not know, is an error.
    pub async fn find(&self, objects: &[Value]) -> Result<Vec<(ObjectRef, Uid)>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        stream::iter(references.into_iter().map(|object| self.find_one(object)))
            .buffered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Whether each object is in the cluster, in the order given.
    pub async fn exist(&self, objects: &[Value]) -> Result<Vec<(ObjectRef, bool)>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        let look = |object: ObjectRef| async move {
            let found = self.look_for(object.clone()).await?;
            Ok((object, found.is_some()))
        };
        stream::iter(references.into_iter().map(look)).buffered(AT_ONCE).try_collect().await
    }

    async fn find_one(&self, object: ObjectRef) -> Result<(ObjectRef, Uid), Failure> {
        let missing = Failure::user(format!("{object} is not in the cluster"));
        self.look_for(object).await?.ok_or(missing)
    }

    /// None if it is not there, or of a kind that the cluster does not know.
    async fn look_for(&self, mut object: ObjectRef) -> Result<Option<(ObjectRef, Uid)>, Failure> {
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
        let Some(uid) = found.and_then(|found| found.metadata.uid) else { return Ok(None) };
        object.namespace = namespace;
        Ok(Some((object, Uid::from(uid))))
    }
}
