//! Notices of the cluster about one pod or about the objects of one resource.

use lilt_model::cluster::Notice;
use serde::Serialize;

/// The number of first notices that are kept: timelines are derived from them.
const FIRST: usize = 10;
/// The number of newest notices that are kept: they show current errors.
const NEWEST: usize = 40;

/// The first and the newest notices; those in between are dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notices {
    /// The number of all notices, including dropped ones.
    #[serde(rename = "told")]
    total: usize,
    kept: Vec<Notice>,
}

impl Notices {
    /// Adds a notice. Returns false if it is known already.
    pub(crate) fn push(&mut self, notice: Notice) -> bool {
        if self.kept.contains(&notice) {
            return false;
        }
        self.total += 1;
        self.kept.push(notice);
        if self.kept.len() > FIRST + NEWEST {
            self.kept.remove(FIRST);
        }
        true
    }

    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns the notices after the first `reported` ones, as far as they are kept.
    pub fn since(&self, reported: usize) -> &[Notice] {
        let fresh = self.total.saturating_sub(reported).min(self.kept.len());
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
    fn many_notices_keep_the_first_and_the_newest() {
        let mut notices = Notices::default();
        (0..1000).for_each(|number| assert!(notices.push(notice(number))));
        assert!(!notices.push(notice(999)), "told once");
        let kept: Vec<i64> = notices.iter().map(|notice| notice.at.0).collect();
        assert_eq!((kept[0], kept[FIRST], kept.len()), (0, 960, FIRST + NEWEST));
        let fresh: Vec<i64> = notices.since(998).iter().map(|notice| notice.at.0).collect();
        assert_eq!((notices.total(), fresh), (1000, vec![998, 999]));
        assert_eq!(notices.since(1000), &[]);
    }
}
