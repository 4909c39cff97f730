//! The part of SPDY/3.1 that port forwarding needs. API servers, kubelets and container runtimes use it.
//!
//! Header blocks are sent as uncompressed zlib blocks, which every reader supports. Received header blocks contain
//! nothing relevant and are skipped.

use bytes::{Buf, BufMut, Bytes, BytesMut};

const CONTROL: u16 = 0x8000;
const VERSION: u16 = 3;
const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const FIN: u8 = 1;
/// The status of a stream that its owner cancels.
const CANCEL: u32 = 5;
const HEAD: usize = 8;
/// Control frames are tiny here; a longer one is not SPDY.
const MAX_CONTROL: usize = 64 * 1024;
/// Frames could be longer (24 bits), but would delay those of other streams.
pub(super) const MAX_DATA: usize = 64 * 1024;

/// A received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A part of a data frame.
    Data {
        stream: u32,
        bytes: Bytes,
    },
    /// The end of a stream.
    End {
        stream: u32,
    },
    Reply {
        stream: u32,
    },
    Reset {
        stream: u32,
    },
    Ping {
        id: u32,
    },
    GoAway,
}

#[derive(Debug, thiserror::Error)]
#[error("the API server does not speak SPDY: {0}")]
pub(super) struct InvalidFrame(&'static str);

/// Decodes frames. Data is passed on as it arrives, before its frame is complete.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The data frame that is being read.
    data: Option<PartialData>,
}

#[derive(Clone, Copy, Debug)]
struct PartialData {
    stream: u32,
    left: usize,
    fin: bool,
}

impl Decoder {
    /// Returns the next frame in these bytes, if there is one.
    pub(super) fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<Frame>, InvalidFrame> {
        loop {
            if let Some(rest) = self.data {
                return Ok(self.data(rest, bytes));
            }
            let Some(head) = bytes.get(..HEAD) else { return Ok(None) };
            let word = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
            let (flags, length) = (head[4], u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize);
            if head[0] & 0x80 == 0 {
                bytes.advance(HEAD);
                self.data = Some(PartialData { stream: word, left: length, fin: flags & FIN != 0 });
                continue;
            }
            if word >> 16 != u32::from(CONTROL | VERSION) || length > MAX_CONTROL {
                return Err(InvalidFrame("an unknown kind of frame"));
            }
            if bytes.len() < HEAD + length {
                return Ok(None);
            }
            bytes.advance(HEAD);
            let body = bytes.split_to(length).freeze();
            if let Some(frame) = control((word & 0xffff) as u16, body)? {
                return Ok(Some(frame));
            }
        }
    }

    fn data(&mut self, rest: PartialData, bytes: &mut BytesMut) -> Option<Frame> {
        let PartialData { stream, left, fin } = rest;
        if left == 0 {
            self.data = None;
            return Some(if fin {
                Frame::End { stream }
            } else {
                Frame::Data { stream, bytes: Bytes::new() }
            });
        }
        if bytes.is_empty() {
            return None;
        }
        let part = bytes.split_to(left.min(bytes.len())).freeze();
        let left = left - part.len();
        self.data = (left > 0 || fin).then_some(PartialData { stream, left, fin });
        Some(Frame::Data { stream, bytes: part })
    }
}

/// Returns none for irrelevant frames.
fn control(kind: u16, mut body: Bytes) -> Result<Option<Frame>, InvalidFrame> {
    if body.len() < 4 {
        return if kind == GOAWAY {
            Ok(Some(Frame::GoAway))
        } else {
            Err(InvalidFrame("a frame that is too short"))
        };
    }
    let number = body.get_u32();
    let stream = number & 0x7fff_ffff;
    Ok(match kind {
        SYN_REPLY => Some(Frame::Reply { stream }),
        RST_STREAM => Some(Frame::Reset { stream }),
        PING => Some(Frame::Ping { id: number }),
        GOAWAY => Some(Frame::GoAway),
        _ => None,
    })
}

fn control_head(into: &mut BytesMut, kind: u16, length: usize) {
    into.put_u16(CONTROL | VERSION);
    into.put_u16(kind);
    into.put_u32(u32::try_from(length).expect("invariant: our control frames are short"));
}

/// Appends the frame that opens a stream. The first one of a connection also starts its zlib stream.
pub(super) fn open(into: &mut BytesMut, stream: u32, headers: &[(&str, &str)]) {
    let mut block = BytesMut::new();
    put_number(&mut block, headers.len());
    for text in headers.iter().flat_map(|(name, value)| [name, value]) {
        put_number(&mut block, text.len());
        block.put_slice(text.as_bytes());
    }
    let mut body = BytesMut::new();
    body.put_u32(stream);
    body.put_u32(0);
    body.put_u16(0);
    if stream == 1 {
        body.put_slice(&[0x78, 0x01]);
    }
    stored(&mut body, &block);
    // An empty block makes readers process what precedes it.
    stored(&mut body, &[]);
    control_head(into, SYN_STREAM, body.len());
    into.put_slice(&body);
}

fn put_number(into: &mut BytesMut, number: usize) {
    into.put_u32(u32::try_from(number).expect("invariant: our headers are short"));
}

fn stored(into: &mut BytesMut, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).expect("invariant: our headers are short");
    into.put_u8(0);
    into.put_u16_le(length);
    into.put_u16_le(!length);
    into.put_slice(bytes);
}

/// Encodes at most [`MAX_DATA`] bytes.
pub(super) fn data(stream: u32, bytes: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEAD + bytes.len());
    frame.put_u32(stream);
    frame.put_u32(u32::try_from(bytes.len()).expect("invariant: a frame is short"));
    frame.put_slice(bytes);
    frame.freeze()
}

pub(super) fn end(stream: u32) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEAD);
    frame.put_u32(stream);
    frame.put_u32(u32::from(FIN) << 24);
    frame.freeze()
}

pub(super) fn reset(stream: u32) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEAD + 8);
    control_head(&mut frame, RST_STREAM, 8);
    frame.put_u32(stream);
    frame.put_u32(CANCEL);
    frame.freeze()
}

pub(super) fn ping(id: u32) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEAD + 4);
    control_head(&mut frame, PING, 4);
    frame.put_u32(id);
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_in_pieces(bytes: &[u8], piece: usize) -> Vec<Frame> {
        let (mut decoder, mut buffer, mut frames) = (Decoder::default(), BytesMut::new(), Vec::new());
        for part in bytes.chunks(piece) {
            buffer.extend_from_slice(part);
            while let Some(frame) = decoder.decode(&mut buffer).unwrap() {
                frames.push(frame);
            }
        }
        assert!(buffer.is_empty(), "{buffer:?}");
        frames
    }

    /// Returns the data of a stream, however it was split.
    fn data_of_stream(frames: &[Frame], wanted: u32) -> Vec<u8> {
        let parts = frames.iter().filter_map(|frame| match frame {
            Frame::Data { stream, bytes } if *stream == wanted => Some(bytes.clone()),
            _ => None,
        });
        parts.flatten().collect()
    }

    #[test]
    fn frames_come_out_as_they_went_in_whatever_the_network_makes_of_them() {
        let mut bytes = BytesMut::new();
        bytes.put_slice(&data(3, b"hello "));
        bytes.put_slice(&reset(7));
        bytes.put_slice(&data(3, b"world"));
        bytes.put_slice(&end(3));
        bytes.put_slice(&ping(2));
        // A reply with headers, which are skipped, and settings, which are ignored.
        control_head(&mut bytes, SYN_REPLY, 9);
        bytes.put_slice(&[0, 0, 0, 5, 1, 2, 3, 4, 5]);
        control_head(&mut bytes, 4, 4);
        bytes.put_slice(&[0, 0, 0, 0]);
        // Data may be marked as the last of its stream.
        bytes.put_slice(&[0, 0, 0, 9, FIN, 0, 0, 2, b'o', b'k']);
        for piece in [1, 3, 8, 1000] {
            let frames = decode_in_pieces(&bytes, piece);
            assert_eq!(
                (data_of_stream(&frames, 3), data_of_stream(&frames, 9)),
                (b"hello world".to_vec(), b"ok".to_vec())
            );
            let others: Vec<&Frame> = frames.iter().filter(|it| !matches!(it, Frame::Data { .. })).collect();
            let expected = [
                Frame::Reset { stream: 7 },
                Frame::End { stream: 3 },
                Frame::Ping { id: 2 },
                Frame::Reply { stream: 5 },
                Frame::End { stream: 9 },
            ];
            assert_eq!(others, expected.iter().collect::<Vec<_>>(), "in pieces of {piece}");
        }
    }

    #[test]
    fn something_else_is_refused() {
        let mut bytes = BytesMut::from(&b"\x81HTTP/1.1 400 Bad Request\r\n"[..]);
        assert!(Decoder::default().decode(&mut bytes).is_err());
    }
}
