//! Messages in a stream of bytes: a length, then so many bytes.

use crate::wire::Malformed;

const HEADER: usize = 4;
/// Room for the list of a few hundred thousand files; more is no message of ours.
const LARGEST: usize = 256 << 20;

/// A message as it travels.
pub fn wrap(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("invariant: messages are cut long before that");
    let mut frame = Vec::with_capacity(HEADER + message.len());
    frame.extend(length.to_le_bytes());
    frame.extend(message);
    frame
}

/// The first whole message in what has come so far, and how many bytes it and its frame take.
pub fn unwrap(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Malformed> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let length = usize::try_from(u32::from_le_bytes(*header)).map_err(|_| Malformed)?;
    if length > LARGEST {
        return Err(Malformed);
    }
    Ok(rest.get(..length).map(|message| (message, HEADER + length)))
}
