//! Deleting objects; what is already gone is no error.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use kube::api::{Api, DeleteParams, DynamicObject};
use lilt_model::Failure;
use lilt_model::kubernetes::ObjectRef;
use serde_json::Value;
use tokio::time::Instant;

use crate::apply::{Kept, reference};
use crate::connect::Cluster;
use crate::error::is_missing;
use crate::order;

const AT_ONCE: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    Deleted,
    /// It was not there, or the cluster does not even know its kind.
    AlreadyGone,
    /// It is made once, and holds what somebody filled in.
    Kept(Kept),
}

/// What must still go before the deletion is done.
struct Leaving {
    api: Api<DynamicObject>,
    object: ObjectRef,
    uid: Option<String>,
}

enum Fate {
    Gone,
    Leaves(Box<Leaving>),
    Stays(Kept),
}

impl Cluster {
    /// Deletes all objects, dependents first, and gives the outcomes in the order given. With `wait`, returns when
    /// they are gone, and fails if that takes longer. One that cannot be deleted saves no other.
    pub async fn delete(
        &self,
        objects: &[Value],
        wait: Option<Duration>,
    ) -> Result<Vec<(ObjectRef, DeleteOutcome)>, Failure> {
        let outcomes = self.delete_each(objects, wait).await?;
        outcomes.into_iter().map(|(object, outcome)| Ok((object, outcome?))).collect()
    }

    /// The same, with what became of each. Fails only for what is no object.
    pub async fn delete_each(
        &self,
        objects: &[Value],
        wait: Option<Duration>,
    ) -> Result<Vec<(ObjectRef, Result<DeleteOutcome, Failure>)>, Failure> {
        let references = objects.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        let mut outcomes: Vec<Result<DeleteOutcome, Failure>> =
            references.iter().map(|_| Ok(DeleteOutcome::AlreadyGone)).collect();
        let mut leaving = Vec::new();
        for batch in order::batches(references.iter().map(|object| object.kind.as_str()), order::departure) {
            let kind = batch.first().map_or("", |at| &references[*at].kind);
            let cleared_up = order::is_custom(kind) || order::is_definition(kind);
            let work = batch.into_iter().map(|at| {
                let one = self.delete_unless_filled_in(&references[at], &objects[at]);
                async move { (at, one.await) }
            });
            let results: Vec<_> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
            for (at, result) in results {
                match result {
                    Ok(Fate::Gone) => {}
                    Ok(Fate::Leaves(one)) => {
                        outcomes[at] = Ok(DeleteOutcome::Deleted);
                        leaving.push((at, *one));
                    }
                    Ok(Fate::Stays(kept)) => outcomes[at] = Ok(DeleteOutcome::Kept(kept)),
                    Err(failure) => outcomes[at] = Err(failure),
                }
            }
            // Their operators, which come next, must have the time to clear up behind them.
            if cleared_up {
                self.wait_for_all(std::mem::take(&mut leaving), wait, &mut outcomes).await;
            }
        }
        self.wait_for_all(leaving, wait, &mut outcomes).await;
        Ok(references.into_iter().zip(outcomes).collect())
    }

    async fn wait_for_all(
        &self,
        leaving: Vec<(usize, Leaving)>,
        wait: Option<Duration>,
        outcomes: &mut [Result<DeleteOutcome, Failure>],
    ) {
        let Some(wait) = wait else { return };
        let deadline = Instant::now() + wait;
        let work = leaving
            .into_iter()
            .map(|(at, one)| async move { (at, self.wait_until_gone(&one, wait, deadline).await) });
        let results: Vec<_> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
        for (at, result) in results {
            if let Err(failure) = result {
                outcomes[at] = Err(failure);
            }
        }
    }

    async fn delete_unless_filled_in(&self, object: &ObjectRef, body: &Value) -> Result<Fate, Failure> {
        if let Some(kept) = self.filled_in(body).await? {
            return Ok(Fate::Stays(kept));
        }
        Ok(self.delete_one(object).await?.map_or(Fate::Gone, |one| Fate::Leaves(Box::new(one))))
    }

    async fn delete_one(&self, object: &ObjectRef) -> Result<Option<Leaving>, Failure> {
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
                Ok(Some(Leaving { api, object: object.clone(), uid }))
            }
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }

    async fn wait_until_gone(&self, one: &Leaving, wait: Duration, deadline: Instant) -> Result<(), Failure> {
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
                return Err(still_there(&one.object, wait, &finalizers));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

pub(crate) fn still_there(object: &ObjectRef, wait: Duration, finalizers: &[String]) -> Failure {
    let seconds = wait.as_secs();
    Failure::environment(format!("{object} still exists {seconds} seconds after it was deleted"))
        .hint(what_it_waits_for(object, finalizers))
}

fn what_it_waits_for(object: &ObjectRef, finalizers: &[String]) -> String {
    if finalizers.is_empty() {
        "it goes when its pods have ended; `kubectl describe` shows what it waits for".to_owned()
    } else if order::is_definition(&object.kind) {
        let name = &object.name;
        format!("objects of its kind have finalizers that nobody takes away: `kubectl get {name} -A -o yaml`")
    } else {
        format!("it waits for its finalizers: {}", finalizers.join(", "))
    }
}
