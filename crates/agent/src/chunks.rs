//! Cuts content where the content says so: bytes that were inserted or removed change the chunks around them alone.
//!
//! FastCDC's way: a rolling sum of table entries, cut where its upper bits are zero; before the usual size a cut needs
//! more zeros, after it fewer, so that sizes stay near it.

use crate::wire::{Malformed, Reader, Writer};

/// Below this, content travels whole.
pub const WORTH_CUTTING: usize = 128 << 10;

const LEAST: usize = 4 << 10;
const USUAL: usize = 16 << 10;
/// No chunk is longer.
pub const MOST: usize = 64 << 10;
const BEFORE_USUAL: u64 = !0 << (64 - 16);
const AFTER_USUAL: u64 = !0 << (64 - 12);

/// One chunk of a file. Its digest is shorter than a file's: whole files are checked in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    pub digest: [u8; 16],
    pub length: u32,
}

impl Chunk {
    pub fn of(bytes: &[u8]) -> Self {
        let mut digest = [0; 16];
        digest.copy_from_slice(&crate::digest(bytes)[..16]);
        Self { digest, length: u32::try_from(bytes.len()).expect("invariant: chunks are small") }
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.raw(&self.digest);
        to.u32(self.length);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { digest: from.array()?, length: from.u32()? })
    }
}

/// The chunks of some content, in order; together they are all of it.
pub fn cut(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = content;
    std::iter::from_fn(move || {
        let (chunk, after) = rest.split_at(end_of_first(rest));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// The chunks of some content, if that is worth the effort.
pub fn of(content: &[u8]) -> Vec<Chunk> {
    if content.len() < WORTH_CUTTING { Vec::new() } else { cut(content).map(Chunk::of).collect() }
}

/// Where the first chunk ends: of bytes that are all there are, or at least [`MOST`].
pub fn end_of_first(bytes: &[u8]) -> usize {
    let most = bytes.len().min(MOST);
    let mut sum: u64 = 0;
    for (at, byte) in bytes.iter().enumerate().take(most).skip(LEAST) {
        sum = (sum << 1).wrapping_add(TABLE[usize::from(*byte)]);
        let mask = if at < USUAL { BEFORE_USUAL } else { AFTER_USUAL };
        if sum & mask == 0 {
            return at + 1;
        }
    }
    most
}

/// A number for each byte value, made by splitmix64: any will do, but both sides must have the same.
const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut state: u64 = 0;
    let mut at = 0;
    while at < 256 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = state;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = value ^ (value >> 31);
        at += 1;
    }
    table
};

#[cfg(test)]
#[path = "../tests/support/noise.rs"]
mod noise;

#[cfg(test)]
mod tests {
    use super::noise::noise;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn chunks_are_all_of_the_content_in_sizes_around_the_usual() {
        for length in [0, 1, LEAST, USUAL, 1 << 20] {
            let content = noise(length, 7);
            let chunks: Vec<&[u8]> = cut(&content).collect();
            assert_eq!(chunks.concat(), content);
            assert!(chunks.iter().all(|chunk| chunk.len() <= MOST));
        }
        let content = noise(4 << 20, 3);
        let count = cut(&content).count();
        assert!((128..512).contains(&count), "{count} chunks of 4 MB");
        assert_eq!(cut(&vec![0; 1 << 20]).map(<[u8]>::len).max(), Some(MOST), "also where nothing says cut");
    }

    #[test]
    fn an_insertion_changes_few_chunks() {
        let old = noise(2 << 20, 11);
        let mut new = old.clone();
        new.splice(1_000_000..1_000_000, noise(777, 5));
        let known: HashSet<Chunk> = cut(&old).map(Chunk::of).collect();
        let fresh: usize =
            cut(&new).filter(|chunk| !known.contains(&Chunk::of(chunk))).map(<[u8]>::len).sum();
        assert!((777..3 * MOST).contains(&fresh), "{fresh} bytes are new");
    }
}
