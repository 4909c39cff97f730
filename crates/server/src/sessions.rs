//! `GET /api/sessions`: the sessions of this user, to switch between.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

use crate::Context;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct RunningSession {
    /// Of the folder that its Tiltfile is in.
    pub name: String,
    pub tiltfile: String,
    pub port: u16,
    /// Its page, with a one-time code that lets this user's browser in.
    pub link: String,
    /// IP addresses on which it listens. Anyone may listen on the others, and must not get the code.
    pub addresses: Vec<String>,
    /// It is the one that answers.
    pub current: bool,
}

/// Looks at files, of which there are few and small ones.
pub(crate) async fn sessions(State(context): State<Context>) -> Json<Vec<RunningSession>> {
    let mut found = context.sessions.map(|sessions| sessions()).unwrap_or_default();
    for session in &mut found {
        session.current = session.port == context.port;
    }
    Json(found)
}
