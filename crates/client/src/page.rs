//! The WebSocket of the page: every state of the session that the page is sent, and the page's requests.
//!
//! Blocking, for programs that wait for what a session reports and do nothing beside it.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use tungstenite::{Message, WebSocket};

/// An open page of a session of this machine that asks for no token.
#[derive(Debug)]
pub struct PageSocket(WebSocket<TcpStream>);

impl PageSocket {
    pub fn connect(port: u16) -> io::Result<PageSocket> {
        PageSocket::open(TcpStream::connect(("127.0.0.1", port))?)
    }

    /// Opens the page over a connection to a session's web port. With a timeout in `stream`, that is how long the session
    /// may take.
    pub fn open(stream: TcpStream) -> io::Result<PageSocket> {
        stream.set_nodelay(true)?;
        let address = format!("ws://localhost:{}/ws", stream.peer_addr()?.port());
        match tungstenite::client(address, stream) {
            Ok((socket, _)) => Ok(PageSocket(socket)),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    /// Sets how long [`PageSocket::read`] waits.
    pub fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.0.get_ref().set_read_timeout(Some(timeout))
    }

    /// Reads the next message. Fails with `WouldBlock` or `TimedOut` if none came in time.
    pub fn read(&mut self) -> io::Result<Value> {
        loop {
            if let Message::Text(text) = self.0.read().map_err(into_io)? {
                return Ok(serde_json::from_str(&text)?);
            }
        }
    }

    pub fn send(&mut self, message: &Value) -> io::Result<()> {
        self.0.send(Message::text(message.to_string())).map_err(into_io)
    }

    /// Closes the socket. The session may have ended already.
    pub fn close(mut self) {
        let _ = self.0.close(None);
    }
}

fn into_io(error: tungstenite::Error) -> io::Error {
    match error {
        tungstenite::Error::Io(error) => error,
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use serde_json::json;

    use super::*;

    #[test]
    fn socket_sends_and_receives_and_times_out() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let mut socket = tungstenite::accept(listener.accept().unwrap().0).unwrap();
            socket.send(Message::Ping("still there".into())).unwrap();
            socket.send(Message::text(r#"{"type": "hello"}"#)).unwrap();
            while let Ok(message) = socket.read() {
                if let Message::Text(text) = message {
                    return text.to_string();
                }
            }
            String::new()
        });
        let mut page = PageSocket::connect(port).unwrap();
        assert_eq!(page.read().unwrap(), json!({"type": "hello"}));
        page.set_read_timeout(Duration::from_millis(10)).unwrap();
        let kind = page.read().unwrap_err().kind();
        assert!(matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{kind:?}");
        page.send(&json!({"type": "ask"})).unwrap();
        assert_eq!(server.join().unwrap(), r#"{"type":"ask"}"#);
    }
}
