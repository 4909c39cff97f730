//! The table of routes. All of them are behind the origin check, and behind the token check except the page's files and
//! the proof that clients request before they send the token.

use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get, post};
use axum::{Router, middleware};

use crate::auth::{self, AuthCheck};
use crate::origin_check::{self, Allowed};
use crate::{Context, assets, connections, count, inspect, lines, logs, requests, sessions, socket, view};

pub(crate) fn router(context: Context, allowed: Allowed, check: AuthCheck, api: Option<Router>) -> Router {
    let files = Router::new()
        .route("/favicon.svg", get(assets::icon))
        .route("/login.css", get(assets::login_style))
        .route("/assets/{file}", get(assets::asset))
        .route("/api/proof", get(auth::proof));
    let mut session: Router<Context> = Router::new()
        .route("/", get(assets::page))
        .route("/overview", get(assets::page))
        .route("/r/{resource}", get(assets::page))
        .route("/r/{resource}/overview", get(assets::page))
        .route("/api/view", get(view::view))
        .route("/api/snapshot", get(view::snapshot))
        .route("/api/snapshot/{id}", get(view::snapshot))
        .route("/api/websocket_token", get(view::updates::token))
        .route("/api/sessions", get(sessions::sessions))
        .route("/api/dump/logstore", get(view::logs))
        .route("/api/resources", get(view::resources))
        .route("/api/logs", get(logs::logs))
        .route("/api/lines", get(lines::lines))
        .route("/api/count", get(count::count))
        .route("/api/sections", get(lines::sections))
        .route("/api/timeline", get(inspect::timeline))
        .route("/api/notices", get(inspect::notices))
        .route("/api/objects", get(inspect::objects))
        .route("/api/dump/engine", get(inspect::engine))
        .route("/api/access", post(access))
        .route("/api/token/rotate", post(auth::rotate))
        .route("/api/request", post(requests::request))
        .route("/api/trigger", post(requests::trigger))
        .route("/api/override/trigger_mode", post(requests::override_trigger_mode))
        .route("/api/set_tiltfile_args", post(requests::set_tiltfile_args))
        .route("/ws", any(socket::upgrade))
        .route("/ws/view", any(view::updates::upgrade));
    if let Some(api) = api {
        session = session.nest_service("/proxy", api);
    }
    session
        // Behind the checks, so that the existence of routes is not revealed.
        .fallback(fallback)
        .layer(middleware::from_fn(connections::admit))
        .layer(middleware::from_fn_with_state(check, auth::check))
        .merge(files)
        .layer(middleware::from_fn_with_state(allowed, origin_check::check))
        .with_state(context)
}

/// `POST /api/access`: succeeds if the request is authorized to change something.
///
/// A page whose WebSocket was refused reads the reason from the response: scripts do not see the response to a WebSocket,
/// and a `GET` has no `Origin`, so it would be accepted behind a proxy that rewrites `Host`.
async fn access() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// Paths of programs and files. Nothing below them is answered with the page.
const PROGRAM_PATHS: [&str; 5] = ["api", "assets", "debug", "proxy", "ws"];

/// Returns whether a path may be one that people open in a browser, even mistyped.
pub(crate) fn is_page(path: &str) -> bool {
    if path == "/" || path.starts_with("/r/") {
        return true;
    }
    let first = path.split('/').nth(1).unwrap_or_default();
    // A redirect to a path with two leading slashes, of either kind, would lead to another host.
    !first.is_empty() && !PROGRAM_PATHS.contains(&first) && !path.contains(['.', '\\'])
}

/// Handles unknown paths: redirects those with a trailing slash, and serves the page for others that people open.
async fn fallback(request: Request) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path();
    if !reads || !is_page(path) {
        return StatusCode::NOT_FOUND.into_response();
    }
    if let Some(meant) = path.strip_suffix('/').filter(|path| !path.ends_with('/')) {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        return Redirect::temporary(&format!("{meant}{query}")).into_response();
    }
    let mut headers = request.headers().clone();
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if !accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        return StatusCode::NOT_FOUND.into_response();
    }
    // A page with status 404 must not be answered with `304 Not Modified`.
    headers.remove(header::IF_NONE_MATCH);
    (StatusCode::NOT_FOUND, assets::page(headers).await).into_response()
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn paths_of_programs_are_not_pages() {
        for path in ["/", "/overview", "/overview/", "/r/web", "/r/web.v1/overview", "/r/api", "/no/such"] {
            assert!(is_page(path), "{path}");
        }
        for path in
            ["", "//evil/", "/\\evil/", "/api/no", "/api", "/ws", "/proxy/x", "/debug/pprof/", "/favicon.ico"]
        {
            assert!(!is_page(path), "{path}");
        }
    }
}
