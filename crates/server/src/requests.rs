//! What people and scripts ask of the session: Tilt's paths for it, and one of our own for all of it.

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

/// Why a request was not passed on.
pub(crate) enum Refusal {
    Malformed(String),
    Unknown(ResourceName),
    /// Such as the Tiltfile.
    AlwaysEnabled(ResourceName),
    Disabled(ResourceName),
    ShuttingDown,
    /// By the session that the snapshot is of.
    NotKept,
}

impl Refusal {
    pub(crate) fn message(&self) -> String {
        match self {
            Refusal::Malformed(words) => words.clone(),
            Refusal::Unknown(name) => format!("there is no resource named \"{name}\""),
            Refusal::AlwaysEnabled(name) => format!("{name} cannot be enabled or disabled"),
            Refusal::Disabled(name) => format!("resource \"{name}\" is currently disabled"),
            Refusal::ShuttingDown => "the session is ending".to_owned(),
            Refusal::NotKept => "this snapshot does not tell".to_owned(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self {
            Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
            Refusal::Unknown(_) => StatusCode::NOT_FOUND,
            Refusal::AlwaysEnabled(_) => StatusCode::CONFLICT,
            // As Tilt does: success, with words that say why not.
            Refusal::Disabled(_) => StatusCode::OK,
            Refusal::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::NotKept => StatusCode::GONE,
        };
        (status, format!("{}\n", self.message())).into_response()
    }
}

/// The body that Tilt's scripts send.
#[derive(Deserialize)]
struct Trigger {
    manifest_names: Vec<ResourceName>,
    #[serde(default)]
    build_reason: TriggerReason,
}

/// `POST /api/trigger`
pub(crate) async fn trigger(State(context): State<Context>, body: Bytes) -> Result<StatusCode, Refusal> {
    let Trigger { manifest_names: names, build_reason: reason } = read(&body, "a trigger")?;
    if names.is_empty() {
        return Err(Refusal::Malformed("manifest_names is empty".to_owned()));
    }
    let requests: Vec<Request> =
        names.into_iter().map(|resource| Request::Trigger { resource, reason }).collect();
    // All or none: a list with a wrong name does nothing.
    for request in &requests {
        check(&context, request)?;
    }
    for request in requests {
        ask(&context, request).await?;
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
) -> Result<StatusCode, Refusal> {
    let asked: OverrideTriggerMode = read(&body, "a trigger mode")?;
    // Tilt's numbers also say whether to start by itself, which is past when this is asked.
    let mode = match asked.trigger_mode {
        0 | 3 => TriggerMode::Auto,
        1 | 2 => TriggerMode::Manual,
        other => return Err(Refusal::Malformed(format!("invalid trigger mode: {other}"))),
    };
    ask(&context, Request::SetTriggerMode { resources: asked.manifest_names, mode }).await?;
    Ok(StatusCode::OK)
}

/// `POST /api/set_tiltfile_args`: a list of texts.
pub(crate) async fn set_tiltfile_args(
    State(context): State<Context>,
    body: Bytes,
) -> Result<StatusCode, Refusal> {
    let args = read(&body, "a list of arguments")?;
    ask(&context, Request::SetArgs { args }).await?;
    Ok(StatusCode::OK)
}

/// `POST /api/request`: any [`Request`].
pub(crate) async fn request(State(context): State<Context>, body: Bytes) -> Result<StatusCode, Refusal> {
    ask(&context, read(&body, "a request")?).await?;
    Ok(StatusCode::OK)
}

/// Reads it whatever the content type says: Tilt does, and the guard has kept other sites' pages out.
fn read<T: DeserializeOwned>(body: &Bytes, what: &str) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::Malformed(format!("not {what}: {error}")))
}

/// Passes a request on, if it can be meant.
pub(crate) async fn ask(context: &Context, request: Request) -> Result<(), Refusal> {
    check(context, &request)?;
    context.requests.send(request).await.map_err(|_| Refusal::ShuttingDown)
}

fn check(context: &Context, request: &Request) -> Result<(), Refusal> {
    let known = |name: &ResourceName| {
        context.reader.resource(name.as_str()).ok_or_else(|| Refusal::Unknown(name.clone()))
    };
    match request {
        Request::Trigger { resource, .. } => {
            let status = known(resource)?.status.disable_status.clone();
            let disabled = status.is_some_and(|status| status.state == "Disabled");
            if disabled { Err(Refusal::Disabled(resource.clone())) } else { Ok(()) }
        }
        Request::Cancel { resource } => known(resource).map(drop),
        Request::Switch { enable, disable } => enable.iter().chain(disable).try_for_each(|name| {
            known(name)?;
            if name.is_tiltfile() { Err(Refusal::AlwaysEnabled(name.clone())) } else { Ok(()) }
        }),
        Request::SetTriggerMode { resources, .. } => {
            resources.iter().try_for_each(|name| known(name).map(drop))
        }
        Request::SetArgs { .. } | Request::Reconnect => Ok(()),
    }
}
