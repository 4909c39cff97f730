//! What updates did, and when, for the whole session.

use std::collections::{BTreeMap, VecDeque};

use lilt_model::ResourceName;
use lilt_model::timeline::UpdateRecord;

/// More updates than these, of all resources together, and the oldest are forgotten: about ten megabytes.
const REMEMBERED: usize = 20_000;

#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// Sorted by number, which is the order of time.
    records: BTreeMap<ResourceName, Vec<UpdateRecord>>,
    /// All of them, oldest first.
    order: VecDeque<(ResourceName, u64)>,
}

impl Timeline {
    /// A record that is known by its number is replaced.
    pub(crate) fn put(&mut self, resource: ResourceName, record: UpdateRecord) {
        let number = record.update;
        let records = self.records.entry(resource.clone()).or_default();
        match records.binary_search_by_key(&number, |record| record.update) {
            Ok(place) => {
                records[place] = record;
                return;
            }
            Err(place) => {
                // Of ten thousand resources most have been updated once.
                records.reserve_exact(usize::from(records.is_empty()));
                records.insert(place, record);
            }
        }
        self.order.push_back((resource, number));
        while self.order.len() > REMEMBERED {
            let Some((resource, number)) = self.order.pop_front() else { break };
            if let Some(records) = self.records.get_mut(&resource) {
                records.retain(|record| record.update != number);
                if records.is_empty() {
                    self.records.remove(&resource);
                }
            }
        }
    }

    /// Of one resource, or of all; each from the oldest on.
    pub(crate) fn read(&self, resource: Option<&str>) -> Vec<(ResourceName, Vec<UpdateRecord>)> {
        let wanted = |name: &ResourceName| resource.is_none_or(|wanted| wanted == name.as_str());
        self.records
            .iter()
            .filter(|(name, _)| wanted(name))
            .map(|(name, records)| (name.clone(), records.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::Timestamp;
    use lilt_model::timeline::Outcome;

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
    fn a_record_is_replaced_by_its_next_form() {
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

    #[test]
    fn memory_is_bounded() {
        let mut timeline = Timeline::default();
        for number in 0..REMEMBERED as u64 + 10 {
            timeline.put(ResourceName::new(format!("r{}", number % 7)), record(number, Outcome::Ok));
        }
        let kept: usize = timeline.read(None).iter().map(|(_, records)| records.len()).sum();
        assert_eq!(kept, REMEMBERED);
        assert!(
            timeline.read(None).iter().flat_map(|(_, records)| records).all(|record| record.update >= 10)
        );
    }
}
