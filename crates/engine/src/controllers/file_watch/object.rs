//! Watches of `FileWatch` objects.

use lilt_api::{Content, ObjectKey};

use super::state::FileWatch;
use crate::objects::is_switched_off;
use crate::state::State;

/// Watches what the object says, unless it is switched off.
pub(crate) fn reconcile(state: &mut State, key: &ObjectKey) {
    let Some(Content::FileWatch(watch)) = state.objects.records.get(key).map(|record| &record.content) else {
        return;
    };
    let files = watch.spec.files(state.folder());
    let disable_source = watch.spec.disable_source.clone();
    let is_off = is_switched_off(state, key, disable_source.as_ref());
    let version = state.next_sequence();
    let watches = &mut state.file_watches.objects;
    if is_off {
        watches.remove(&key.name);
    } else if watches.get(&key.name).is_none_or(|watch| *watch.files() != files) {
        watches.insert(key.name.clone(), FileWatch::new(files, version));
    }
}

/// The object is gone.
pub(crate) fn forget(state: &mut State, key: &ObjectKey) {
    state.file_watches.objects.remove(&key.name);
}
