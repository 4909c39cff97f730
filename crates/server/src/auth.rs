//! Access control of the web port: whoever can use a session can run commands as its user.
//!
//! Scripts and lilt's own commands send the token in a header. A browser opens a link with a one-time code, gets a cookie
//! for it and is redirected to the page: neither the token nor a usable code stays in the address bar or the history, and
//! the page's scripts cannot read the cookie. See [`lilt_model::auth`] for the secrets and [`owner`] for who keeps them.
//!
//! Browsers send cookies to every port of a host, so the server of a forwarded port on `localhost` sees this one. It is
//! not the token, is refused in a header, ends with the session, and is valid for the host name it was issued for. The
//! port is in its name so that sessions do not overwrite each other's.
//!
//! The cookie is `SameSite=Lax`: a browser sends it when somebody follows a link on another site's page to this one, and
//! with nothing else that another site causes. Such a request can only read a page; every request that changes something
//! or opens a WebSocket must have our own Origin beside the cookie.

pub(crate) mod owner;

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Extension, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};
use futures_util::StreamExt as _;
use lilt_model::auth::AuthKeys;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Context;
use crate::api::is_same_token;
use crate::html::escape;
use crate::routes::is_page;
use owner::{Auth, CodeRefusal, IssuedKeys, Visitor};

/// The header in which Tilt's clients send the token.
const HEADER: &str = "x-tilt-token";
/// Tilt's cookie with the token itself, for scripts that set it. Browsers never get it.
const TILT_COOKIE: &str = "Tilt-Token";
/// The parameter of a link with the code.
const PARAMETER: &str = "code";

/// Tilt's WebSocket, and the parameter with the token from `/api/websocket_token`.
const TILT_SOCKET: &str = "/ws/view";
const SOCKET_PARAMETER: &str = "csrf";

/// How long a browser keeps the cookie if the token is kept: a year. Otherwise the cookie ends with the browser, since no
/// later session accepts it.
const REMEMBERED_SECONDS: u32 = 31_536_000;

/// The maximum length of a challenge.
const MAX_CHALLENGE: usize = 128;

const LOGIN: &str = include_str!("auth/login.html");

/// The check of all routes except the page's files.
#[derive(Clone)]
pub(crate) struct AuthCheck {
    /// None: every request that passes the origin check is authorized, as configured by the user.
    auth: Option<Auth>,
    cookie: Arc<str>,
}

/// How a request was authorized, for handlers.
#[derive(Clone, Debug)]
pub(crate) struct Authorization {
    is_by_token: bool,
    /// Cancelled when the token is replaced.
    pub(crate) revoked: CancellationToken,
}

/// The credential of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Credential {
    /// The token, in a header.
    Header,
    Cookie,
    /// The socket token, in the URL of Tilt's WebSocket.
    Address,
    None,
}

impl AuthCheck {
    pub(crate) fn new(auth: Option<Auth>, port: u16) -> Self {
        Self { auth, cookie: Arc::from(format!("lilt-session-{port}")) }
    }

    fn credential(&self, keys: &AuthKeys, request: &Request) -> Credential {
        let headers = request.headers();
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        if let Some(given) = headers.get(HEADER) {
            // With a wrong token, a cookie does not count.
            let is_right = is_same_token(keys.token(), &text(given));
            return if is_right { Credential::Header } else { Credential::None };
        }
        if has_socket_token(keys, request.uri()) {
            return Credential::Address;
        }
        let host = own_host(headers);
        let cookies: Vec<String> = headers.get_all(header::COOKIE).iter().map(text).collect();
        let pairs = cookies.iter().flat_map(|cookies| cookies.split(';')).map(str::trim);
        // Names of cookies are case-sensitive.
        let is_valid = pairs.filter_map(|pair| pair.split_once('=')).any(|(name, value)| match name {
            TILT_COOKIE => is_same_token(keys.token(), value),
            name => name == &*self.cookie && keys.is_cookie(value, &host),
        });
        if is_valid { Credential::Cookie } else { Credential::None }
    }
}

fn has_socket_token(keys: &AuthKeys, address: &Uri) -> bool {
    let pairs = address.query().unwrap_or_default().split('&').filter_map(|part| part.split_once('='));
    let mut own = pairs.filter(|(name, _)| *name == SOCKET_PARAMETER);
    let is_right = own.next().is_some_and(|(_, given)| is_same_token(keys.socket_token(), given));
    is_right && address.path() == TILT_SOCKET
}

/// Returns the host name by which the browser addresses the session.
fn own_host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or_default().to_ascii_lowercase()
}

pub(crate) async fn check(State(check): State<AuthCheck>, request: Request, next: Next) -> Response {
    let Some(auth) = &check.auth else { return next.run(request).await };
    let issued = auth.issued();
    let is_visit = only_reads(&request) && is_page(request.uri().path());
    match check.credential(&issued.keys, &request) {
        Credential::Cookie if is_visit && has_code(request.uri()) => {
            // A link that is opened again, or in a browser that is signed in.
            let target = without_code(request.uri());
            if let Some(code) = opened_code(&request) {
                let _ = auth.redeem(&code, Visitor::SignedIn).await;
            }
            Redirect::to(&target).into_response()
        }
        // The origin check accepted only our own origin. A request that changes something must have one: a request with a
        // cookie and without an origin does not come from our page.
        Credential::Cookie if !only_reads(&request) && !request.headers().contains_key(header::ORIGIN) => {
            refuse("A request with a cookie that changes something must have an Origin.\n")
        }
        Credential::None if is_visit => {
            let code = opened_code(&request);
            let (head, _) = request.into_parts();
            sign_in(&check, auth, code, &head.uri, &head.headers).await
        }
        Credential::None => refuse(
            "This needs the session's token in the header X-Tilt-Token (`lilt token` prints it), or the cookie of its \
             page (`lilt open` opens it).\n",
        ),
        credential => authorized(issued, credential, request, next).await,
    }
}

async fn authorized(
    issued: IssuedKeys,
    credential: Credential,
    mut request: Request,
    next: Next,
) -> Response {
    let revoked = issued.revoked;
    let is_by_token = credential == Credential::Header;
    request.extensions_mut().insert(Authorization { is_by_token, revoked: revoked.clone() });
    let response = next.run(request).await;
    // Followed logs and watches must end with the token. Other responses end soon.
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(revoked.cancelled_owned())))
}

fn refuse(reason: &'static str) -> Response {
    (StatusCode::FORBIDDEN, reason).into_response()
}

fn only_reads(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
        && !request.headers().contains_key(header::UPGRADE)
}

/// Returns the code of a link that somebody opens. Requests that only preview the link must not use it up.
fn opened_code(request: &Request) -> Option<String> {
    let is_prefetch = ["sec-purpose", "purpose", "x-moz"].iter().any(|name| {
        let value = request.headers().get(*name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.contains("prefetch") || value.contains("preview")
    });
    let is_opened = *request.method() == Method::GET && !is_prefetch;
    code_in(request.uri()).filter(|_| is_opened)
}

fn query_pairs(address: &Uri) -> Vec<(String, String)> {
    Query::<Vec<(String, String)>>::try_from_uri(address).map(|Query(pairs)| pairs).unwrap_or_default()
}

fn has_code(address: &Uri) -> bool {
    query_pairs(address).iter().any(|(name, _)| name == PARAMETER)
}

/// Returns the code in a URL. In the form of the sign-in page people may paste a whole link.
fn code_in(address: &Uri) -> Option<String> {
    let (_, given) = query_pairs(address).into_iter().find(|(name, _)| name == PARAMETER)?;
    let code = given.rsplit("code=").next().unwrap_or_default();
    Some(code.split('&').next().unwrap_or_default().trim().to_owned())
}

/// Returns the URL without the code.
fn without_code(address: &Uri) -> String {
    let query = address.query().unwrap_or_default();
    let rest: Vec<&str> = query.split('&').filter(|part| part.split('=').next() != Some(PARAMETER)).collect();
    match rest.join("&") {
        rest if rest.is_empty() => address.path().to_owned(),
        rest => format!("{}?{rest}", address.path()),
    }
}

/// Returns the rest of a URL's query as hidden fields of the form, so that signing in leads to the requested page.
fn hidden_fields(address: &Uri) -> String {
    let field = |(name, value): &(String, String)| {
        format!("<input type=\"hidden\" name=\"{}\" value=\"{}\" />", escape(name), escape(value))
    };
    query_pairs(address).iter().filter(|(name, _)| name != PARAMETER).map(field).collect()
}

/// Exchanges the code of a link for a cookie, or shows how to get a link.
async fn sign_in(
    check: &AuthCheck,
    auth: &Auth,
    code: Option<String>,
    address: &Uri,
    headers: &HeaderMap,
) -> Response {
    let reason = match code {
        None => "",
        Some(code) => match auth.redeem(&code, Visitor::Unknown).await {
            Ok(()) => return signed_in(check, auth, address, headers),
            Err(CodeRefusal::Unknown) => "That link is not one of this session.",
            Err(CodeRefusal::Used) => "That link was used already. Each link works once.",
            Err(CodeRefusal::Expired) => "That link has expired.",
        },
    };
    let page = LOGIN.replace("{reason}", reason).replace("{hidden}", &hidden_fields(address));
    (StatusCode::UNAUTHORIZED, [(header::CACHE_CONTROL, "no-store")], Html(page)).into_response()
}

fn signed_in(check: &AuthCheck, auth: &Auth, address: &Uri, headers: &HeaderMap) -> Response {
    let value = match auth.keys().mint_cookie(&own_host(headers)) {
        Ok(value) => value,
        Err(failure) => return (StatusCode::SERVICE_UNAVAILABLE, failure.message).into_response(),
    };
    let max_age = if auth.is_kept() { format!("; Max-Age={REMEMBERED_SECONDS}") } else { String::new() };
    let cookie = format!("{}={value}; Path=/{max_age}; HttpOnly; SameSite=Lax", check.cookie);
    let mut response = Redirect::to(&without_code(address)).into_response();
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[derive(Deserialize)]
pub(crate) struct Challenge {
    challenge: String,
}

/// `GET /api/proof`: shows a client that this process knows the token, before the client sends it.
pub(crate) async fn proof(State(context): State<Context>, Query(query): Query<Challenge>) -> Response {
    match context.auth {
        Some(auth) if query.challenge.len() <= MAX_CHALLENGE => {
            auth.keys().prove(&query.challenge).into_response()
        }
        Some(_) => (StatusCode::BAD_REQUEST, "the challenge is too long\n").into_response(),
        None => (StatusCode::NOT_FOUND, "this session has no token\n").into_response(),
    }
}

/// `POST /api/token/rotate`: replaces the token. What was opened with the old one ends.
pub(crate) async fn rotate(
    State(context): State<Context>,
    authorization: Option<Extension<Authorization>>,
) -> Response {
    let Some(auth) = context.auth else {
        return (StatusCode::CONFLICT, "this session has no token\n").into_response();
    };
    // A cookie is not sufficient: its holder must not lock out the user's commands.
    if !authorization.is_some_and(|Extension(authorization)| authorization.is_by_token) {
        return refuse("This needs the session's token in the header X-Tilt-Token.\n");
    }
    match auth.rotate().await {
        Ok(token) => Json(json!({ "token": &*token })).into_response(),
        Err(failure) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{failure}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::Timestamp;

    use super::owner::AuthOwner;
    use super::*;

    #[test]
    fn cookie_outlives_the_browser_only_if_the_token_is_kept() {
        for is_kept in [false, true] {
            let owner = AuthOwner::new(Arc::from("token"), || Timestamp(1), Box::new(|_| Ok(())));
            let auth = owner.with_kept_token(is_kept).auth();
            let check = AuthCheck::new(Some(auth.clone()), 10350);
            let response = signed_in(&check, &auth, &Uri::from_static("/"), &HeaderMap::new());
            let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
            assert_eq!(cookie.contains("Max-Age="), is_kept, "{cookie}");
        }
    }
}
