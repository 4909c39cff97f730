//! The least that must travel to make one content of another.

use std::collections::HashMap;

use crate::chunks::Chunk;
use crate::protocol::{Malformed, Piece};

/// As much as one piece carries: enough to compress well, little enough to keep both sides busy.
const BLOCK: usize = 256 << 10;

/// The pieces of a content, of which `chunks` are the parts, for a side that has `has`; in order.
pub fn pieces<'a>(
    entry: u32,
    content: &'a [u8],
    chunks: &[Chunk],
    has: &[Chunk],
) -> impl Iterator<Item = Piece> + 'a {
    // Short contents have no chunks.
    let parts = if has.is_empty() || chunks.is_empty() { whole(content.len()) } else { parts(chunks, has) };
    let mut rest = content;
    parts.into_iter().map(move |part| {
        let length = match &part {
            Part::Fresh(length) => *length,
            Part::Old { length, .. } => usize::try_from(*length).unwrap_or(usize::MAX),
        };
        let (bytes, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        match part {
            Part::Fresh(_) => Piece::Fresh { entry, packed: lz4_flex::compress_prepend_size(bytes) },
            Part::Old { from, length } => Piece::Old { entry, from, length },
        }
    })
}

/// All of a content as what one fresh piece carries; none if it takes no piece, or more than one.
pub fn pack_whole(content: &[u8]) -> Option<Vec<u8>> {
    (1..=BLOCK).contains(&content.len()).then(|| lz4_flex::compress_prepend_size(content))
}

enum Part {
    Fresh(usize),
    Old { from: u64, length: u64 },
}

fn whole(length: usize) -> Vec<Part> {
    (0..length).step_by(BLOCK).map(|from| Part::Fresh(BLOCK.min(length - from))).collect()
}

/// As many chunks as possible together that the other side has in a row, or that it lacks.
fn parts(chunks: &[Chunk], has: &[Chunk]) -> Vec<Part> {
    let begin = |end: &mut u64, chunk: &Chunk| {
        *end += u64::from(chunk.length);
        Some(*end - u64::from(chunk.length))
    };
    let begins: Vec<u64> = has.iter().scan(0, begin).collect();
    let places: HashMap<&Chunk, usize> = has.iter().zip(0..).collect();
    let mut parts: Vec<Part> = Vec::new();
    // The same content may be there twice: what follows the last one is the better place.
    let mut next = None;
    for chunk in chunks {
        let more = chunk.length as usize;
        let following = next.filter(|at| has.get(*at) == Some(chunk));
        let place = following.or_else(|| places.get(chunk).copied());
        match (place, parts.last_mut()) {
            (Some(_), Some(Part::Old { length, .. })) if following.is_some() => *length += more as u64,
            (Some(at), _) => parts.push(Part::Old { from: begins[at], length: more as u64 }),
            (None, Some(Part::Fresh(length))) if *length + more <= BLOCK => *length += more,
            (None, _) => parts.push(Part::Fresh(more)),
        }
        next = place.map(|at| at + 1);
    }
    parts
}

/// What a fresh piece carries.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, Malformed> {
    let (size, _) = packed.split_first_chunk::<4>().ok_or(Malformed)?;
    if u32::from_le_bytes(*size) as usize > 2 * BLOCK {
        return Err(Malformed);
    }
    lz4_flex::decompress_size_prepended(packed).map_err(|_| Malformed)
}
