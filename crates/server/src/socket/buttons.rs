//! The buttons that a page shows: those of the Tiltfile and of extensions, as the object API has them.

use std::collections::BTreeMap;

use lilt_store::{ApiReader, Change, Happening, Snapshot};
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
        // The last word on each counts: one may have come and gone between two looks.
        let mut last: BTreeMap<&str, &Change> = BTreeMap::new();
        for change in changes.iter().filter(|change| is_shown(&change.object)) {
            last.insert(&change.object.key.name, change);
        }
        let (gone, there): (Vec<&Change>, Vec<&Change>) =
            last.into_values().partition(|change| change.happening == Happening::Deleted);
        let buttons: Vec<Value> = there.into_iter().filter_map(|change| value(&change.object)).collect();
        let removed: Vec<String> =
            gone.into_iter().map(|change| change.object.key.name.to_string()).collect();
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

#[cfg(test)]
mod tests {
    use lilt_model::Timestamp;
    use lilt_store::{ApiWriter, Draft, Key};

    use super::*;

    fn put(writer: &ApiWriter, name: &str, text: &str) {
        let metadata = format!(r#"{{"name":"{name}"}}"#);
        let rest = format!(r#"{{"spec":{{"text":"{text}"}}}}"#);
        writer.commit(Timestamp(1), [Draft::new(Key::new(KIND, name), None, &metadata, &rest)], [], []);
    }

    fn delete(writer: &ApiWriter, name: &str) {
        writer.commit(Timestamp(1), [], [Key::new(KIND, name)], []);
    }

    /// The texts of those that are there, and the names of those that are not.
    fn told(buttons: &mut Buttons) -> (Vec<String>, Vec<String>) {
        let Some(ServerMessage::Buttons { buttons, removed, complete: false }) = buttons.look() else {
            panic!("nothing new is told")
        };
        let text = |button: &Value| button["spec"]["text"].as_str().unwrap_or_default().to_owned();
        (buttons.iter().map(text).collect(), removed)
    }

    #[test]
    fn of_what_happened_between_two_looks_the_last_counts() {
        let (writer, reader) = lilt_store::open_api();
        let mut buttons = Buttons::new(reader);
        assert!(buttons.look().is_some(), "all there are");
        put(&writer, "came", "one");
        put(&writer, "came", "two");
        put(&writer, "went", "one");
        delete(&writer, "went");
        assert_eq!(told(&mut buttons), (vec!["two".to_owned()], vec!["went".to_owned()]));
        assert!(buttons.look().is_none(), "nothing happened");
        put(&writer, "came", "three");
        delete(&writer, "came");
        assert_eq!(told(&mut buttons), (vec![], vec!["came".to_owned()]));
        put(&writer, "came", "four");
        delete(&writer, "came");
        put(&writer, "came", "five");
        assert_eq!(told(&mut buttons), (vec!["five".to_owned()], vec![]));
    }
}
