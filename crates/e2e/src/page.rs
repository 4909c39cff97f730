//! The WebSocket of the page, and plain HTTP requests.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use lilt_client::page::PageSocket;
use serde_json::{Value, json};

use super::lilt::DEADLINE;

/// An open page with the newest state that it has read.
#[derive(Debug)]
pub struct Page {
    socket: PageSocket,
    resources: BTreeMap<String, Value>,
}

impl Page {
    pub fn open(port: u16) -> Page {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("lilt listens on the port that it told");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket takes a timeout");
        let socket =
            PageSocket::open(stream).unwrap_or_else(|error| panic!("the page's socket was refused: {error}"));
        // Short, so that deadlines are checked while no message arrives.
        socket.set_read_timeout(Duration::from_millis(200)).expect("a socket takes a timeout");
        Page { socket, resources: BTreeMap::new() }
    }

    /// Reads until `is_so` holds for a resource; the error is its last state.
    pub fn wait_until(&mut self, resource: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value, Value> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            self.read_what_is_there();
            match self.resources.get(resource) {
                Some(found) if is_so(found) => return Ok(found.clone()),
                found if Instant::now() > deadline => return Err(found.cloned().unwrap_or_default()),
                _ => {}
            }
        }
    }

    /// Waits for one message, at most for the socket's timeout.
    fn read_what_is_there(&mut self) {
        match self.socket.read() {
            Ok(message) => self.take(&message),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(error) => panic!("the page's socket broke: {error}"),
        }
    }

    fn take(&mut self, message: &Value) {
        if message["type"] != "state" {
            return;
        }
        if message["complete"] == true {
            self.resources.clear();
        }
        for resource in message["resources"].as_array().into_iter().flatten() {
            let name = resource["metadata"]["name"].as_str().unwrap_or_default();
            self.resources.insert(name.to_owned(), resource.clone());
        }
        for name in message["removed"].as_array().into_iter().flatten() {
            self.resources.remove(name.as_str().unwrap_or_default());
        }
    }

    /// Triggers an update of a resource.
    pub fn trigger(&mut self, resource: &str) {
        let message = json!({"type": "ask", "request": {"type": "trigger", "resource": resource}});
        self.socket.send(&message).expect("the page's socket is open");
    }
}

/// Returns the body of a GET response of a server on this machine; none unless the status is 200.
pub fn get(port: u16, path: &str) -> Option<String> {
    request(port, &format!("GET {path} HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n"))
        .filter(|(status, _)| *status == 200)
        .map(|(_, body)| body)
}

/// Posts JSON; returns status and body of the response.
pub fn post(port: u16, path: &str, body: &Value) -> (u16, String) {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    request(port, &(head + &body)).expect("lilt answers on its own port")
}

fn request(port: u16, text: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split_whitespace().nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}
