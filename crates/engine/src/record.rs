//! A session as the list of its facts: what was recorded can be replayed, and gives the same states.

use std::collections::BTreeSet;

use lilt_model::Timestamp;
use lilt_model::resource::{Body, Resource};
use lilt_model::secret::{Redactor, Secret, Structure, redact_values_except};
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

/// Fields of events and of the state that hold names and paths, besides those that do so in API objects.
const STRUCTURE: Structure<'static> = Structure {
    fields: &[
        "ancestors",
        "base",
        "container",
        "containers",
        "file",
        "files",
        "id",
        "local",
        "object",
        "owner",
        "owners",
        "resource",
        "resourcedeps",
        "root",
        "roots",
        "tag",
        "triggers",
        "uid",
    ],
    names: None,
};

/// Makes lines of a session's facts, without the secrets that are known by then.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Of all projects so far, so that what was once a secret stays one.
    secrets: Vec<Secret>,
    redactor: Redactor,
    /// Names in the project, which are the keys that a replay looks things up by.
    names: BTreeSet<String>,
}

impl Recorder {
    /// A line of JSON, without an end of line.
    pub fn line(&mut self, mut entry: Entry) -> String {
        if let Entry::Event { fact, .. } = &mut entry
            && let Event::Loaded { outcome: Ok(project), .. } = &mut **fact
        {
            let secrets = std::mem::take(&mut project.secrets);
            if secrets.iter().any(|secret| !self.secrets.contains(secret)) {
                self.secrets.extend(secrets);
                self.redactor = Redactor::new(&self.secrets);
            }
            self.names.extend(project.resources.iter().flat_map(names));
        }
        match serde_json::to_value(&entry) {
            Ok(mut value) => {
                redact(&mut value, &self.redactor, &self.names);
                value.to_string()
            }
            // A path that is no text, for example. The recording says so instead of missing something silently.
            Err(error) => serde_json::json!({ "unwritable": error.to_string() }).to_string(),
        }
    }
}

/// Takes secrets out of the values, and leaves names as they are.
pub(crate) fn redact(value: &mut Value, redactor: &Redactor, names: &BTreeSet<String>) {
    if !redactor.is_empty() {
        let structure = Structure { names: Some(names), ..STRUCTURE };
        *value = redact_values_except(structure, value.take(), redactor);
    }
}

/// The names of a resource and of its images.
pub(crate) fn names(resource: &Resource) -> impl Iterator<Item = String> {
    let images = match &resource.body {
        Body::Kubernetes(body) => body.images.as_slice(),
        Body::Compose(body) => body.images.as_slice(),
        Body::Local(_) => &[],
    };
    let images = images.iter().map(|image| image.name.to_string());
    std::iter::once(resource.name.to_string()).chain(images)
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
