//! Tracks which resource publishes which object.
//!
//! There are several objects for each resource, so that an entry must be small.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use lilt_model::ResourceName;
use lilt_store::Key;

#[derive(Default)]
pub(super) struct Publishers {
    /// Sorted keys by publishing resource. The session itself has the empty name.
    published: BTreeMap<ResourceName, Box<[Key]>>,
    publishers: BTreeMap<Key, ResourceName>,
    /// Further publishers of an object, in order: an image may belong to several resources.
    successors: BTreeMap<Key, Vec<ResourceName>>,
}

impl Publishers {
    /// Sets the objects of a resource. Returns those that no resource publishes any more.
    pub(super) fn set(&mut self, resource: &ResourceName, mut keys: Vec<Key>) -> Vec<Key> {
        keys.sort_unstable();
        keys.dedup();
        let before = self.published.get(resource).map_or(&[][..], |before| before);
        if *before == *keys {
            return Vec::new();
        }
        let missing = |among: &[Key], from: &[Key]| -> Vec<Key> {
            from.iter().filter(|key| among.binary_search(key).is_err()).cloned().collect()
        };
        let (added, dropped) = (missing(before, &keys), missing(&keys, before));
        if keys.is_empty() {
            self.published.remove(resource);
        } else {
            self.published.insert(resource.clone(), keys.into_boxed_slice());
        }
        for key in added {
            self.add(key, resource);
        }
        dropped.into_iter().filter(|key| self.remove(key, resource)).collect()
    }

    pub(super) fn is_publisher(&self, resource: &ResourceName, key: &Key) -> bool {
        self.publishers.get(key) == Some(resource)
    }

    /// Returns the resource that publishes an object: an empty name for the session, none for objects of clients.
    pub(super) fn publisher(&self, key: &Key) -> Option<&ResourceName> {
        self.publishers.get(key)
    }

    fn add(&mut self, key: Key, resource: &ResourceName) {
        match self.publishers.entry(key) {
            Entry::Vacant(free) => {
                free.insert(resource.clone());
            }
            Entry::Occupied(taken) => {
                self.successors.entry(taken.key().clone()).or_default().push(resource.clone());
            }
        }
    }

    /// Removes a publisher. Returns whether none is left.
    fn remove(&mut self, key: &Key, resource: &ResourceName) -> bool {
        let is_publisher = self.is_publisher(resource, key);
        let Some(successors) = self.successors.get_mut(key) else {
            self.publishers.remove(key);
            return true;
        };
        if is_publisher {
            self.publishers.insert(key.clone(), successors.remove(0));
        } else {
            successors.retain(|successor| successor != resource);
        }
        if successors.is_empty() {
            self.successors.remove(key);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lilt_api::ObjectKind;

    #[test]
    fn object_is_dropped_with_its_last_publisher() {
        let mut publishers = Publishers::default();
        let key = |name: &str| Key::new(ObjectKind::ImageMap, name);
        let (one, two) = (ResourceName::new("one"), ResourceName::new("two"));
        assert!(publishers.set(&one, vec![key("shared"), key("own")]).is_empty());
        assert!(publishers.set(&two, vec![key("shared")]).is_empty());
        assert!(
            publishers.is_publisher(&one, &key("shared")) && !publishers.is_publisher(&two, &key("shared"))
        );
        assert_eq!(publishers.set(&one, vec![]), [key("own")]);
        assert!(publishers.is_publisher(&two, &key("shared")) && publishers.publisher(&key("own")).is_none());
        assert!(publishers.set(&one, vec![key("shared")]).is_empty());
        assert!(publishers.set(&one, vec![]).is_empty() && publishers.is_publisher(&two, &key("shared")));
        assert_eq!(publishers.set(&two, vec![]), [key("shared")]);
        assert!(publishers.publisher(&key("shared")).is_none());
    }
}
