//! Decodes requests from an input stream.

use std::io::Read;

use lilt_agent::frame;
use lilt_agent::protocol::Request;

use crate::error::{AgentError, cause};

pub(super) struct RequestReader<R> {
    from: R,
    buffer: Vec<u8>,
    /// How many bytes at the start of the buffer were decoded.
    used: usize,
}

impl<R: Read> RequestReader<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: Vec::new(), used: 0 }
    }

    /// Returns the next request, or `None` at the end of the stream. Calls `wait` before each read.
    pub(super) fn next(&mut self, mut wait: impl FnMut()) -> Result<Option<Request>, AgentError> {
        let malformed = |error: lilt_agent::protocol::Malformed| AgentError::new("stdin", error.to_string());
        loop {
            if let Some((message, length)) = frame::decode(&self.buffer[self.used..]).map_err(malformed)? {
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
            let count = count.map_err(|error| AgentError::new("stdin", cause(&error)))?;
            self.buffer.truncate(known + count);
            if count == 0 {
                return Ok(None);
            }
        }
    }
}
