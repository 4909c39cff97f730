//! The table of routes. Whatever is added here is behind the guard, and behind the token unless it is a file of the page.

use axum::http::StatusCode;
use axum::routing::{any, get, post};
use axum::{Router, middleware};

use crate::guard::{self, Allowed};
use crate::pass::{self, Pass};
use crate::{Context, assets, count, inspect, lines, logs, requests, sessions, socket, view};

pub(crate) fn router(context: Context, allowed: Allowed, pass: Pass, api: Option<Router>) -> Router {
    let files = Router::new()
        .route("/favicon.svg", get(assets::icon))
        .route("/login.css", get(assets::login_style))
        .route("/assets/{file}", get(assets::asset));
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
        // A stranger does not learn what there is.
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(middleware::from_fn_with_state(pass, pass::check))
        .merge(files)
        .layer(middleware::from_fn_with_state(allowed, guard::check))
        .with_state(context)
}
