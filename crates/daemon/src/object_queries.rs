//! Queries the status of applied objects when somebody looks at them. Nothing is cached, so it costs nothing otherwise.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use lilt_cluster::Cluster;
use lilt_model::Failure;
use lilt_model::cluster::ReportedObject;
use lilt_model::kubernetes::ObjectRef;
use lilt_store::{LogWriter, SessionQuery};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Objects of one query that are requested concurrently.
const OBJECTS_AT_ONCE: usize = 10;
/// Concurrent queries of a session: few pages are open at the same time, and clusters have other things to do.
const QUERIES_AT_ONCE: usize = 4;
/// A page does not wait longer, however many objects there are.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The running queries. Each ends when its reader is gone, and in any case after [`TIMEOUT`].
pub(crate) struct ObjectQueries {
    running: JoinSet<()>,
    permits: Arc<Semaphore>,
}

impl ObjectQueries {
    pub(crate) fn new() -> Self {
        Self { running: JoinSet::new(), permits: Arc::new(Semaphore::new(QUERIES_AT_ONCE)) }
    }

    /// Starts a query. Its answer has a [`ReportedObject`] for each object, in the given order.
    pub(crate) fn begin(
        &mut self,
        cluster: Result<Cluster, Failure>,
        objects: Vec<ObjectRef>,
        logs: LogWriter,
        mut query: SessionQuery,
    ) {
        let permits = Arc::clone(&self.permits);
        self.running.spawn(async move {
            let found = tokio::select! {
                found = query_objects(&cluster, &objects, &logs, &permits) => found,
                () = query.cancelled() => return,
            };
            query.answer(json!(found));
        });
    }

    /// Returns when a query has ended; none if none runs.
    pub(crate) async fn next_ended(&mut self) -> Option<()> {
        let ended = self.running.join_next().await?;
        if let Err(error) = ended {
            tracing::error!(%error, "a query of a cluster panicked");
        }
        Some(())
    }
}

async fn query_objects(
    cluster: &Result<Cluster, Failure>,
    objects: &[ObjectRef],
    logs: &LogWriter,
    permits: &Semaphore,
) -> Vec<ReportedObject> {
    let until = Instant::now() + TIMEOUT;
    let none = |remark: &str| objects.iter().map(|it| unknown(it.to_string(), remark.to_owned())).collect();
    let Ok(_permit) = tokio::time::timeout_at(until, permits.acquire()).await else {
        return none("too many look at clusters at the same time");
    };
    match cluster {
        Ok(cluster) => {
            let queries = objects.iter().map(|object| query_object(cluster, object, logs, until));
            stream::iter(queries.collect::<Vec<_>>()).buffered(OBJECTS_AT_ONCE).collect().await
        }
        Err(failure) => none(&failure.to_string()),
    }
}

async fn query_object(
    cluster: &Cluster,
    object: &ObjectRef,
    logs: &LogWriter,
    until: Instant,
) -> ReportedObject {
    let mut shown = object.clone();
    if shown.namespace == cluster.namespace() {
        shown.namespace.clear();
    }
    let name = shown.to_string();
    // Pods are watched, and shown with all details anyway.
    if object.kind == "Pod" && object.api_version == "v1" {
        return unknown(name, String::new());
    }
    let state = match tokio::time::timeout_at(until, cluster.object_state(object)).await {
        Ok(Ok(Some(state))) => state,
        Ok(Ok(None)) => return unknown(name, "is not in the cluster".to_owned()),
        Ok(Err(failure)) => return unknown(name, failure.message),
        Err(_) => return unknown(name, "the cluster does not answer in time".to_owned()),
    };
    let redactor = logs.redactor();
    let mut conditions = state.conditions;
    conditions.iter_mut().for_each(|it| redactor.redact_in_place(&mut it.message));
    let remark = if state.is_deleting { "is being deleted" } else { "" };
    ReportedObject { name, conditions, remark: remark.to_owned() }
}

fn unknown(name: String, remark: String) -> ReportedObject {
    ReportedObject { name, conditions: Vec::new(), remark }
}
