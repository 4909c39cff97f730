//! The object API: everything the session knows, as Kubernetes-style objects of `tilt.dev/v1alpha1`.
//!
//! Reads come from the store; writes are prepared here and decided by the session, which owns all state.
//! An unmodified kubectl works against it.

mod apply;
mod delete;
mod discovery;
mod listen;
mod openapi;
mod patch;
mod read;
mod rules;
mod select;
mod status_error;
mod table;
mod write;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use lilt_api::kinds::{Kind, kinds};
use lilt_model::Timestamp;
use lilt_store::{Reader, WriteRequest};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use listen::Credentials;
pub(crate) use listen::{is_same_token, serve};
use openapi::Edition;
pub use openapi::openapi;
use read::ListQuery;
use status_error::{StatusError, json_response};
use write::{Half, Write, WriteQuery};

/// The maximum size of a body. Charts with large CRDs are sent in `KubernetesApply` objects.
const LARGEST_BODY: usize = 20 * 1024 * 1024;

/// The state that all routes of the API share.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) reader: Reader,
    pub(crate) writes: mpsc::Sender<WriteRequest>,
    pub(crate) clock: fn() -> Timestamp,
    /// lilt's own version.
    pub(crate) version: std::sync::Arc<str>,
    /// Cancelled to end the watches.
    pub(crate) closing: CancellationToken,
}

pub(crate) fn router(api: Api) -> Router {
    Router::new()
        .route("/api", get(|| async { document_response(&discovery::core_versions()) }))
        .route("/apis", get(|| async { document_response(&discovery::groups()) }))
        .route("/apis/tilt.dev", get(|| async { document_response(&discovery::one_group()) }))
        .route("/apis/tilt.dev/v1alpha1", get(|| async { document_response(&discovery::resources()) }))
        .route("/apis/tilt.dev/v1alpha1/{plural}", any(collection))
        .route("/apis/tilt.dev/v1alpha1/{plural}/{name}", any(object::<false>))
        .route("/apis/tilt.dev/v1alpha1/{plural}/{name}/status", any(object::<true>))
        .route("/openapi/v2", get(|| async { document_response(&openapi::document(Edition::V2)) }))
        .route("/openapi/v3", get(|| async { document_response(&openapi::index()) }))
        .route(
            "/openapi/v3/apis/tilt.dev/v1alpha1",
            get(|| async { document_response(&openapi::document(Edition::V3)) }),
        )
        .route("/version", get(version))
        .route("/healthz", get(|| async { "ok" }))
        .route("/livez", get(|| async { "ok" }))
        .route("/readyz", get(|| async { "ok" }))
        .fallback(|| async { StatusError::no_such_path() })
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(api)
}

fn document_response(document: &Value) -> Response {
    json_response(StatusCode::OK, document.to_string())
}

async fn version(State(api): State<Api>) -> Response {
    document_response(&discovery::version(&api.version))
}

fn kind_of(plural: &str) -> Result<&'static Kind, StatusError> {
    kinds().with_plural(plural).ok_or_else(StatusError::no_such_path)
}

/// Returns the name by which the client identifies itself.
fn user_agent(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

type Body = Result<Bytes, BytesRejection>;

fn received(body: Body) -> Result<Bytes, StatusError> {
    body.map_err(|_| StatusError::too_large())
}

async fn collection(
    State(api): State<Api>,
    Path(plural): Path<String>,
    method: Method,
    Query(list): Query<ListQuery>,
    Query(query): Query<WriteQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, StatusError> {
    let kind = kind_of(&plural)?;
    let write = Write { api: &api, kind, query: &query, user_agent: user_agent(&headers) };
    match method {
        Method::GET | Method::HEAD if list.is_watch() => read::watch(&api, kind, &list, &headers),
        Method::GET | Method::HEAD => read::list(&api, kind, &list, &headers),
        Method::POST => write.create(&received(body)?).await,
        Method::DELETE => write.delete_collection(&list, &received(body)?).await,
        _ => Err(StatusError::not_allowed()),
    }
}

/// One object, or its status, which cannot be deleted alone.
async fn object<const STATUS: bool>(
    State(api): State<Api>,
    Path((plural, name)): Path<(String, String)>,
    method: Method,
    Query(list): Query<ListQuery>,
    Query(query): Query<WriteQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, StatusError> {
    let kind = kind_of(&plural)?;
    if STATUS && !kind.has_status() {
        return Err(StatusError::no_such_path());
    }
    let half = if STATUS { Half::Status } else { Half::Main };
    let write = Write { api: &api, kind, query: &query, user_agent: user_agent(&headers) };
    match method {
        Method::GET | Method::HEAD => read::get(&api, kind, &name, &list, &headers),
        Method::PUT => write.replace(&name, half, &received(body)?).await,
        Method::PATCH => write.patch(&name, half, &headers, &received(body)?).await,
        Method::DELETE if !STATUS => write.delete(&name, &received(body)?).await,
        _ => Err(StatusError::not_allowed()),
    }
}

/// Returns the response to requests without valid credentials, which are checked first.
pub(crate) fn unauthorized() -> Response {
    StatusError::unauthorized().into_response()
}
