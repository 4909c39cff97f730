//! Reads the dashboard's WebSocket like the page.

use std::time::{Duration, Instant};

use lilt_client::page::PageSocket;
use serde_json::Value;

use crate::lilt::Session;

const TIMEOUT: Duration = Duration::from_secs(120);

/// Waits until the page shows a resource as up to date, and returns the time since the start of the session.
pub(crate) fn wait_until_done(session: &Session, resource: &str) -> Duration {
    let mut socket = connect(session);
    loop {
        assert!(session.begin.elapsed() < TIMEOUT, "{resource} was not up to date after {TIMEOUT:?}");
        let message = read(&mut socket).expect("the dashboard answers");
        if is_up_to_date(&message, resource) {
            let took = session.begin.elapsed();
            socket.close();
            return took;
        }
    }
}

/// Reads the next message; none when the session has ended.
pub(crate) fn read(socket: &mut PageSocket) -> Option<Value> {
    socket.read().ok()
}

/// Connects as soon as the port is open.
pub(crate) fn connect(session: &Session) -> PageSocket {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match PageSocket::connect(session.port) {
            Ok(socket) => return socket,
            Err(error) => assert!(Instant::now() < deadline, "the dashboard does not open: {error}"),
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

fn is_up_to_date(message: &Value, resource: &str) -> bool {
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
    fn only_the_given_resource_counts_when_it_is_done() {
        let state = |name: &str, status: &str| json!({"type": "state", "resources": [{"metadata": {"name": name}, "status": {"updateStatus": status}}]});
        assert!(is_up_to_date(&state("one", "ok"), "one"));
        assert!(!is_up_to_date(&state("one", "in_progress"), "one"));
        assert!(!is_up_to_date(&state("(Tiltfile)", "ok"), "one"));
        assert!(!is_up_to_date(&json!({"type": "hello"}), "one"));
    }
}
