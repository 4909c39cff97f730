//! The buttons that a page shows: those of the Tiltfile and of extensions, from the object API.

use lilt_api::ObjectKind;
use std::sync::Arc;

use lilt_store::{Reader, Snapshot, WatchEvent, WatchEventType};
use serde_json::Value;

use crate::protocol::ServerMessage;

const KIND: ObjectKind = ObjectKind::UIButton;

/// More than Tiltfiles have, and than the page would show.
const MAX_BUTTONS: usize = 10_000;

#[derive(Debug)]
pub(super) struct Buttons {
    reader: Reader,
    /// The revision that the page has; none before the first message.
    revision: Option<u64>,
}

impl Buttons {
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader, revision: None }
    }

    /// Returns the changes since the last message; none if there are none.
    pub(super) fn next_message(&mut self) -> Option<ServerMessage> {
        let events = self.revision.map(|revision| self.reader.last_events_since(KIND, revision));
        let Some(Ok((revision, events))) = events else {
            let (revision, all) = self.reader.list(KIND, None, MAX_BUTTONS);
            self.revision = Some(revision);
            let buttons = all.iter().filter(|it| is_shown(it)).filter_map(value).collect();
            return Some(ServerMessage::Buttons { complete: true, buttons, removed: Vec::new() });
        };
        self.revision = Some(revision);
        let shown = events.iter().filter(|event| is_shown(&event.object));
        let (deleted, existing): (Vec<&Arc<WatchEvent>>, Vec<_>) =
            shown.partition(|event| event.event_type == WatchEventType::Deleted);
        let buttons: Vec<Value> = existing.iter().filter_map(|event| value(&event.object)).collect();
        let removed: Vec<String> = deleted.iter().map(|event| event.object.key.name.to_string()).collect();
        let is_empty = buttons.is_empty() && removed.is_empty();
        (!is_empty).then_some(ServerMessage::Buttons { complete: false, buttons, removed })
    }
}

/// Returns whether the page shows a button. It has its own for the two buttons of every resource.
fn is_shown(button: &Snapshot) -> bool {
    let name = &button.key.name;
    let switches = name.starts_with("toggle-") && name.ends_with("-disable");
    !switches && !name.ends_with("-stopbuild")
}

/// Parses a button. All objects of the store are valid.
fn value(button: &Snapshot) -> Option<Value> {
    serde_json::from_str(button.text()).ok()
}

#[cfg(test)]
mod tests {
    use lilt_model::Timestamp;
    use lilt_store::{Draft, Key, LogWriter, Writer};

    use super::*;

    fn put(writer: &mut Writer, name: &str, text: &str) {
        let metadata = format!(r#"{{"name":"{name}"}}"#);
        let rest = format!(r#"{{"spec":{{"text":"{text}"}}}}"#);
        writer.put(Draft::new(Key::new(KIND, name), None, &metadata, &rest));
        writer.commit(Timestamp(1));
    }

    fn delete(writer: &mut Writer, name: &str) {
        writer.remove(Key::new(KIND, name));
        writer.commit(Timestamp(1));
    }

    /// The texts of the changed buttons, and the names of the deleted ones.
    fn changes(buttons: &mut Buttons) -> (Vec<String>, Vec<String>) {
        let Some(ServerMessage::Buttons { buttons, removed, complete: false }) = buttons.next_message()
        else {
            panic!("no change is sent")
        };
        let text = |button: &Value| button["spec"]["text"].as_str().unwrap_or_default().to_owned();
        (buttons.iter().map(text).collect(), removed)
    }

    #[test]
    fn changes_between_two_messages_are_sent_as_the_last_one() {
        let (_, logs) = LogWriter::open(None, || Timestamp(1));
        let (mut writer, _, reader) = lilt_store::open(logs);
        let mut buttons = Buttons::new(reader);
        assert!(buttons.next_message().is_some(), "all there are");
        put(&mut writer, "came", "one");
        put(&mut writer, "came", "two");
        put(&mut writer, "went", "one");
        delete(&mut writer, "went");
        assert_eq!(changes(&mut buttons), (vec!["two".to_owned()], vec!["went".to_owned()]));
        assert!(buttons.next_message().is_none(), "nothing happened");
        put(&mut writer, "came", "three");
        delete(&mut writer, "came");
        assert_eq!(changes(&mut buttons), (vec![], vec!["came".to_owned()]));
        put(&mut writer, "came", "four");
        delete(&mut writer, "came");
        put(&mut writer, "came", "five");
        assert_eq!(changes(&mut buttons), (vec!["five".to_owned()], vec![]));
    }
}
