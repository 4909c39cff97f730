//! Owners of objects: an object is deleted with the last of its owners.

use std::collections::{BTreeMap, BTreeSet};

use lilt_api::{Object, ObjectKey};

use super::remove;
use crate::state::State;

/// The owned objects by the uid of the owner, which may also be an object that shows a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Owners(BTreeMap<String, BTreeSet<ObjectKey>>);

impl Owners {
    pub(super) fn add(&mut self, key: &ObjectKey, object: &Object) {
        for uid in object.owner_uids() {
            self.0.entry(uid.to_owned()).or_default().insert(key.clone());
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey, object: &Object) {
        for uid in object.owner_uids() {
            if let Some(owned) = self.0.get_mut(uid) {
                owned.remove(key);
                if owned.is_empty() {
                    self.0.remove(uid);
                }
            }
        }
    }
}

/// Handles the deletion of an owner: deletes objects without another owner, and removes it from the others.
pub(crate) fn gone(state: &mut State, uid: &str) {
    for key in owned(state, uid) {
        let others = state
            .objects
            .records
            .get(&key)
            .is_some_and(|record| record.object.owner_uids().any(|it| it != uid));
        if others {
            remove_owner(state, &key, uid);
        } else if let Some(record) = remove(state, &key) {
            gone(state, &record.uid);
        }
    }
}

/// Keeps the objects of an owner that is deleted.
pub(crate) fn release_owned(state: &mut State, uid: &str) {
    for key in owned(state, uid) {
        remove_owner(state, &key, uid);
    }
}

impl State {
    /// Returns whether an object of this uid owns any other.
    pub fn has_owned(&self, uid: &str) -> bool {
        self.objects.owners.0.contains_key(uid)
    }
}

pub(super) fn owned(state: &State, uid: &str) -> Vec<ObjectKey> {
    state.objects.owners.0.get(uid).into_iter().flatten().cloned().collect()
}

fn remove_owner(state: &mut State, key: &ObjectKey, uid: &str) {
    let Some(record) = state.objects.records.get_mut(key) else { return };
    state.objects.owners.remove(key, &record.object);
    record.object.remove_owner(uid);
    state.objects.owners.add(key, &record.object);
    state.objects.touch(key);
}
