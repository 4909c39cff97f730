//! The least that must travel to make one content of another.

use std::collections::HashMap;

use crate::chunks::{self, Chunk};
use crate::protocol::{Malformed, Piece, Want};

/// As much as one piece carries: enough to compress well, little enough to keep both sides busy.
const BLOCK: usize = 256 << 10;

/// The pieces of what the other side wants, in order.
pub fn pieces<'a>(content: &'a [u8], want: &'a Want) -> impl Iterator<Item = Piece> + 'a {
    let known: HashMap<Chunk, u32> = want.has.iter().copied().zip(0..).collect();
    let mut rest = content;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, length) = match known.is_empty() {
            true => fresh(want.entry, rest, rest.len().min(BLOCK)),
            false => next(want, rest, &known),
        };
        rest = &rest[length..];
        Some(piece)
    })
}

fn fresh(entry: u32, bytes: &[u8], length: usize) -> (Piece, usize) {
    (Piece::Fresh { entry, packed: lz4_flex::compress_prepend_size(&bytes[..length]) }, length)
}

/// As many chunks as possible that are known, or that are not.
fn next(want: &Want, bytes: &[u8], known: &HashMap<Chunk, u32>) -> (Piece, usize) {
    let mut chunks = chunks::cut(bytes).map(|chunk| (chunk.len(), known.get(&Chunk::of(chunk)).copied()));
    let Some((mut length, place)) = chunks.next() else { return fresh(want.entry, bytes, bytes.len()) };
    match place {
        Some(first) => {
            let mut count = 1;
            for (more, place) in chunks {
                // The same content may be there twice: what follows decides, not where it was found first.
                let follows = want.has.get((first + count) as usize).zip(place);
                if follows.is_none_or(|(next, place)| want.has[place as usize] != *next) {
                    break;
                }
                (length, count) = (length + more, count + 1);
            }
            (Piece::Old { entry: want.entry, first, count }, length)
        }
        None => {
            for (more, _) in chunks.take_while(|(_, place)| place.is_none()) {
                if length + more > BLOCK {
                    break;
                }
                length += more;
            }
            fresh(want.entry, bytes, length)
        }
    }
}

/// What a fresh piece carries.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, Malformed> {
    let (size, _) = packed.split_first_chunk::<4>().ok_or(Malformed)?;
    if u32::from_le_bytes(*size) as usize > 2 * BLOCK {
        return Err(Malformed);
    }
    lz4_flex::decompress_size_prepended(packed).map_err(|_| Malformed)
}
