//! How applied objects are, asked of the cluster when somebody wants to see it. Nothing is kept, so it costs nothing else.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use lilt_cluster::Cluster;
use lilt_model::ClusterName;
use lilt_model::cluster::ReportedObject;
use lilt_model::kubernetes::ObjectRef;
use lilt_store::Inspection;
use serde_json::json;

use crate::context::Context;

const AT_ONCE: usize = 10;
/// Who looks at a page does not wait longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers with a [`ReportedObject`] for each of them, in their order.
pub(crate) async fn look(
    context: Context,
    cluster: ClusterName,
    objects: Vec<ObjectRef>,
    inspection: Inspection,
) {
    let found: Vec<ReportedObject> = match context.cluster(&cluster) {
        Ok(cluster) => {
            let looks = objects.iter().map(|object| look_at(&context, &cluster, object));
            stream::iter(looks.collect::<Vec<_>>()).buffered(AT_ONCE).collect().await
        }
        Err(failure) => {
            objects.iter().map(|object| unknown(object.to_string(), failure.to_string())).collect()
        }
    };
    inspection.answer(json!(found));
}

async fn look_at(context: &Context, cluster: &Cluster, object: &ObjectRef) -> ReportedObject {
    let mut shown = object.clone();
    if shown.namespace == cluster.namespace() {
        shown.namespace.clear();
    }
    let name = shown.to_string();
    // Pods are watched, and told of in full.
    if object.kind == "Pod" && object.api_version == "v1" {
        return unknown(name, String::new());
    }
    let state = match tokio::time::timeout(PATIENCE, cluster.object_state(object)).await {
        Ok(Ok(Some(state))) => state,
        Ok(Ok(None)) => return unknown(name, "is not in the cluster".to_owned()),
        Ok(Err(failure)) => return unknown(name, failure.message),
        Err(_) => return unknown(name, "the cluster does not answer".to_owned()),
    };
    let redactor = context.logs.redactor();
    let mut conditions = state.conditions;
    conditions.iter_mut().for_each(|it| redactor.redact_in_place(&mut it.message));
    let remark = if state.going { "is being deleted" } else { "" };
    ReportedObject { name, conditions, remark: remark.to_owned() }
}

fn unknown(name: String, remark: String) -> ReportedObject {
    ReportedObject { name, conditions: Vec::new(), remark }
}
