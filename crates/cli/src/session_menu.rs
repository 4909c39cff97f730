//! The running sessions of this user, for the menu of the page.

use std::sync::Arc;
use std::time::Duration;

use lilt_client::sessions::{self, SessionRecord};
use lilt_client::{Client, sign_in};
use lilt_model::auth::{AuthKeys, CodeLifetime};
use lilt_server::RunningSession;

/// How long the links of the menu are valid: it may stay open for a while.
const LINK_LIFETIME: CodeLifetime = CodeLifetime::Limited(Duration::from_secs(600));

/// Returns the sessions that have a page.
pub(crate) fn entries() -> Vec<RunningSession> {
    let entry = |running: SessionRecord| RunningSession {
        name: running.folder().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        tiltfile: running.tiltfile.display().to_string(),
        port: running.port,
        link: link(&running),
        addresses: running.addresses.iter().map(|address| address.ip().to_string()).collect(),
        current: false,
    };
    // Sessions with port 0 have no page.
    sessions::running().into_iter().filter(|running| running.port != 0).map(entry).collect()
}

/// Returns the address of a session's page, with a one-time code.
fn link(running: &SessionRecord) -> String {
    let address = Client::new(&running.host, running.port).address();
    let keys = running.token.as_deref().map(|token| AuthKeys::new(Arc::from(token)));
    sign_in::link(&address, keys.as_ref(), LINK_LIFETIME).unwrap_or(address)
}
