//! Recording and replay of the events of a session. A replay reproduces every state.

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
    /// The first line.
    Session {
        options: Options,
    },
    Event {
        at: Timestamp,
        fact: Box<Event>,
    },
    /// The end of a turn: the events before it were handled together.
    Turn,
}

/// Fields of events and of the state that contain names and paths, besides those of API objects.
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

/// Writes events as lines, without the secrets known so far.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The secrets of all loads so far: a former secret stays redacted.
    secrets: Vec<Secret>,
    redactor: Redactor,
    /// Names in the project, which a replay uses as keys.
    names: BTreeSet<String>,
}

impl Recorder {
    /// Returns a line of JSON, without a line break.
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
            // For example a path that is not UTF-8. The recording contains the error instead of a gap.
            Err(error) => serde_json::json!({ "unwritable": error.to_string() }).to_string(),
        }
    }
}

/// Redacts secrets in the values, and leaves names unchanged.
pub(crate) fn redact(value: &mut Value, redactor: &Redactor, names: &BTreeSet<String>) {
    if !redactor.is_empty() {
        let structure = Structure { names: Some(names), ..STRUCTURE };
        *value = redact_values_except(structure, value.take(), redactor);
    }
}

/// Returns the names of a resource and of its images.
pub(crate) fn names(resource: &Resource) -> impl Iterator<Item = String> {
    let images = match &resource.body {
        Body::Kubernetes(body) => body.images.as_slice(),
        Body::Compose(body) => body.images.as_slice(),
        Body::Local(_) => &[],
    };
    let images = images.iter().map(|image| image.name.to_string());
    std::iter::once(resource.name.to_string()).chain(images)
}

/// Replays a session. `each` is called with the state after every turn.
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
