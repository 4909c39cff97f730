//! Labels and annotations that users add to objects that lilt itself manages.

use lilt_api::{Notes, Object, ObjectKey, ObjectKind, ObjectMeta, show_in};
use lilt_model::ResourceName;
use serde_json::{Value, json};

use super::disable;
use crate::state::State;

/// Records what somebody changed of an object that shows the resource `of`, or the session if that name is empty.
pub(crate) fn noted(state: &mut State, key: ObjectKey, of: &ResourceName, notes: Notes) {
    state.objects.notes.entry(key).or_default().add(notes);
    if of.as_str().is_empty() {
        state.touch_session();
    } else {
        state.touch(of);
    }
}

/// Adds the users' changes to these objects.
pub(crate) fn show_notes(state: &State, objects: &mut [(ObjectKey, Object)]) {
    if state.objects.notes.is_empty() {
        return;
    }
    for (key, object) in objects {
        let Some(notes) = state.objects.notes.get(key) else { continue };
        let before = switch_value(object).to_owned();
        notes.show(object);
        // The user's spelling of the value is shown only as long as it means the same.
        if key.kind == ObjectKind::ConfigMap
            && disable::parse_bool(switch_value(object)) != disable::parse_bool(&before)
        {
            let data = object.content.entry("data").or_insert_with(|| json!({}));
            data[disable::KEY] = before.into();
        }
    }
}

fn switch_value(object: &Object) -> &str {
    let data = object.content.get("data").and_then(|data| data.get(disable::KEY));
    data.and_then(Value::as_str).unwrap_or_default()
}

/// Like [`show_notes`], for typed metadata.
pub(crate) fn show_notes_on(state: &State, kind: ObjectKind, metadata: &mut ObjectMeta) {
    if let Some(notes) = state.objects.notes.get(&ObjectKey::new(kind, &metadata.name)) {
        show_in(&notes.labels, &mut metadata.labels);
        show_in(&notes.annotations, &mut metadata.annotations);
    }
}

impl State {
    /// Returns the users' changes of an object that lilt manages.
    pub fn notes(&self, key: &ObjectKey) -> Option<&Notes> {
        self.objects.notes.get(key)
    }
}
