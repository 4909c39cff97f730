//! The table of routes. Whatever is added here is behind the guard.

use axum::routing::{any, get, post};
use axum::{Router, middleware};

use crate::guard::{self, Allowed};
use crate::{Context, assets, socket, trigger};

pub(crate) fn router(context: Context, allowed: Allowed) -> Router {
    Router::new()
        .route("/", get(assets::page))
        .route("/overview", get(assets::page))
        .route("/r/{resource}", get(assets::page))
        .route("/r/{resource}/overview", get(assets::page))
        .route("/favicon.svg", get(assets::icon))
        .route("/assets/{file}", get(assets::asset))
        .route("/api/trigger", post(trigger::trigger))
        .route("/ws", any(socket::upgrade))
        .layer(middleware::from_fn_with_state(allowed, guard::check))
        .with_state(context)
}
