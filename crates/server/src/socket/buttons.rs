//! The buttons that a page shows: those of the Tiltfile and of extensions, as the object API has them.

use lilt_store::{ApiReader, Happening, Snapshot};
use serde_json::Value;

use crate::protocol::ServerMessage;

const KIND: &str = "UIButton";

/// More than a Tiltfile has; the page would not show more either.
const MOST: usize = 10_000;

#[derive(Debug)]
pub(super) struct Buttons {
    reader: ApiReader,
    /// None: nothing was told yet.
    version: Option<u64>,
}

impl Buttons {
    pub(super) fn new(reader: ApiReader) -> Self {
        Self { reader, version: None }
    }

    /// Waits until something may have changed.
    pub(super) async fn changed(&self) {
        self.reader.changed(self.version.unwrap_or_default()).await;
    }

    /// What changed since the last look.
    pub(super) fn look(&mut self) -> Option<ServerMessage> {
        let Some(Ok((version, changes))) = self.version.map(|version| self.reader.changes(KIND, version))
        else {
            let (version, all) = self.reader.list(KIND, None, MOST);
            self.version = Some(version);
            let buttons = all.iter().filter(|it| is_shown(it)).filter_map(value).collect();
            return Some(ServerMessage::Buttons { complete: true, buttons, removed: Vec::new() });
        };
        self.version = Some(version);
        let mut buttons = Vec::new();
        let mut removed = Vec::new();
        for change in changes.iter().filter(|change| is_shown(&change.object)) {
            let name = change.object.key.name.to_string();
            match change.happening {
                Happening::Deleted => removed.push(name),
                Happening::Added | Happening::Modified => {
                    removed.retain(|gone| *gone != name);
                    buttons.extend(value(&change.object));
                }
            }
        }
        let nothing = buttons.is_empty() && removed.is_empty();
        (!nothing).then_some(ServerMessage::Buttons { complete: false, buttons, removed })
    }
}

/// The page has its own for what these two of every resource do.
fn is_shown(button: &Snapshot) -> bool {
    let name = &button.key.name;
    let switches = name.starts_with("toggle-") && name.ends_with("-disable");
    !switches && !name.ends_with("-stopbuild")
}

/// The store holds nothing but objects.
fn value(button: &Snapshot) -> Option<Value> {
    serde_json::from_str(&button.text).ok()
}
