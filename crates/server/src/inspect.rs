//! What updates did and when, and all that the engine knows: for people who want to understand a session.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lilt_model::ResourceName;
use lilt_model::timeline::UpdateRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Context;
use crate::requests::Refusal;

#[derive(Deserialize)]
pub(crate) struct Whose {
    resource: Option<ResourceName>,
}

/// The answer to `GET /api/timeline`.
#[derive(Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Timeline {
    pub resources: Vec<ResourceTimeline>,
}

#[derive(Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ResourceTimeline {
    pub name: ResourceName,
    /// Oldest first.
    pub updates: Vec<UpdateRecord>,
}

/// `GET /api/timeline?resource=NAME`: of one resource, or of all.
pub(crate) async fn timeline(
    State(context): State<Context>,
    Query(Whose { resource }): Query<Whose>,
) -> Result<Json<Timeline>, Refusal> {
    let found = context.reader.timeline(resource.as_ref().map(ResourceName::as_str));
    if let Some(name) =
        resource.filter(|name| found.is_empty() && context.reader.resource(name.as_str()).is_none())
    {
        return Err(Refusal::Unknown(name));
    }
    let resources = found.into_iter().map(|(name, updates)| ResourceTimeline { name, updates }).collect();
    Ok(Json(Timeline { resources }))
}

#[derive(Deserialize)]
pub(crate) struct Of {
    resource: ResourceName,
}

/// `GET /api/notices?resource=NAME`: what the cluster reported about its objects and pods, oldest first.
pub(crate) async fn notices(
    State(context): State<Context>,
    Query(Of { resource }): Query<Of>,
) -> Result<Response, Refusal> {
    if context.reader.resource(resource.as_str()).is_none() {
        return Err(Refusal::Unknown(resource));
    }
    answer(&context, context.reader.notices(resource).await)
}

/// `GET /api/objects?resource=NAME`: its objects as the cluster has them now, with their conditions.
pub(crate) async fn objects(
    State(context): State<Context>,
    Query(Of { resource }): Query<Of>,
) -> Result<Response, Refusal> {
    if context.reader.resource(resource.as_str()).is_none() {
        return Err(Refusal::Unknown(resource));
    }
    answer(&context, context.reader.cluster_objects(resource).await)
}

fn answer(context: &Context, found: Option<Value>) -> Result<Response, Refusal> {
    let nobody = if context.snapshot.is_some() { Refusal::NotKept } else { Refusal::ShuttingDown };
    Ok(Json(found.ok_or(nobody)?).into_response())
}

/// `GET /api/dump/engine`
pub(crate) async fn engine(State(context): State<Context>) -> Response {
    match context.reader.engine_state().await {
        Some(state) => Json(state).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the session is ending\n").into_response(),
    }
}
