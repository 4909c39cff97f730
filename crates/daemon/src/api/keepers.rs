//! Which resource tells of which object. There are several objects for each resource: what is known of one is little.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use lilt_model::ResourceName;
use lilt_store::Key;

#[derive(Default)]
pub(super) struct Keepers {
    /// Sorted, by the resource that the objects tell of; the session's own under the empty name.
    kept: BTreeMap<ResourceName, Box<[Key]>>,
    tellers: BTreeMap<Key, ResourceName>,
    /// Who else keeps an object, and tells of it when the first no longer does: an image may belong to several resources.
    others: BTreeMap<Key, Vec<ResourceName>>,
}

impl Keepers {
    /// From now on a resource keeps these. Gives those that nobody keeps any more.
    pub(super) fn keep(&mut self, owner: &ResourceName, mut now: Vec<Key>) -> Vec<Key> {
        now.sort_unstable();
        now.dedup();
        let before = self.kept.get(owner).map_or(&[][..], |before| before);
        if *before == *now {
            return Vec::new();
        }
        let missing = |among: &[Key], from: &[Key]| -> Vec<Key> {
            from.iter().filter(|key| among.binary_search(key).is_err()).cloned().collect()
        };
        let (new, gone) = (missing(before, &now), missing(&now, before));
        if now.is_empty() {
            self.kept.remove(owner);
        } else {
            self.kept.insert(owner.clone(), now.into_boxed_slice());
        }
        for key in new {
            self.add(key, owner);
        }
        gone.into_iter().filter(|key| self.remove(key, owner)).collect()
    }

    pub(super) fn tells(&self, owner: &ResourceName, key: &Key) -> bool {
        self.tellers.get(key) == Some(owner)
    }

    /// The resource that tells of an object; the session, if that has no name.
    pub(super) fn teller(&self, key: &Key) -> Option<&ResourceName> {
        self.tellers.get(key)
    }

    pub(super) fn is_kept(&self, key: &Key) -> bool {
        self.tellers.contains_key(key)
    }

    fn add(&mut self, key: Key, owner: &ResourceName) {
        match self.tellers.entry(key) {
            Entry::Vacant(free) => {
                free.insert(owner.clone());
            }
            Entry::Occupied(taken) => self.others.entry(taken.key().clone()).or_default().push(owner.clone()),
        }
    }

    /// Whether nobody is left.
    fn remove(&mut self, key: &Key, owner: &ResourceName) -> bool {
        let tells = self.tells(owner, key);
        let Some(others) = self.others.get_mut(key) else {
            self.tellers.remove(key);
            return true;
        };
        if tells {
            self.tellers.insert(key.clone(), others.remove(0));
        } else {
            others.retain(|other| other != owner);
        }
        if others.is_empty() {
            self.others.remove(key);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_goes_with_the_last_that_keeps_it() {
        let mut keepers = Keepers::default();
        let key = |name: &str| Key::new("ImageMap", name);
        let (one, two) = (ResourceName::new("one"), ResourceName::new("two"));
        assert!(keepers.keep(&one, vec![key("shared"), key("own")]).is_empty());
        assert!(keepers.keep(&two, vec![key("shared")]).is_empty());
        assert!(keepers.tells(&one, &key("shared")) && !keepers.tells(&two, &key("shared")));
        assert_eq!(keepers.keep(&one, vec![]), [key("own")]);
        assert!(keepers.tells(&two, &key("shared")) && !keepers.is_kept(&key("own")));
        assert!(keepers.keep(&one, vec![key("shared")]).is_empty());
        assert!(keepers.keep(&one, vec![]).is_empty() && keepers.tells(&two, &key("shared")));
        assert_eq!(keepers.keep(&two, vec![]), [key("shared")]);
        assert!(!keepers.is_kept(&key("shared")));
    }
}
