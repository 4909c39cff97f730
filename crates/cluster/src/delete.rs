//! Deletes objects. Objects that do not exist are no error.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use kube::api::{Api, DeleteParams, DynamicObject};
use lilt_model::Failure;
use lilt_model::kubernetes::ObjectRef;
use serde_json::Value;
use tokio::time::Instant;

use crate::apply::{KeptObject, reference};
use crate::connect::Cluster;
use crate::error::is_not_found;
use crate::order;

const MAX_CONCURRENT: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    Deleted,
    /// It did not exist, or the cluster does not know its kind.
    AlreadyGone,
    /// It is a create-once object that somebody edited.
    Kept(KeptObject),
}

/// A deleted object that may still exist.
struct PendingDeletion {
    api: Api<DynamicObject>,
    object: ObjectRef,
    uid: Option<String>,
}

enum DeleteResult {
    AlreadyGone,
    Deleting(Box<PendingDeletion>),
    Kept(KeptObject),
}

impl Cluster {
    /// Deletes all objects, dependents first, and returns the outcomes in the order given.
    ///
    /// With `wait`, returns when they are gone, and fails if that takes longer. A failed deletion does not prevent
    /// others.
    pub async fn delete(
        &self,
        objects: &[Value],
        wait: Option<Duration>,
    ) -> Result<Vec<(ObjectRef, DeleteOutcome)>, Failure> {
        let outcomes = self.delete_each(objects, wait).await?;
        outcomes.into_iter().map(|(object, outcome)| Ok((object, outcome?))).collect()
    }

    /// Like [`Self::delete`], with a result for each object. Fails only for values that are no objects.
    pub async fn delete_each(
        &self,
        objects: &[Value],
        wait: Option<Duration>,
    ) -> Result<Vec<(ObjectRef, Result<DeleteOutcome, Failure>)>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        let mut outcomes: Vec<Result<DeleteOutcome, Failure>> =
            references.iter().map(|_| Ok(DeleteOutcome::AlreadyGone)).collect();
        let mut pending = Vec::new();
        for batch in
            order::batches(references.iter().map(|object| object.kind.as_str()), order::deletion_rank)
        {
            let kind = batch.first().map_or("", |at| &references[*at].kind);
            let has_operator = order::is_custom(kind) || order::is_definition(kind);
            let work = batch.into_iter().map(|at| {
                let one = self.delete_unless_kept(&references[at], &objects[at]);
                async move { (at, one.await) }
            });
            let results: Vec<_> = stream::iter(work).buffer_unordered(MAX_CONCURRENT).collect().await;
            for (at, result) in results {
                match result {
                    Ok(DeleteResult::AlreadyGone) => {}
                    Ok(DeleteResult::Deleting(one)) => {
                        outcomes[at] = Ok(DeleteOutcome::Deleted);
                        pending.push((at, *one));
                    }
                    Ok(DeleteResult::Kept(kept)) => outcomes[at] = Ok(DeleteOutcome::Kept(kept)),
                    Err(failure) => outcomes[at] = Err(failure),
                }
            }
            // Their operators are deleted next and must finalize them first.
            if has_operator {
                self.wait_for_all(std::mem::take(&mut pending), wait, &mut outcomes).await;
            }
        }
        self.wait_for_all(pending, wait, &mut outcomes).await;
        Ok(references.into_iter().zip(outcomes).collect())
    }

    async fn wait_for_all(
        &self,
        pending: Vec<(usize, PendingDeletion)>,
        wait: Option<Duration>,
        outcomes: &mut [Result<DeleteOutcome, Failure>],
    ) {
        let Some(wait) = wait else { return };
        let deadline = Instant::now() + wait;
        let work = pending
            .into_iter()
            .map(|(at, one)| async move { (at, self.wait_until_gone(&one, wait, deadline).await) });
        let results: Vec<_> = stream::iter(work).buffer_unordered(MAX_CONCURRENT).collect().await;
        for (at, result) in results {
            if let Err(failure) = result {
                outcomes[at] = Err(failure);
            }
        }
    }

    async fn delete_unless_kept(&self, object: &ObjectRef, body: &Value) -> Result<DeleteResult, Failure> {
        if let Some(kept) = self.kept_object(body).await? {
            return Ok(DeleteResult::Kept(kept));
        }
        Ok(self
            .delete_one(object)
            .await?
            .map_or(DeleteResult::AlreadyGone, |one| DeleteResult::Deleting(Box::new(one))))
    }

    async fn delete_one(&self, object: &ObjectRef) -> Result<Option<PendingDeletion>, Failure> {
        let refused = |error: &kube::Error| match crate::error::code(error) {
            Some(403) => self.forbidden(&format!("to delete {object}"), error),
            _ => self.failure(&format!("deleting {object}"), error),
        };
        let kind =
            self.kinds.find(&object.api_version, &object.kind).await.map_err(|error| refused(&error))?;
        let Some(kind) = kind else { return Ok(None) };
        let namespace = if object.namespace.is_empty() { self.namespace() } else { &object.namespace };
        let api = kind.api(self.client.clone(), namespace);
        match api.delete(&object.name, &DeleteParams::background()).await {
            Ok(answer) => {
                let uid = answer.either(
                    |object| object.metadata.uid,
                    |status| status.details.map(|details| details.uid).filter(|uid| !uid.is_empty()),
                );
                Ok(Some(PendingDeletion { api, object: object.clone(), uid }))
            }
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }

    async fn wait_until_gone(
        &self,
        one: &PendingDeletion,
        wait: Duration,
        deadline: Instant,
    ) -> Result<(), Failure> {
        loop {
            let current = one.api.get_metadata_opt(&one.object.name).await;
            let current =
                current.map_err(|error| self.failure(&format!("deleting {}", one.object), &error))?;
            let Some(current) = current else { return Ok(()) };
            if one.uid.is_some() && current.metadata.uid != one.uid {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let finalizers = current.metadata.finalizers.unwrap_or_default();
                return Err(not_deleted(&one.object, wait, &finalizers));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

pub(crate) fn not_deleted(object: &ObjectRef, wait: Duration, finalizers: &[String]) -> Failure {
    let seconds = wait.as_secs();
    Failure::environment(format!("{object} still exists {seconds} seconds after it was deleted"))
        .hint(deletion_hint(object, finalizers))
}

fn deletion_hint(object: &ObjectRef, finalizers: &[String]) -> String {
    if finalizers.is_empty() {
        "it goes when its pods have ended; `kubectl describe` shows what it waits for".to_owned()
    } else if order::is_definition(&object.kind) {
        let name = &object.name;
        format!("objects of its kind have finalizers that nobody takes away: `kubectl get {name} -A -o yaml`")
    } else {
        format!("it waits for its finalizers: {}", finalizers.join(", "))
    }
}
