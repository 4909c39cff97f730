//! The dashboard's WebSocket, read as the page reads it.

use std::time::{Duration, Instant};

use lilt_client::page::PageSocket;
use serde_json::Value;

use crate::lilt::Session;

const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until the page says that a resource is up to date, and tells how long that took since the session's begin.
/// The connection is closed again.
pub(crate) fn wait_until_done(session: &Session, resource: &str) -> Duration {
    let mut socket = connect(session);
    loop {
        assert!(session.begin.elapsed() < PATIENCE, "{resource} was not up to date after {PATIENCE:?}");
        let message = read(&mut socket).expect("the dashboard answers");
        if says_done(&message, resource) {
            let took = session.begin.elapsed();
            socket.close();
            return took;
        }
    }
}

/// The next thing that the page is told; none when the session is over.
pub(crate) fn read(socket: &mut PageSocket) -> Option<Value> {
    socket.read().ok()
}

/// As soon as its port is open.
pub(crate) fn connect(session: &Session) -> PageSocket {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match PageSocket::connect(session.port) {
            Ok(socket) => return socket,
            Err(error) => assert!(Instant::now() < deadline, "the dashboard does not open: {error}"),
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

fn says_done(message: &Value, resource: &str) -> bool {
    let resources = message["resources"].as_array().into_iter().flatten();
    resources
        .filter(|one| one["metadata"]["name"] == resource)
        .any(|one| one["status"]["updateStatus"] == "ok")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_this_resource_and_only_when_it_is_done() {
        let state = |name: &str, status: &str| json!({"type": "state", "resources": [{"metadata": {"name": name}, "status": {"updateStatus": status}}]});
        assert!(says_done(&state("one", "ok"), "one"));
        assert!(!says_done(&state("one", "in_progress"), "one"));
        assert!(!says_done(&state("(Tiltfile)", "ok"), "one"));
        assert!(!says_done(&json!({"type": "hello"}), "one"));
    }
}
