//! Snapshots: a session's state as a file. It contains Tilt's view, and then what the page shows but Tilt's form lacks.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use lilt_api::ObjectKind;
use lilt_model::secret::{Redactor, redact_values};
use lilt_model::timeline::UpdateRecord;
use lilt_model::{ResourceName, Timestamp};
use lilt_store::Reader;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{body, objects_of, redacted_pieces};
use crate::Context;

/// The text before the view.
pub const SNAPSHOT_BEGIN: &str = "{\"view\":";

/// Kinds of the object API about a resource in its cluster.
const KINDS: [ObjectKind; 2] = [ObjectKind::KubernetesDiscovery, ObjectKind::PortForward];

/// How many queries about resources run at once.
const MAX_CONCURRENT: usize = 4;

/// The timeout of queries to a cluster for the conditions of its objects. Missing conditions are omitted.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

/// What Tilt's form of a snapshot lacks.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Beyond {
    pub timeline: BTreeMap<ResourceName, Vec<UpdateRecord>>,
    /// Objects by kind: discoveries with their pods, and port forwards.
    pub objects: BTreeMap<String, Vec<Value>>,
    #[serde(flatten)]
    pub reports: Reports,
}

impl Beyond {
    /// Returns it as redacted JSON. Keys of the maps are names of resources, not of fields with a meaning for redaction.
    fn redacted(self, redactor: &Redactor) -> Value {
        fn by_name<T: Serialize>(all: BTreeMap<ResourceName, T>, redactor: &Redactor) -> Value {
            let redacted = |(name, value): (ResourceName, T)| {
                (name.to_string(), redact_values("", json!(value), redactor))
            };
            Value::Object(all.into_iter().map(redacted).collect())
        }
        let Beyond { timeline, objects, reports: Reports { notices, conditions } } = self;
        json!({
            "timeline": by_name(timeline, redactor),
            "objects": redact_values("", json!(objects), redactor),
            "notices": by_name(notices, redactor),
            "conditions": by_name(conditions, redactor),
        })
    }
}

/// The results of queries to the session, for data that is not in the store.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reports {
    /// The response of `/api/notices` for each resource.
    pub notices: BTreeMap<ResourceName, Value>,
    /// The response of `/api/objects` for each resource.
    pub conditions: BTreeMap<ResourceName, Value>,
}

impl Reports {
    /// Queries the session. After its end, there are only the notices that it stored.
    pub async fn query(reader: &Reader) -> Reports {
        let all = reader.changes_since(0).resources;
        let in_cluster = all.iter().filter(|it| it.status.k8s_resource_info.is_some());
        let names: Vec<ResourceName> = in_cluster.map(|it| ResourceName::new(&it.metadata.name)).collect();
        Reports {
            notices: collect(&names, |name| reader.notices(name)).await,
            conditions: collect(&names, |name| reader.cluster_objects(name)).await,
        }
    }
}

async fn collect<F: Future<Output = Option<Value>>>(
    names: &[ResourceName],
    ask: impl Fn(ResourceName) -> F,
) -> BTreeMap<ResourceName, Value> {
    let until = tokio::time::Instant::now() + QUERY_TIMEOUT;
    let ask = &ask;
    let asked = names.iter().map(|name| async move { (name.clone(), ask(name.clone()).await) });
    let mut answers = stream::iter(asked.collect::<Vec<_>>()).buffer_unordered(MAX_CONCURRENT);
    let mut found = BTreeMap::new();
    while let Ok(Some((name, answer))) = tokio::time::timeout_at(until, answers.next()).await {
        found.extend(answer.map(|told| (name, told)));
    }
    found
}

/// Returns the view of [`super::pieces`], redacted again.
///
/// What was stored before a value became known as a secret may contain the value.
pub fn snapshot_view(reader: Reader) -> impl Iterator<Item = String> + use<> {
    let redactor = reader.logs().redactor();
    redacted_pieces(reader, redactor)
}

/// Returns the text after the view, with the time of the snapshot.
pub fn snapshot_end(reader: &Reader, reports: Reports, now: Timestamp) -> String {
    let of_kind = |kind: ObjectKind| (kind.name().to_owned(), objects_of(reader, kind));
    let beyond = Beyond {
        timeline: reader.timeline(None).into_iter().collect(),
        objects: KINDS.into_iter().map(of_kind).filter(|(_, found)| !found.is_empty()).collect(),
        reports,
    };
    let beyond = beyond.redacted(&reader.logs().redactor());
    format!(",\"createdAt\":\"{now}\",\"lilt\":{beyond}}}\n")
}

/// `GET /api/snapshot`: a file for `lilt snapshot view`. Tilt's route is followed by an id.
pub(crate) async fn snapshot(State(context): State<Context>) -> Response {
    let Some(clock) = context.clock.filter(|_| context.snapshot.is_none()) else {
        return (StatusCode::NOT_FOUND, "this is a snapshot already\n").into_response();
    };
    let reports = Reports::query(&context.reader).await;
    let reader = context.reader.clone();
    let whole = std::iter::once(SNAPSHOT_BEGIN.to_owned())
        .chain(snapshot_view(context.reader))
        .chain(std::iter::once_with(move || snapshot_end(&reader, reports, clock())));
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"lilt-snapshot.json\""),
    ];
    (headers, body(whole)).into_response()
}

#[cfg(test)]
mod tests {
    use lilt_model::secret::Secret;
    use lilt_model::timeline::{Outcome, Stage, StageKind};

    use super::*;

    fn redactor(value: &str) -> Redactor {
        let secret = Secret {
            name: "db".into(),
            key: "pw".into(),
            value: value.into(),
            encoded: "c29tZXRoaW5nIGVsc2U=".into(),
        };
        Redactor::new(&[secret])
    }

    const HIDDEN: &str = "[redacted secret db:pw]";

    #[test]
    fn values_are_redacted_and_names_are_not() {
        let pod = json!({"metadata": {"name": "postgres", "annotations": {"a": "postgres"}}});
        let beyond = Beyond {
            timeline: BTreeMap::new(),
            objects: BTreeMap::from([("KubernetesDiscovery".to_owned(), vec![pod])]),
            reports: Reports {
                notices: BTreeMap::from([(
                    ResourceName::new("postgres"),
                    json!([{"message": "login postgres"}]),
                )]),
                conditions: BTreeMap::new(),
            },
        };
        let redacted = beyond.redacted(&redactor("postgres"));
        assert_eq!(redacted["notices"], json!({"postgres": [{"message": format!("login {HIDDEN}")}]}));
        let metadata = json!({"name": "postgres", "annotations": {"a": HIDDEN}});
        assert_eq!(redacted["objects"]["KubernetesDiscovery"][0]["metadata"], metadata);
    }

    #[test]
    fn reports_of_resources_named_like_fields_are_redacted() {
        for name in ["image", "container", "name", "labels", "kind", "selector", "yaml", "data"] {
            let report =
                || BTreeMap::from([(ResourceName::new(name), json!([{"message": "login hunter2"}]))]);
            let stages = vec![Stage::new(StageKind::Run, "login hunter2", Timestamp(1))];
            let record = UpdateRecord {
                update: 1,
                cause: "hunter2".to_owned(),
                begin: Timestamp(1),
                end: None,
                outcome: Outcome::Failed,
                error: Some("hunter2".to_owned()),
                stages,
            };
            let beyond = Beyond {
                timeline: BTreeMap::from([(ResourceName::new(name), vec![record])]),
                objects: BTreeMap::new(),
                reports: Reports { notices: report(), conditions: report() },
            };
            let redacted = beyond.redacted(&redactor("hunter2"));
            assert!(!redacted.to_string().contains("hunter2"), "{name}: {redacted}");
            assert!(serde_json::from_value::<Beyond>(redacted).is_ok(), "{name}");
        }
    }
}
