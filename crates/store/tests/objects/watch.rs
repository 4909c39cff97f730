//! Watchers see every change.

use lilt_api::{ObjectKind, ObjectMeta, UIResource, UIResourceStatus};
use lilt_store::{Draft, Expired, WatchEventType};

use super::{command, command_key, delete, put, resource, resource_key, store};

/// A third of the history.
const BIG: usize = 700_000;

#[test]
fn watchers_see_every_change_until_they_expire() {
    let (mut writer, reader) = store();
    put(&mut writer, [command("a", "1")]);
    put(&mut writer, [command("a", "2")]);
    writer.remove(command_key("unknown"));
    delete(&mut writer, command_key("a"));
    let (version, events) = reader.events_since(ObjectKind::Cmd, 0).expect("all is remembered");
    let seen: Vec<_> = events.iter().map(|event| (event.event_type, event.object.version)).collect();
    assert_eq!(version, 3);
    assert_eq!(
        seen,
        [(WatchEventType::Added, 1), (WatchEventType::Modified, 2), (WatchEventType::Deleted, 3)]
    );
    assert!(reader.events_since(ObjectKind::Cmd, 3).expect("nothing since").1.is_empty());
    assert_eq!(
        reader.events_since(ObjectKind::Cmd, 4).map(|_| ()),
        Err(Expired { newest: 3 }),
        "of another session"
    );
    let big = "x".repeat(BIG);
    for round in 0..4 {
        put(&mut writer, [command("b", &format!("{big}{round}"))]);
    }
    assert_eq!(reader.events_since(ObjectKind::Cmd, 3).map(|_| ()), Err(Expired { newest: 7 }));
    assert_eq!(reader.events_since(ObjectKind::Cmd, 6).expect("the newest is remembered").1.len(), 1);
}

#[test]
fn typed_and_text_objects_share_one_sequence() {
    let (mut writer, reader) = store();
    put(&mut writer, [resource("web", 1), command("a", "1"), resource("web", 2)]);
    delete(&mut writer, resource_key("web"));
    let (version, events) = reader.events_since(ObjectKind::UIResource, 0).expect("all is remembered");
    let versions: Vec<u64> = events.iter().map(|event| event.object.version).collect();
    assert_eq!((version, versions), (4, vec![1, 3, 4]));
    let before = events[2].before.as_ref().expect("it existed");
    assert!(before.text().contains("\"order\":2") && before.text().contains("\"resourceVersion\":\"3\""));
    assert!(events[2].object.text().contains("\"resourceVersion\":\"4\""));
    assert_eq!(reader.changes_since(2).removed, ["web".into()]);
}

#[test]
fn typed_objects_count_by_the_length_of_their_texts() {
    let (mut writer, reader) = store();
    for order in 1..=4 {
        let metadata = ObjectMeta { name: "web".into(), ..ObjectMeta::default() };
        let mut object = UIResource::new(metadata, UIResourceStatus::default());
        object.status.order = order;
        object.metadata.annotations.insert("long".into(), "x".repeat(BIG));
        put(&mut writer, [Draft::resource(object.into(), None)]);
    }
    assert_eq!(reader.events_since(ObjectKind::UIResource, 0).map(|_| ()), Err(Expired { newest: 4 }));
    assert_eq!(reader.events_since(ObjectKind::UIResource, 3).expect("the newest is remembered").1.len(), 1);
}

#[test]
fn last_event_of_each_object_is_its_newest_state() {
    let (mut writer, reader) = store();
    put(&mut writer, [command("b", "1"), command("a", "1"), command("gone", "1"), command("a", "2")]);
    delete(&mut writer, command_key("gone"));
    let (version, events) = reader.last_events_since(ObjectKind::Cmd, 1).expect("all is remembered");
    let seen: Vec<_> = events.iter().map(|event| (&*event.object.key.name, event.event_type)).collect();
    assert_eq!(version, 5);
    assert_eq!(seen, [("a", WatchEventType::Modified), ("gone", WatchEventType::Deleted)]);
}
