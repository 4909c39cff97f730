//! Computes the pieces to send so that the other side can build one content from another.

use std::collections::HashMap;

use crate::chunks::Chunk;
use crate::protocol::{Malformed, Piece};

/// The maximum content of a piece: enough to compress well, little enough to keep both sides busy.
const BLOCK: usize = 256 << 10;

/// Returns the pieces of a content with the given chunks, in order, for a side whose file has the chunks `has`.
pub fn pieces<'a>(
    entry: u32,
    content: &'a [u8],
    chunks: &[Chunk],
    has: &[Chunk],
) -> impl Iterator<Item = Piece> + 'a {
    // Short contents are not split.
    let ranges = if has.is_empty() || chunks.is_empty() { whole(content.len()) } else { ranges(chunks, has) };
    let mut rest = content;
    ranges.into_iter().map(move |range| {
        let length = match &range {
            Range::New(length) => *length,
            Range::Old { length, .. } => usize::try_from(*length).unwrap_or(usize::MAX),
        };
        let (bytes, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        match range {
            Range::New(_) => Piece::Data { entry, packed: lz4_flex::compress_prepend_size(bytes) },
            Range::Old { from, length } => Piece::Copy { entry, offset: from, length },
        }
    })
}

/// Returns a whole content as the data of one piece; `None` if it needs no piece, or more than one.
pub fn pack_whole(content: &[u8]) -> Option<Vec<u8>> {
    (1..=BLOCK).contains(&content.len()).then(|| lz4_flex::compress_prepend_size(content))
}

enum Range {
    New(usize),
    Old { from: u64, length: u64 },
}

fn whole(length: usize) -> Vec<Range> {
    (0..length).step_by(BLOCK).map(|from| Range::New(BLOCK.min(length - from))).collect()
}

/// Merges adjacent chunks that the other side has in the same order, or that it lacks.
fn ranges(chunks: &[Chunk], has: &[Chunk]) -> Vec<Range> {
    let start = |end: &mut u64, chunk: &Chunk| {
        *end += u64::from(chunk.length);
        Some(*end - u64::from(chunk.length))
    };
    let starts: Vec<u64> = has.iter().scan(0, start).collect();
    let positions: HashMap<&Chunk, usize> = has.iter().zip(0..).collect();
    let mut ranges: Vec<Range> = Vec::new();
    // The same chunk may occur twice: prefer the one that follows the previous match.
    let mut next = None;
    for chunk in chunks {
        let more = chunk.length as usize;
        let following = next.filter(|at| has.get(*at) == Some(chunk));
        let position = following.or_else(|| positions.get(chunk).copied());
        match (position, ranges.last_mut()) {
            (Some(_), Some(Range::Old { length, .. })) if following.is_some() => *length += more as u64,
            (Some(at), _) => ranges.push(Range::Old { from: starts[at], length: more as u64 }),
            (None, Some(Range::New(length))) if *length + more <= BLOCK => *length += more,
            (None, _) => ranges.push(Range::New(more)),
        }
        next = position.map(|at| at + 1);
    }
    ranges
}

/// Decompresses the data of a piece.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, Malformed> {
    let (size, _) = packed.split_first_chunk::<4>().ok_or(Malformed)?;
    if u32::from_le_bytes(*size) as usize > 2 * BLOCK {
        return Err(Malformed);
    }
    lz4_flex::decompress_size_prepended(packed).map_err(|_| Malformed)
}
