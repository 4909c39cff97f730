//! The summary of a segment, from which readers see that no line in it can match.
//!
//! There may be tens of thousands of segments with thousands of resources each, so the size of a summary is bounded.

use lilt_model::Timestamp;
use lilt_model::log::Level;

use super::segment::{Marks, Segment};

/// Up to so many owners are listed exactly.
const MAX_LISTED: usize = 24;
const WORDS: usize = 16;

/// The number of an owner in the session's table.
pub(crate) type OwnerNumber = u32;

#[derive(Debug)]
enum Owners {
    Listed(Vec<OwnerNumber>),
    /// A Bloom filter: each owner sets one bit.
    Marked(Box<[u64; WORDS]>),
}

#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) first: u64,
    pub(crate) end: u64,
    pub(crate) latest: Timestamp,
    /// The number of lines of each level.
    pub(crate) levels: [u32; 3],
    /// The number of lines without those that continue one.
    pub(crate) begun: u32,
    pub(crate) headlines: u32,
    owners: Owners,
}

impl Summary {
    /// Summarizes a segment. `owners` are the numbers of the owners of its spans, in order.
    pub(crate) fn of(segment: &Segment, owners: &[OwnerNumber]) -> Summary {
        let mut summary = Summary {
            first: segment.first,
            end: segment.end(),
            latest: Timestamp(i64::MIN),
            levels: [0; 3],
            begun: 0,
            headlines: 0,
            owners: Owners::of(owners),
        };
        for entry in &segment.entries {
            summary.latest = summary.latest.max(entry.time);
            summary.levels[entry.marks.level() as usize] += 1;
            summary.begun += u32::from(!entry.marks.has(Marks::CONTINUES));
            summary.headlines += u32::from(entry.marks.has(Marks::HEADLINE));
        }
        summary
    }

    pub(crate) fn may_have(&self, owner: OwnerNumber) -> bool {
        match &self.owners {
            Owners::Listed(listed) => listed.contains(&owner),
            Owners::Marked(words) => {
                let (word, bit) = bit_position(owner);
                words[word] & bit != 0
            }
        }
    }

    pub(crate) fn has(&self, level: Level) -> bool {
        self.levels[level as usize] > 0
    }
}

impl Owners {
    fn of(numbers: &[OwnerNumber]) -> Self {
        let mut listed = numbers.to_vec();
        listed.sort_unstable();
        listed.dedup();
        if listed.len() <= MAX_LISTED {
            listed.shrink_to_fit();
            return Owners::Listed(listed);
        }
        let mut words = Box::new([0; WORDS]);
        for number in listed {
            let (word, bit) = bit_position(number);
            words[word] |= bit;
        }
        Owners::Marked(words)
    }
}

/// Returns the word and bit of an owner. Owners that appear together have consecutive numbers, and so different bits.
fn bit_position(owner: OwnerNumber) -> (usize, u64) {
    let bit = owner as usize % (WORDS * 64);
    (bit / 64, 1 << (bit % 64))
}
