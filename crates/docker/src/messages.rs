//! Reads the JSON messages in which the engine reports the progress of a build or a push.

use lilt_model::{Failure, Unreachable};
use serde::Deserialize;

use crate::address::Address;
use crate::transport::{Response, lost};

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Message {
    #[serde(default)]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) status: String,
    /// Output of the classic builder, in chunks.
    #[serde(default)]
    pub(crate) stream: String,
    #[serde(default, rename = "progressDetail")]
    pub(crate) progress: Option<Progress>,
    pub(crate) aux: Option<serde_json::Value>,
    #[serde(default)]
    pub(crate) error: Option<String>,
    #[serde(rename = "errorDetail")]
    pub(crate) error_detail: Option<ErrorDetail>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Progress {
    #[serde(default)]
    pub(crate) current: Option<u64>,
    #[serde(default)]
    pub(crate) total: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ErrorDetail {
    #[serde(default)]
    pub(crate) message: String,
}

impl Message {
    /// Returns the text of an error message; none for other messages.
    pub(crate) fn into_error(self) -> Option<String> {
        match (self.error_detail, self.error) {
            (Some(detail), _) if !detail.message.is_empty() => Some(detail.message),
            (_, Some(error)) if !error.is_empty() => Some(error),
            (Some(_), _) => Some("the engine gave no reason".to_owned()),
            _ => None,
        }
    }
}

/// Splits a response into messages, which are separated by white space at most.
pub(crate) struct Messages {
    response: Response,
    address: Address,
    buffer: Vec<u8>,
}

impl Messages {
    pub(crate) fn new(response: Response, address: Address) -> Self {
        Self { response, address, buffer: Vec::new() }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Message>, Failure> {
        loop {
            if let Some(message) = self.take_buffered()? {
                return Ok(Some(message));
            }
            match self.response.chunk().await.map_err(|error| lost(&self.address, &error))? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None if self.buffer.iter().all(u8::is_ascii_whitespace) => return Ok(None),
                None => {
                    let words = "the Docker engine's answer ended in the middle";
                    return Err(Failure::environment(words).of_kind(Unreachable::DockerEngine));
                }
            }
        }
    }

    fn take_buffered(&mut self) -> Result<Option<Message>, Failure> {
        let mut stream = serde_json::Deserializer::from_slice(&self.buffer).into_iter::<Message>();
        let message = match stream.next() {
            Some(Ok(message)) => message,
            Some(Err(error)) if !error.is_eof() => {
                return Err(Failure::environment(format!(
                    "cannot understand the Docker engine's answer: {error}"
                )));
            }
            Some(Err(_)) | None => return Ok(None),
        };
        let read = stream.byte_offset();
        self.buffer.drain(..read);
        Ok(Some(message))
    }
}
