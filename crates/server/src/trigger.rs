//! Asking for an update: Tilt's `POST /api/trigger` and what page and scripts share.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lilt_model::ResourceName;
use lilt_model::request::Request;
use serde::Deserialize;

use crate::Context;

/// The body that Tilt's scripts send; the `build_reason` beside it means nothing to lilt.
#[derive(Deserialize)]
struct Body {
    manifest_names: Vec<ResourceName>,
}

/// Why a request was not passed on.
pub(crate) enum Refusal {
    Unknown(ResourceName),
    ShuttingDown,
}

impl Refusal {
    pub(crate) fn message(&self) -> String {
        match self {
            Refusal::Unknown(name) => format!("there is no resource named \"{name}\""),
            Refusal::ShuttingDown => "the session is ending".to_owned(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self {
            Refusal::Unknown(_) => StatusCode::NOT_FOUND,
            Refusal::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, format!("{}\n", self.message())).into_response()
    }
}

pub(crate) async fn trigger(State(context): State<Context>, body: Bytes) -> Response {
    // Read whatever the content type says: Tilt does, and the guard has kept other sites' pages out.
    let names = match serde_json::from_slice::<Body>(&body) {
        Ok(body) if !body.manifest_names.is_empty() => body.manifest_names,
        Ok(_) => return (StatusCode::BAD_REQUEST, "manifest_names is empty\n").into_response(),
        Err(error) => return (StatusCode::BAD_REQUEST, format!("not a trigger: {error}\n")).into_response(),
    };
    // All or none: a list with a wrong name does nothing.
    if let Some(unknown) = names.iter().find(|name| context.reader.resource(name.as_str()).is_none()) {
        return Refusal::Unknown(unknown.clone()).into_response();
    }
    for name in names {
        if let Err(refusal) = ask(&context, name).await {
            return refusal.into_response();
        }
    }
    StatusCode::OK.into_response()
}

pub(crate) async fn ask(context: &Context, resource: ResourceName) -> Result<(), Refusal> {
    if context.reader.resource(resource.as_str()).is_none() {
        return Err(Refusal::Unknown(resource));
    }
    context.requests.send(Request::Trigger { resource }).await.map_err(|_| Refusal::ShuttingDown)
}
