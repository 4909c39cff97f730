//! `GET /api/sessions`: the running sessions of this user, to switch between them.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

use crate::Context;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct RunningSession {
    /// The name of the Tiltfile's folder.
    pub name: String,
    pub tiltfile: String,
    pub port: u16,
    /// The link to its page, with a one-time code.
    pub link: String,
    /// The IP addresses it listens on. Other processes may listen on other addresses, and must not get the code.
    pub addresses: Vec<String>,
    /// Whether it is the responding session.
    pub current: bool,
}

/// Returns the sessions. Reads a few small files.
pub(crate) async fn sessions(State(context): State<Context>) -> Json<Vec<RunningSession>> {
    let mut found = context.sessions.map(|sessions| sessions()).unwrap_or_default();
    for session in &mut found {
        session.current = session.port == context.port;
    }
    Json(found)
}
