//! Requests in the bytes that come.

use std::io::Read;

use lilt_agent::frame;
use lilt_agent::protocol::Request;

use crate::problem::{Problem, cause};

pub(super) struct Requests<R> {
    from: R,
    buffer: Vec<u8>,
    /// How much of the buffer's beginning was understood.
    used: usize,
}

impl<R: Read> Requests<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: Vec::new(), used: 0 }
    }

    /// None when the other side is gone. Calls `wait` before it reads more bytes.
    pub(super) fn next(&mut self, mut wait: impl FnMut()) -> Result<Option<Request>, Problem> {
        let malformed = |error: lilt_agent::protocol::Malformed| Problem::new("stdin", error.to_string());
        loop {
            if let Some((message, length)) = frame::unwrap(&self.buffer[self.used..]).map_err(malformed)? {
                let request = Request::decode(message).map_err(malformed)?;
                self.used += length;
                return Ok(Some(request));
            }
            self.buffer.drain(..self.used);
            self.used = 0;
            let known = self.buffer.len();
            self.buffer.resize(known + (256 << 10), 0);
            wait();
            let count = self.from.read(&mut self.buffer[known..]);
            let count = count.map_err(|error| Problem::new("stdin", cause(&error)))?;
            self.buffer.truncate(known + count);
            if count == 0 {
                return Ok(None);
            }
        }
    }
}
