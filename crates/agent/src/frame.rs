//! Framing of messages in a byte stream: a length, then that many bytes.

use crate::protocol::Malformed;

const HEADER: usize = 4;
/// The maximum length of a message: enough for a list of a few hundred thousand files.
const MAX_LENGTH: usize = 256 << 20;

/// Prepends the length to a message.
pub fn encode(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("invariant: messages are much shorter");
    let mut frame = Vec::with_capacity(HEADER + message.len());
    frame.extend(length.to_le_bytes());
    frame.extend(message);
    frame
}

/// Returns the first complete message in the bytes received so far, and its length including the header.
pub fn decode(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Malformed> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let length = usize::try_from(u32::from_le_bytes(*header)).map_err(|_| Malformed)?;
    if length > MAX_LENGTH {
        return Err(Malformed);
    }
    Ok(rest.get(..length).map(|message| (message, HEADER + length)))
}
