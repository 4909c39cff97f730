//! Routes for inspecting a session: timelines, notices, objects in the cluster, the state of the engine.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lilt_model::ResourceName;
use lilt_model::timeline::UpdateRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Context;
use crate::requests::RequestError;

#[derive(Deserialize)]
pub(crate) struct TimelineQuery {
    resource: Option<ResourceName>,
}

/// The response to `GET /api/timeline`.
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

/// `GET /api/timeline?resource=NAME`: the updates of one resource, or of all.
pub(crate) async fn timeline(
    State(context): State<Context>,
    Query(TimelineQuery { resource }): Query<TimelineQuery>,
) -> Result<Json<Timeline>, RequestError> {
    let found = context.reader.timeline(resource.as_ref().map(ResourceName::as_str));
    if let Some(name) =
        resource.filter(|name| found.is_empty() && context.reader.resource(name.as_str()).is_none())
    {
        return Err(RequestError::Unknown(name));
    }
    let resources = found.into_iter().map(|(name, updates)| ResourceTimeline { name, updates }).collect();
    Ok(Json(Timeline { resources }))
}

#[derive(Deserialize)]
pub(crate) struct ResourceQuery {
    resource: ResourceName,
}

/// `GET /api/notices?resource=NAME`: the Kubernetes events of its objects and pods, oldest first.
pub(crate) async fn notices(
    State(context): State<Context>,
    Query(ResourceQuery { resource }): Query<ResourceQuery>,
) -> Result<Response, RequestError> {
    if context.reader.resource(resource.as_str()).is_none() {
        return Err(RequestError::Unknown(resource));
    }
    response(&context, context.reader.notices(resource).await)
}

/// `GET /api/objects?resource=NAME`: the current state of its objects in the cluster, with their conditions.
pub(crate) async fn objects(
    State(context): State<Context>,
    Query(ResourceQuery { resource }): Query<ResourceQuery>,
) -> Result<Response, RequestError> {
    if context.reader.resource(resource.as_str()).is_none() {
        return Err(RequestError::Unknown(resource));
    }
    response(&context, context.reader.cluster_objects(resource).await)
}

fn response(context: &Context, found: Option<Value>) -> Result<Response, RequestError> {
    let error =
        if context.snapshot.is_some() { RequestError::NotInSnapshot } else { RequestError::ShuttingDown };
    Ok(Json(found.ok_or(error)?).into_response())
}

/// `GET /api/dump/engine`
pub(crate) async fn engine(State(context): State<Context>) -> Response {
    match context.reader.engine_state().await {
        Some(state) => Json(state).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the session is ending\n").into_response(),
    }
}
