//! Requests of users and scripts to the session: Tilt's routes, and one of our own for all requests.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lilt_model::ResourceName;
use lilt_model::request::{Request, TriggerReason};
use lilt_model::resource::TriggerMode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Context;

/// Why a request was refused.
pub(crate) enum RequestError {
    Malformed(String),
    Unknown(ResourceName),
    /// The resource cannot be disabled, such as the Tiltfile.
    AlwaysEnabled(ResourceName),
    Disabled(ResourceName),
    ShuttingDown,
    /// The snapshot does not contain it.
    NotInSnapshot,
}

impl RequestError {
    pub(crate) fn message(&self) -> String {
        match self {
            RequestError::Malformed(words) => words.clone(),
            RequestError::Unknown(name) => format!("there is no resource named \"{name}\""),
            RequestError::AlwaysEnabled(name) => format!("{name} cannot be enabled or disabled"),
            RequestError::Disabled(name) => format!("resource \"{name}\" is currently disabled"),
            RequestError::ShuttingDown => "the session is ending".to_owned(),
            RequestError::NotInSnapshot => "this snapshot does not tell".to_owned(),
        }
    }
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        let status = match self {
            RequestError::Malformed(_) => StatusCode::BAD_REQUEST,
            RequestError::Unknown(_) => StatusCode::NOT_FOUND,
            RequestError::AlwaysEnabled(_) => StatusCode::CONFLICT,
            // As in Tilt: success, with a message why nothing was done.
            RequestError::Disabled(_) => StatusCode::OK,
            RequestError::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            RequestError::NotInSnapshot => StatusCode::GONE,
        };
        (status, format!("{}\n", self.message())).into_response()
    }
}

/// The body of requests of Tilt's scripts.
#[derive(Deserialize)]
struct Trigger {
    manifest_names: Vec<ResourceName>,
    #[serde(default)]
    build_reason: TriggerReason,
}

/// `POST /api/trigger`
pub(crate) async fn trigger(State(context): State<Context>, body: Bytes) -> Result<StatusCode, RequestError> {
    let Trigger { manifest_names: names, build_reason: reason } = read(&body, "a trigger")?;
    if names.is_empty() {
        return Err(RequestError::Malformed("manifest_names is empty".to_owned()));
    }
    let requests: Vec<Request> =
        names.into_iter().map(|resource| Request::Trigger { resource, reason }).collect();
    // All or none: a list with an unknown name has no effect.
    for request in &requests {
        check(&context, request)?;
    }
    for request in requests {
        send(&context, request).await?;
    }
    Ok(StatusCode::OK)
}

#[derive(Deserialize)]
struct OverrideTriggerMode {
    manifest_names: Vec<ResourceName>,
    trigger_mode: i32,
}

/// `POST /api/override/trigger_mode`
pub(crate) async fn override_trigger_mode(
    State(context): State<Context>,
    body: Bytes,
) -> Result<StatusCode, RequestError> {
    let trigger_mode_override: OverrideTriggerMode = read(&body, "a trigger mode")?;
    // Tilt's numbers also contain `auto_init`, which has no effect on a running session.
    let mode = match trigger_mode_override.trigger_mode {
        0 | 3 => TriggerMode::Auto,
        1 | 2 => TriggerMode::Manual,
        other => return Err(RequestError::Malformed(format!("invalid trigger mode: {other}"))),
    };
    send(&context, Request::SetTriggerMode { resources: trigger_mode_override.manifest_names, mode }).await?;
    Ok(StatusCode::OK)
}

/// `POST /api/set_tiltfile_args`: a list of strings.
pub(crate) async fn set_tiltfile_args(
    State(context): State<Context>,
    body: Bytes,
) -> Result<StatusCode, RequestError> {
    let args = read(&body, "a list of arguments")?;
    send(&context, Request::SetArgs { args }).await?;
    Ok(StatusCode::OK)
}

/// `POST /api/request`: any [`Request`].
pub(crate) async fn request(State(context): State<Context>, body: Bytes) -> Result<StatusCode, RequestError> {
    send(&context, read(&body, "a request")?).await?;
    Ok(StatusCode::OK)
}

/// Parses a body regardless of its content type, as Tilt does. The origin check excludes pages of other sites.
fn read<T: DeserializeOwned>(body: &Bytes, what: &str) -> Result<T, RequestError> {
    serde_json::from_slice(body).map_err(|error| RequestError::Malformed(format!("not {what}: {error}")))
}

/// Sends a request to the loop, if it is valid.
pub(crate) async fn send(context: &Context, request: Request) -> Result<(), RequestError> {
    check(context, &request)?;
    context.requests.send(request).await.map_err(|_| RequestError::ShuttingDown)
}

fn check(context: &Context, request: &Request) -> Result<(), RequestError> {
    let known = |name: &ResourceName| {
        context.reader.resource(name.as_str()).ok_or_else(|| RequestError::Unknown(name.clone()))
    };
    match request {
        Request::Trigger { resource, .. } => {
            let status = known(resource)?.status.disable_status.clone();
            let disabled = status.is_some_and(|status| status.state == "Disabled");
            if disabled { Err(RequestError::Disabled(resource.clone())) } else { Ok(()) }
        }
        Request::Cancel { resource } => known(resource).map(drop),
        Request::Switch { enable, disable } => enable.iter().chain(disable).try_for_each(|name| {
            known(name)?;
            if name.is_tiltfile() { Err(RequestError::AlwaysEnabled(name.clone())) } else { Ok(()) }
        }),
        Request::SetTriggerMode { resources, .. } => {
            resources.iter().try_for_each(|name| known(name).map(drop))
        }
        Request::SetArgs { .. } | Request::Reconnect => Ok(()),
    }
}
