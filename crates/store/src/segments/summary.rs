//! What is known of a segment without looking into it: enough to see that nothing in it can match.
//!
//! There may be tens of thousands of segments, and thousands of resources in each: a summary is small whatever is in
//! its segment.

use lilt_model::Timestamp;
use lilt_model::log::Level;

use super::segment::{Marks, Segment};

/// Up to so many owners are listed; more are only marked.
const LISTED: usize = 24;
const WORDS: usize = 16;

/// The number of an owner in the session's table.
pub(crate) type OwnerNumber = u32;

#[derive(Debug)]
enum Owners {
    Listed(Vec<OwnerNumber>),
    /// One bit of many for each owner: says for certain only that one is not there.
    Marked(Box<[u64; WORDS]>),
}

#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) first: u64,
    pub(crate) end: u64,
    pub(crate) latest: Timestamp,
    /// How many lines of each level.
    pub(crate) levels: [u32; 3],
    /// Lines that begin a line, and are no further piece of one.
    pub(crate) begun: u32,
    pub(crate) headlines: u32,
    owners: Owners,
}

impl Summary {
    /// `owners` are the numbers of the segment's spans' owners, in their order.
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
                let (word, bit) = place(owner);
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
        if listed.len() <= LISTED {
            listed.shrink_to_fit();
            return Owners::Listed(listed);
        }
        let mut words = Box::new([0; WORDS]);
        for number in listed {
            let (word, bit) = place(number);
            words[word] |= bit;
        }
        Owners::Marked(words)
    }
}

/// Owners are numbered as they come, so that those of one time fall on different bits.
fn place(owner: OwnerNumber) -> (usize, u64) {
    let bit = owner as usize % (WORDS * 64);
    (bit / 64, 1 << (bit % 64))
}
