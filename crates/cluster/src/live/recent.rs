//! A map of limited size that evicts the entries set longest ago.

use std::collections::HashMap;

#[derive(Debug)]
pub(super) struct RecentMap<V> {
    /// The maximum number of entries.
    capacity: usize,
    /// Each value with the number of the change that set it.
    entries: HashMap<String, (u64, V)>,
    changes: u64,
}

impl<V> RecentMap<V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, entries: HashMap::new(), changes: 0 }
    }

    pub(super) fn get(&self, key: &str) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, key: String, value: V) {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&key) {
            self.forget_half();
        }
        self.changes += 1;
        self.entries.insert(key, (self.changes, value));
    }

    pub(super) fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.entries.retain(|key, _| keeps(key));
    }

    /// Evicts half of the entries at once, so that the search for the oldest is amortized.
    fn forget_half(&mut self) {
        let mut changes: Vec<u64> = self.entries.values().map(|(change, _)| *change).collect();
        let middle = changes.len() / 2;
        if middle < changes.len() {
            let (_, newest_forgotten, _) = changes.select_nth_unstable(middle);
            let newest_forgotten = *newest_forgotten;
            self.entries.retain(|_, (change, _)| *change > newest_forgotten);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_entries_are_evicted() {
        let mut recent = RecentMap::new(10);
        for number in 0..1000 {
            recent.set(format!("{number}"), number);
            recent.set("kept".to_owned(), number);
            assert!(recent.entries.len() <= 10);
        }
        assert_eq!((recent.get("kept"), recent.get("999"), recent.get("1")), (Some(&999), Some(&999), None));
        recent.retain(|key| key != "kept");
        assert_eq!(recent.get("kept"), None);
    }

    #[test]
    fn map_of_one_entry_keeps_the_last() {
        let mut recent = RecentMap::new(1);
        recent.set("a".to_owned(), 1);
        recent.set("b".to_owned(), 2);
        assert_eq!((recent.get("a"), recent.get("b")), (None, Some(&2)));
    }
}
