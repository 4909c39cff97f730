//! Splits a byte stream of command output into responses, at their end markers.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Bytes(Bytes),
    /// The text after an end marker.
    End(String),
}

/// Reads output with end markers: lines `\x01<marker> <text>\n` with a random marker, which no output contains by
/// accident.
pub(super) struct Frames<R> {
    reader: R,
    start: Vec<u8>,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(reader: R, marker: &str) -> Self {
        Self { reader, start: format!("\x01{marker} ").into_bytes(), buffer: BytesMut::new() }
    }

    /// Returns the stream and what was read from it but is not part of a response.
    pub(super) fn into_parts(self) -> (R, BytesMut) {
        (self.reader, self.buffer)
    }

    /// Returns none at the end of the stream. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.take() {
                return Some(piece);
            }
            if self.reader.read_buf(&mut self.buffer).await.ok()? == 0 {
                return None;
            }
        }
    }

    fn take(&mut self) -> Option<Piece> {
        match self.buffer.iter().position(|byte| *byte == 1) {
            None => (!self.buffer.is_empty()).then(|| Piece::Bytes(self.buffer.split().freeze())),
            Some(0) => self.take_from_mark(),
            Some(at) => Some(Piece::Bytes(self.buffer.split_to(at).freeze())),
        }
    }

    /// The buffer begins with `\x01`: an end marker, a part of one, or similar output.
    fn take_from_mark(&mut self) -> Option<Piece> {
        let known = self.buffer.len().min(self.start.len());
        if self.buffer[..known] != self.start[..known] {
            return Some(Piece::Bytes(self.buffer.split_to(1).freeze()));
        }
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        let line = self.buffer.split_to(end + 1);
        Some(Piece::End(String::from_utf8_lossy(&line[self.start.len().min(end)..end]).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn end_markers_are_found_in_any_chunks() {
        let input = b"a\x01b\n\x01m\x01mark 0\nrest\x01mark 12\n";
        for cut in 0..input.len() {
            let (mut writer, reader) = tokio::io::duplex(1024);
            let mut frames = Frames::new(reader, "mark");
            let write = async {
                writer.write_all(&input[..cut]).await.unwrap();
                tokio::task::yield_now().await;
                writer.write_all(&input[cut..]).await.unwrap();
                drop(writer);
            };
            let read = async {
                let (mut bytes, mut ends) = (Vec::new(), Vec::new());
                while let Some(piece) = frames.next().await {
                    match piece {
                        Piece::Bytes(more) => bytes.extend_from_slice(&more),
                        Piece::End(text) => ends.push((bytes.len(), text)),
                    }
                }
                (bytes, ends)
            };
            let ((bytes, ends), ()) = tokio::join!(read, write);
            assert_eq!(bytes, b"a\x01b\n\x01mrest", "cut at {cut}");
            assert_eq!(ends, [(6, "0".to_owned()), (10, "12".to_owned())], "cut at {cut}");
        }
    }
}
