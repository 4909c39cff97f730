//! Keeps one copy of values that many objects share.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Unused values are dropped only above this number of values.
const MIN_PRUNED: usize = 256;

#[derive(Debug)]
pub(crate) struct Interner<T: ?Sized> {
    known: BTreeSet<Arc<T>>,
    /// The number of values after the last pruning.
    remained: usize,
}

impl<T: ?Sized> Default for Interner<T> {
    fn default() -> Self {
        Self { known: BTreeSet::new(), remained: 0 }
    }
}

impl<T: ?Sized + Ord> Interner<T> {
    pub(crate) fn intern<V: Borrow<T> + Into<Arc<T>>>(&mut self, value: V) -> Arc<T> {
        if let Some(known) = self.known.get(value.borrow()) {
            return Arc::clone(known);
        }
        if self.known.len() >= MIN_PRUNED.max(2 * self.remained) {
            self.prune();
        }
        let value = value.into();
        self.known.insert(Arc::clone(&value));
        value
    }

    /// Drops unused values.
    pub(crate) fn prune(&mut self) {
        self.known.retain(|value| Arc::strong_count(value) > 1);
        self.remained = self.known.len();
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_kept_once() {
        let mut interner: Interner<str> = Interner::default();
        let one = interner.intern("a".to_owned());
        assert!(Arc::ptr_eq(&one, &interner.intern("a".to_owned())));
        assert!(!Arc::ptr_eq(&one, &interner.intern("b".to_owned())));
    }

    #[test]
    fn unused_values_do_not_accumulate() {
        let mut interner: Interner<str> = Interner::default();
        let held: Vec<Arc<str>> = (0..10).map(|number| interner.intern(format!("held {number}"))).collect();
        for number in 0..10_000 {
            interner.intern(number.to_string());
            assert!(interner.len() <= MIN_PRUNED);
        }
        assert!(held.iter().all(|value| Arc::ptr_eq(value, &interner.intern(value.to_string()))));
    }
}
