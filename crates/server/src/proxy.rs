//! The object API under the web port, for the page: `/proxy/apis/…`.
//!
//! Whoever may write objects may run commands, so that being on this machine is not enough: the page brings a token
//! along that it was given as a cookie. Another site's page can have it sent, but is stopped by the guard; the port is in
//! its name because cookies know no ports, and sessions must not take each other's away.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Router, middleware};
use lilt_model::Timestamp;
use lilt_store::{ApiReader, WriteRequest};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::api::{Api, is_same_token, router};

/// As Tilt's clients send it.
const HEADER: &str = "x-tilt-token";

/// What the web port needs to offer the object API.
#[derive(Clone, Debug)]
pub struct ProxiedApi {
    pub reader: ApiReader,
    pub writes: mpsc::Sender<WriteRequest>,
    /// The host's.
    pub clock: fn() -> Timestamp,
    /// What the page must bring along.
    pub token: Arc<str>,
}

/// The token of one web port.
#[derive(Clone)]
pub(crate) struct Pass {
    token: Arc<str>,
    cookie: Arc<str>,
}

impl Pass {
    pub(crate) fn new(token: Arc<str>, port: u16) -> Self {
        Self { token, cookie: Arc::from(format!("lilt-token-{port}")) }
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        if let Some(given) = headers.get(HEADER) {
            return is_same_token(&self.token, &text(given));
        }
        let cookies: Vec<String> = headers.get_all(header::COOKIE).iter().map(text).collect();
        let mut pairs = cookies.iter().flat_map(|cookies| cookies.split(';')).map(str::trim);
        let own = pairs.find_map(|pair| pair.strip_prefix(&*self.cookie)?.strip_prefix('='));
        own.is_some_and(|given| is_same_token(&self.token, given))
    }
}

/// The API's routes, behind the token.
pub(crate) fn routes(api: ProxiedApi, pass: Pass, version: Arc<str>, closing: CancellationToken) -> Router {
    let ProxiedApi { reader, writes, clock, .. } = api;
    router(Api { reader, writes, clock, version, closing }).layer(middleware::from_fn_with_state(pass, check))
}

async fn check(State(pass): State<Pass>, request: Request, next: Next) -> Response {
    if pass.is_shown(request.headers()) {
        return next.run(request).await;
    }
    (
        StatusCode::FORBIDDEN,
        "The page must be loaded anew: its session token is missing or not of this session.\n",
    )
        .into_response()
}

/// Gives a page the token that it will need.
pub(crate) async fn hand_out(State(pass): State<Pass>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", pass.cookie, pass.token);
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}
