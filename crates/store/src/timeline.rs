//! The records of updates of the whole session.
//!
//! They are committed together with objects, but have no version: readers get them only on request.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lilt_model::ResourceName;
use lilt_model::timeline::UpdateRecord;

/// How many records of a resource are kept. A record takes about a kilobyte, and a file that a program writes all day
/// must not make memory grow.
const MAX_OF_RESOURCE: usize = 500;
/// How many records are kept in total.
const MAX_TOTAL: usize = 10_000;
/// How many bytes of each text in a record are kept. The log has the whole text.
const MAX_TEXT: usize = 4 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// Ordered by number, which is the order of time.
    records: BTreeMap<ResourceName, VecDeque<UpdateRecord>>,
    /// All records, oldest first.
    order: BTreeSet<(u64, ResourceName)>,
}

impl Timeline {
    /// Adds a record, or replaces the one with its number. The oldest are dropped beyond the limits.
    pub(crate) fn put(&mut self, resource: ResourceName, mut record: UpdateRecord) {
        if record.end.is_some() {
            record.stages.shrink_to_fit();
        }
        let stages = record.stages.iter_mut().map(|stage| &mut stage.detail);
        stages.chain([&mut record.cause]).chain(&mut record.error).for_each(truncate);
        let number = record.update;
        let records = self.records.entry(resource.clone()).or_default();
        match records.binary_search_by_key(&number, |record| record.update) {
            Ok(index) => {
                records[index] = record;
                return;
            }
            Err(index) => {
                // Most of ten thousand resources have one update, so no capacity for more is reserved.
                if records.is_empty() {
                    records.reserve_exact(1);
                }
                records.insert(index, record);
            }
        }
        self.order.insert((number, resource.clone()));
        if records.len() > MAX_OF_RESOURCE
            && let Some(oldest) = records.pop_front()
        {
            self.order.remove(&(oldest.update, resource));
        }
        while self.order.len() > MAX_TOTAL {
            let Some((number, resource)) = self.order.pop_first() else { break };
            if let Some(records) = self.records.get_mut(&resource) {
                records.pop_front_if(|record| record.update == number);
                if records.is_empty() {
                    self.records.remove(&resource);
                }
            }
        }
    }

    /// Returns the records of one resource, or of all, oldest first.
    pub(crate) fn read(&self, resource: Option<&str>) -> Vec<(ResourceName, Vec<UpdateRecord>)> {
        let wanted = |name: &ResourceName| resource.is_none_or(|wanted| wanted == name.as_str());
        self.records
            .iter()
            .filter(|(name, _)| wanted(name))
            .map(|(name, records)| (name.clone(), records.iter().cloned().collect()))
            .collect()
    }
}

fn truncate(text: &mut String) {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
        text.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::Timestamp;
    use lilt_model::timeline::{Outcome, Stage, StageKind};

    use super::*;

    fn record(update: u64, outcome: Outcome) -> UpdateRecord {
        UpdateRecord {
            update,
            cause: String::new(),
            begin: Timestamp::ZERO,
            end: None,
            outcome,
            error: None,
            stages: Vec::new(),
        }
    }

    #[test]
    fn record_with_the_same_number_is_replaced() {
        let mut timeline = Timeline::default();
        timeline.put("a".into(), record(1, Outcome::Running));
        timeline.put("b".into(), record(2, Outcome::Running));
        timeline.put("a".into(), record(1, Outcome::Ok));
        timeline.put("a".into(), record(3, Outcome::Failed));
        let of_a = timeline.read(Some("a"));
        let outcomes: Vec<Outcome> = of_a[0].1.iter().map(|record| record.outcome).collect();
        assert_eq!(outcomes, [Outcome::Ok, Outcome::Failed]);
        assert_eq!(timeline.read(None).len(), 2);
    }

    fn count(timeline: &Timeline) -> usize {
        timeline.read(None).iter().map(|(_, records)| records.len()).sum()
    }

    #[test]
    fn updates_of_all_resources_are_bounded_and_the_newest_kept() {
        let mut timeline = Timeline::default();
        for number in 0..MAX_TOTAL as u64 + 10 {
            timeline.put(ResourceName::new(format!("r{}", number % 70)), record(number, Outcome::Ok));
        }
        assert_eq!(count(&timeline), MAX_TOTAL);
        assert!(
            timeline.read(None).iter().flat_map(|(_, records)| records).all(|record| record.update >= 10)
        );
    }

    #[test]
    fn long_texts_of_a_record_are_cut() {
        let mut timeline = Timeline::default();
        let long = "ä".repeat(MAX_TEXT);
        let stage = Stage { stage: StageKind::Run, detail: long.clone(), begin: Timestamp::ZERO, end: None };
        let record = UpdateRecord {
            cause: long.clone(),
            error: Some(long),
            stages: vec![stage],
            ..record(1, Outcome::Failed)
        };
        timeline.put("a".into(), record);
        let read = timeline.read(None);
        let record = &read[0].1[0];
        let expected = format!("{}…", "ä".repeat(MAX_TEXT / 2));
        assert_eq!(record.error.as_deref(), Some(&*expected));
        assert_eq!((&record.cause, &record.stages[0].detail), (&expected, &expected));
    }

    #[test]
    fn updates_of_one_resource_are_bounded_and_leave_others_alone() {
        let mut timeline = Timeline::default();
        timeline.put("rare".into(), record(0, Outcome::Ok));
        for number in 1..=10 * MAX_TOTAL as u64 {
            timeline.put("busy".into(), record(number, Outcome::Ok));
        }
        assert_eq!(count(&timeline), MAX_OF_RESOURCE + 1);
        assert_eq!(timeline.order.len(), MAX_OF_RESOURCE + 1);
        let busy = timeline.read(Some("busy"));
        assert_eq!(busy[0].1.last().map(|record| record.update), Some(10 * MAX_TOTAL as u64));
        assert_eq!(timeline.read(Some("rare")).len(), 1);
    }
}
