//! The table of routes. Whatever is added here is behind the guard.

use axum::routing::{any, get, post};
use axum::{Router, middleware};

use crate::guard::{self, Allowed};
use crate::proxy::Pass;
use crate::{Context, assets, inspect, lines, logs, proxy, requests, socket, view};

pub(crate) fn router(context: Context, allowed: Allowed, api: Option<(Pass, Router)>) -> Router {
    let pages: Router<Context> = Router::new()
        .route("/", get(assets::page))
        .route("/overview", get(assets::page))
        .route("/r/{resource}", get(assets::page))
        .route("/r/{resource}/overview", get(assets::page));
    let beside = match api {
        Some((pass, api)) => {
            pages.layer(middleware::from_fn_with_state(pass, proxy::hand_out)).nest_service("/proxy", api)
        }
        None => pages,
    };
    Router::new()
        .merge(beside)
        .route("/favicon.svg", get(assets::icon))
        .route("/assets/{file}", get(assets::asset))
        .route("/api/view", get(view::view))
        .route("/api/dump/logstore", get(view::logs))
        .route("/api/resources", get(view::resources))
        .route("/api/logs", get(logs::logs))
        .route("/api/lines", get(lines::lines))
        .route("/api/sections", get(lines::sections))
        .route("/api/timeline", get(inspect::timeline))
        .route("/api/dump/engine", get(inspect::engine))
        .route("/api/request", post(requests::request))
        .route("/api/trigger", post(requests::trigger))
        .route("/api/override/trigger_mode", post(requests::override_trigger_mode))
        .route("/api/set_tiltfile_args", post(requests::set_tiltfile_args))
        .route("/ws", any(socket::upgrade))
        .layer(middleware::from_fn_with_state(allowed, guard::check))
        .with_state(context)
}
