//! What the cluster reported about one thing.

use lilt_model::cluster::Notice;
use serde::Serialize;

/// How it began: what a timeline is made of.
const FIRST: usize = 10;
/// And what is wrong with it now.
const NEWEST: usize = 40;

/// The first notices and the newest; those between are forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notices {
    /// How many there were in all.
    told: usize,
    kept: Vec<Notice>,
}

impl Notices {
    /// Adds one; false if it is there already.
    pub(crate) fn push(&mut self, notice: Notice) -> bool {
        if self.kept.contains(&notice) {
            return false;
        }
        self.told += 1;
        self.kept.push(notice);
        if self.kept.len() > FIRST + NEWEST {
            self.kept.remove(FIRST);
        }
        true
    }

    pub fn told(&self) -> usize {
        self.told
    }

    /// Those after the first `told` ones, as far as they are kept.
    pub fn since(&self, told: usize) -> &[Notice] {
        let fresh = self.told.saturating_sub(told).min(self.kept.len());
        &self.kept[self.kept.len() - fresh..]
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Notice> {
        self.kept.iter()
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::Timestamp;
    use lilt_model::cluster::{PodRef, Subject};

    use super::*;

    fn notice(number: i64) -> Notice {
        Notice {
            about: Subject::Pod(PodRef { namespace: "n".into(), name: "p".into(), ..PodRef::default() }),
            warning: true,
            reason: "Unhealthy".into(),
            message: number.to_string(),
            probe: None,
            at: Timestamp(number),
        }
    }

    #[test]
    fn a_flood_loses_neither_the_beginning_nor_the_end() {
        let mut notices = Notices::default();
        (0..1000).for_each(|number| assert!(notices.push(notice(number))));
        assert!(!notices.push(notice(999)), "told once");
        let kept: Vec<i64> = notices.iter().map(|notice| notice.at.0).collect();
        assert_eq!((kept[0], kept[FIRST], kept.len()), (0, 960, FIRST + NEWEST));
        let fresh: Vec<i64> = notices.since(998).iter().map(|notice| notice.at.0).collect();
        assert_eq!((notices.told(), fresh), (1000, vec![998, 999]));
        assert_eq!(notices.since(1000), &[]);
    }
}
