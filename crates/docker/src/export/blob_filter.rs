//! Filters a tar of an image: drops the blobs that the receiver has.
//!
//! Buffers a header at most, because images are large.

use std::collections::BTreeSet;

use bytes::{Bytes, BytesMut};

use super::{Exported, Parts};

const BLOCK: usize = 512;

pub(super) struct BlobFilter<'k> {
    known: &'k BTreeSet<String>,
    /// The header that is being read.
    header: BytesMut,
    /// Headers that belong to the next file, such as long names, with their content, until that file is kept or
    /// dropped.
    pending: Vec<Bytes>,
    /// Remaining bytes of the current file, including the padding of its last block.
    left: u64,
    route: Route,
    exported: Exported,
    /// The end marker of the tar was seen.
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    Keep,
    Drop,
    /// Belongs to the next file.
    Pending,
}

impl<'k> BlobFilter<'k> {
    pub(super) fn new(known: &'k BTreeSet<String>) -> Self {
        Self {
            known,
            header: BytesMut::with_capacity(BLOCK),
            pending: Vec::new(),
            left: 0,
            route: Route::Keep,
            exported: Exported::default(),
            ended: false,
        }
    }

    pub(super) fn exported(&self) -> Exported {
        self.exported
    }

    /// Whether the tar was read completely.
    pub(super) fn is_complete(&self) -> bool {
        self.ended && self.left == 0
    }

    /// Returns the parts of a chunk that are kept.
    pub(super) fn push(&mut self, mut chunk: Bytes) -> Vec<Bytes> {
        let mut out = Vec::new();
        while !chunk.is_empty() {
            if self.left > 0 {
                let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(chunk.len());
                let content = chunk.split_to(length);
                self.left -= length as u64;
                match self.route {
                    Route::Keep => out.push(content),
                    Route::Drop => {}
                    Route::Pending => self.pending.push(content),
                }
                continue;
            }
            let length = (BLOCK - self.header.len()).min(chunk.len());
            self.header.extend_from_slice(&chunk.split_to(length));
            if self.header.len() == BLOCK {
                let header = self.header.split().freeze();
                self.begin(header, &mut out);
            }
        }
        out
    }

    fn begin(&mut self, header: Bytes, out: &mut Vec<Bytes>) {
        if header.iter().all(|byte| *byte == 0) {
            self.ended = true;
            out.push(header);
            return;
        }
        let size = size(&header);
        self.left = size.div_ceil(BLOCK as u64) * BLOCK as u64;
        // Extended headers and long names, in the formats of POSIX and GNU.
        self.route = match header[156] {
            b'x' | b'L' | b'K' => Route::Pending,
            _ => self.choose(&header, size),
        };
        match self.route {
            Route::Keep => {
                out.append(&mut self.pending);
                out.push(header);
            }
            Route::Drop => self.pending.clear(),
            Route::Pending => self.pending.push(header),
        }
    }

    fn choose(&mut self, header: &[u8], size: u64) -> Route {
        let Some(digest) = digest(header) else { return Route::Keep };
        let has = self.known.contains(&digest);
        let parts = if has { &mut self.exported.skipped } else { &mut self.exported.sent };
        *parts = Parts { count: parts.count + 1, bytes: parts.bytes + size };
        if has { Route::Drop } else { Route::Keep }
    }
}

/// Returns the digest of a file `blobs/sha256/…`.
fn digest(header: &[u8]) -> Option<String> {
    let is_file = matches!(header[156], b'0' | 0);
    let name = std::str::from_utf8(header[..100].split(|byte| *byte == 0).next()?).ok()?;
    let digits = name.strip_prefix("./").unwrap_or(name).strip_prefix("blobs/sha256/")?;
    let fits = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_file && fits).then(|| format!("sha256:{digits}"))
}

/// Parses a size in octal digits, or in binary where those do not suffice.
fn size(header: &[u8]) -> u64 {
    let field = &header[124..136];
    if field[0] & 0x80 != 0 {
        return field[4..].iter().fold(0, |size, byte| size << 8 | u64::from(*byte));
    }
    let digits =
        field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| (b'0'..=b'7').contains(*byte));
    digits.fold(0, |size, digit| size * 8 + u64::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[156] = kind;
        block.extend_from_slice(content);
        block.resize(block.len().next_multiple_of(BLOCK), 0);
        block
    }

    fn blob(digit: char, content: &[u8]) -> Vec<u8> {
        entry(&format!("blobs/sha256/{}", digit.to_string().repeat(64)), b'0', content)
    }

    fn sieved(tar: &[u8], known: &[char], piece: usize) -> (Vec<u8>, Exported, bool) {
        let known = known.iter().map(|digit| format!("sha256:{}", digit.to_string().repeat(64))).collect();
        let mut filter = BlobFilter::new(&known);
        let chunks = tar.chunks(piece).map(Bytes::copy_from_slice);
        let through: Vec<u8> = chunks.flat_map(|chunk| filter.push(chunk)).flatten().collect();
        (through, filter.exported(), filter.is_complete())
    }

    #[test]
    fn known_blobs_are_dropped_in_any_chunks() {
        let end = vec![0; 2 * BLOCK];
        let index = entry("index.json", b'0', b"{}");
        let folder = entry("blobs/", b'5', b"");
        let extended = entry("PaxHeader/x", b'x', &[b'p'; 600]);
        let (a, b, c) = (blob('a', &[1; 1500]), blob('b', &[2; 512]), blob('c', &[3; 7]));
        let tar = [&folder, &a, &extended, &b, &extended, &c, &index, &end].map(Vec::as_slice).concat();
        let expected = [&folder, &a, &extended, &c, &index, &end].map(Vec::as_slice).concat();
        for piece in [1, 100, BLOCK, 513, 4096, tar.len()] {
            let (through, exported, whole) = sieved(&tar, &['b', 'd'], piece);
            assert_eq!(through, expected, "{piece}");
            assert_eq!(exported.sent, Parts { count: 2, bytes: 1507 });
            assert_eq!(exported.skipped, Parts { count: 1, bytes: 512 });
            assert!(whole);
        }
    }

    #[test]
    fn tar_without_end_is_incomplete() {
        let (_, _, whole) = sieved(&blob('a', &[1; 600]), &[], BLOCK);
        assert!(!whole);
        let cut = &blob('a', &[1; 600])[..700];
        assert!(!sieved(cut, &[], BLOCK).2);
    }

    #[test]
    fn large_sizes_are_binary() {
        let mut header = vec![0; BLOCK];
        header[124] = 0x80;
        header[132..136].copy_from_slice(&[0x01, 0, 0, 0]);
        assert_eq!(size(&header), 1 << 24);
        header[131] = 3;
        assert_eq!(size(&header), (3 << 32) + (1 << 24));
    }
}
