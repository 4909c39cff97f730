//! A session as the list of its facts: what was recorded can be replayed, and gives the same states.

use lilt_model::Timestamp;
use lilt_model::secret::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Event;
use crate::state::{Options, State};
use crate::{apply, schedule};

/// One line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The first one.
    Session {
        options: Options,
    },
    Event {
        at: Timestamp,
        fact: Box<Event>,
    },
    /// What came before was decided upon in one step.
    Turn,
}

/// Makes lines of a session's facts, without the secrets that are known by then.
#[derive(Debug, Default)]
pub struct Recorder {
    redactor: Redactor,
}

impl Recorder {
    /// A line of JSON, without an end of line.
    pub fn line(&mut self, mut entry: Entry) -> String {
        if let Entry::Event { fact, .. } = &mut entry
            && let Event::Loaded { outcome: Ok(project), .. } = &mut **fact
        {
            self.redactor = Redactor::new(&std::mem::take(&mut project.secrets));
        }
        match serde_json::to_value(&entry) {
            Ok(mut value) => {
                redact(&mut value, &self.redactor);
                value.to_string()
            }
            // A path that is no text, for example. The recording says so instead of missing something silently.
            Err(error) => serde_json::json!({ "unwritable": error.to_string() }).to_string(),
        }
    }
}

/// Takes secrets out of every text.
pub(crate) fn redact(value: &mut Value, redactor: &Redactor) {
    if redactor.is_empty() {
        return;
    }
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(redacted) = redactor.redact(text) {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, redactor)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact(field, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Lives a session again. `each` sees the state after every turn.
pub fn replay(
    entries: impl IntoIterator<Item = Entry>,
    mut each: impl FnMut(&mut State),
) -> Result<State, String> {
    let mut entries = entries.into_iter();
    let Some(Entry::Session { options }) = entries.next() else {
        return Err("a recording begins with what the session was started with".into());
    };
    let mut state = State::new(options);
    for entry in entries {
        match entry {
            Entry::Session { .. } => return Err("a second session begins in the recording".into()),
            Entry::Event { at, fact } => apply(&mut state, at, *fact),
            Entry::Turn => {
                schedule(&mut state);
                each(&mut state);
                state.take_touched();
                state.take_notes();
                state.take_records();
            }
        }
    }
    Ok(state)
}
