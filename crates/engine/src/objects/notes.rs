//! Notes of people on objects that lilt itself keeps.

use lilt_api::{Notes, Object, ObjectKey, ObjectMeta, show_in};
use lilt_model::ResourceName;
use serde_json::json;

use super::disable;
use crate::state::State;

/// Somebody noted something on an object that tells of a resource; of the session, if that has no name.
pub(crate) fn noted(state: &mut State, key: ObjectKey, of: &ResourceName, notes: Notes) {
    state.objects.notes.entry(key).or_default().add(notes);
    if of.as_str().is_empty() {
        state.touch_session();
    } else {
        state.touch(of);
    }
}

/// Shows what was noted on these objects.
pub(crate) fn show_notes(state: &State, objects: &mut [(ObjectKey, Object)]) {
    if state.objects.notes.is_empty() {
        return;
    }
    for (key, object) in objects {
        let Some(notes) = state.objects.notes.get(key) else { continue };
        let switch = object.text(disable::SWITCH).to_owned();
        notes.show(object);
        // The word that somebody chose for it stands only as long as it is true.
        if key.kind == "ConfigMap"
            && disable::parse_bool(object.text(disable::SWITCH)) != disable::parse_bool(&switch)
        {
            let data = object.content.entry("data").or_insert_with(|| json!({}));
            data[disable::KEY] = switch.into();
        }
    }
}

/// The same on what has typed metadata.
pub(crate) fn show_notes_on(state: &State, kind: &str, metadata: &mut ObjectMeta) {
    if let Some(notes) = state.objects.notes.get(&ObjectKey::new(kind, &metadata.name)) {
        show_in(&notes.labels, &mut metadata.labels);
        show_in(&notes.annotations, &mut metadata.annotations);
    }
}

impl State {
    /// What was noted on an object that lilt keeps.
    pub fn notes(&self, key: &ObjectKey) -> Option<&Notes> {
        self.objects.notes.get(key)
    }
}
