//! A session's state as a file: Tilt's view, and behind it what Tilt's form has no place for and the page shows.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use lilt_model::secret::Redactor;
use lilt_model::timeline::UpdateRecord;
use lilt_model::{ResourceName, Timestamp};
use lilt_store::{ApiReader, Reader};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{body, objects_of, redacted_pieces};
use crate::Context;

/// What stands before the view.
pub const SNAPSHOT_BEGIN: &str = "{\"view\":";

/// Kinds of the object API that tell of a resource in its cluster.
const KINDS: [&str; 2] = ["KubernetesDiscovery", "PortForward"];

/// Questions about resources that are on their way at the same time.
const AT_ONCE: usize = 4;

/// How long a cluster has to tell of the conditions of its objects. Those that it has not told by then are left out.
const PATIENCE: Duration = Duration::from_secs(3);

/// What Tilt's form has no place for.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Beyond {
    pub timeline: BTreeMap<ResourceName, Vec<UpdateRecord>>,
    /// By kind: pods as discoveries tell them, and forwards.
    pub objects: BTreeMap<String, Vec<Value>>,
    #[serde(flatten)]
    pub reports: Reports,
}

/// What the session is asked for, because it is not in the store.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reports {
    /// What the cluster reported about each resource, as `/api/notices` answers.
    pub notices: BTreeMap<ResourceName, Value>,
    /// How the objects of each resource were, as `/api/objects` answers.
    pub conditions: BTreeMap<ResourceName, Value>,
}

impl Reports {
    /// Of a session that has ended there are only the notices that it left.
    pub async fn ask(reader: &Reader) -> Reports {
        let all = reader.changes_since(0).resources;
        let in_cluster = all.iter().filter(|it| it.status.k8s_resource_info.is_some());
        let names: Vec<ResourceName> = in_cluster.map(|it| ResourceName::new(&it.metadata.name)).collect();
        Reports {
            notices: collect(&names, |name| reader.notices(name)).await,
            conditions: collect(&names, |name| reader.objects(name)).await,
        }
    }
}

async fn collect<F: Future<Output = Option<Value>>>(
    names: &[ResourceName],
    ask: impl Fn(ResourceName) -> F,
) -> BTreeMap<ResourceName, Value> {
    let until = tokio::time::Instant::now() + PATIENCE;
    let ask = &ask;
    let asked = names.iter().map(|name| async move { (name.clone(), ask(name.clone()).await) });
    let mut answers = stream::iter(asked.collect::<Vec<_>>()).buffer_unordered(AT_ONCE);
    let mut found = BTreeMap::new();
    while let Ok(Some((name, answer))) = tokio::time::timeout_at(until, answers.next()).await {
        found.extend(answer.map(|told| (name, told)));
    }
    found
}

/// The view as [`super::pieces`] gives it, redacted once more.
///
/// A value that became known as a secret during the session may stand in what was kept before.
pub fn snapshot_view(reader: Reader, objects: Option<&ApiReader>) -> impl Iterator<Item = String> + use<> {
    let redactor = reader.logs().redactor();
    redacted_pieces(reader, objects, redactor)
}

/// Names and identities by which the parts of a snapshot refer to each other. They are not values, even if one of them
/// happens to equal the value of a secret.
const IDENTITIES: [&str; 14] = [
    "name",
    "namespace",
    "uid",
    "kind",
    "apiVersion",
    "labels",
    "ownerReferences",
    "resourceVersion",
    "spanId",
    "manifestName",
    "resource",
    "container",
    "image",
    "containerID",
];

/// Redacts all texts of a JSON value but for keys and identities.
pub(super) fn redact_values(value: &mut Value, redactor: &Redactor) {
    if redactor.is_empty() {
        return;
    }
    match value {
        Value::String(text) => redactor.redact_in_place(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_values(item, redactor)),
        Value::Object(fields) => {
            let values = fields.iter_mut().filter(|(key, _)| !IDENTITIES.contains(&key.as_str()));
            values.for_each(|(_, value)| redact_values(value, redactor));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What stands behind the view, and when it was made.
pub fn snapshot_end(
    reader: &Reader,
    objects: Option<&ApiReader>,
    reports: Reports,
    now: Timestamp,
) -> String {
    let of_kind = |kind: &'static str| (kind.to_owned(), objects_of(objects, kind));
    let beyond = Beyond {
        timeline: reader.timeline(None).into_iter().collect(),
        objects: KINDS.into_iter().map(of_kind).filter(|(_, found)| !found.is_empty()).collect(),
        reports,
    };
    let mut beyond = json!(beyond);
    redact_values(&mut beyond, &reader.logs().redactor());
    format!(",\"createdAt\":\"{now}\",\"lilt\":{beyond}}}\n")
}

/// `GET /api/snapshot`: what `lilt snapshot view` shows again, as a file. Tilt's address has an id behind it.
pub(crate) async fn snapshot(State(context): State<Context>) -> Response {
    let Some(clock) = context.clock.filter(|_| context.snapshot.is_none()) else {
        return (StatusCode::NOT_FOUND, "this is a snapshot already\n").into_response();
    };
    let reports = Reports::ask(&context.reader).await;
    let (reader, objects) = (context.reader.clone(), context.objects.clone());
    let whole = std::iter::once(SNAPSHOT_BEGIN.to_owned())
        .chain(snapshot_view(context.reader, context.objects.as_ref()))
        .chain(std::iter::once_with(move || snapshot_end(&reader, objects.as_ref(), reports, clock())));
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"lilt-snapshot.json\""),
    ];
    (headers, body(whole)).into_response()
}

#[cfg(test)]
mod tests {
    use lilt_model::secret::Secret;

    use super::*;

    #[test]
    fn values_are_redacted_and_names_are_not() {
        let secret = Secret {
            name: "db".into(),
            key: "pw".into(),
            value: "postgres".into(),
            encoded: "cG9zdGdyZXM=".into(),
        };
        let mut value = json!({
            "postgres": [{"stages": [{"detail": "login postgres"}]}],
            "objects": [{"metadata": {"name": "postgres", "annotations": {"a": "postgres"}}}],
        });
        redact_values(&mut value, &Redactor::new(&[secret]));
        let hidden = "[redacted secret db:pw]";
        assert_eq!(
            value,
            json!({
                "postgres": [{"stages": [{"detail": format!("login {hidden}")}]}],
                "objects": [{"metadata": {"name": "postgres", "annotations": {"a": hidden}}}],
            })
        );
    }
}
