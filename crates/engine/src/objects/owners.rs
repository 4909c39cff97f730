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

/// An owner was deleted: deletes what it alone owned. Other objects no longer name it.
pub(crate) fn gone(state: &mut State, uid: &str) {
    for key in owned(state, uid) {
        let others =
            state.objects.made.get(&key).is_some_and(|made| made.object.owner_uids().any(|it| it != uid));
        if others {
            disown(state, &key, uid);
        } else if let Some(made) = remove(state, &key) {
            gone(state, &made.uid);
        }
    }
}

/// Keeps the objects of an owner that is deleted.
pub(crate) fn set_free(state: &mut State, uid: &str) {
    for key in owned(state, uid) {
        disown(state, &key, uid);
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

fn disown(state: &mut State, key: &ObjectKey, uid: &str) {
    let Some(made) = state.objects.made.get_mut(key) else { return };
    state.objects.owners.remove(key, &made.object);
    made.object.remove_owner(uid);
    state.objects.owners.add(key, &made.object);
    state.objects.touch(key);
}
