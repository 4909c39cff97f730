//! The page's readers see what changed since the revision that they know.

use std::sync::Arc;

use lilt_api::{ObjectMeta, UISession, UISessionStatus};
use lilt_model::Timestamp;
use lilt_model::timeline::{Outcome, UpdateRecord};
use lilt_store::Draft;

use super::{command, delete, put, resource, resource_key, store};

fn session(key: &str) -> Draft {
    let session = UISession::new(
        ObjectMeta { name: "Tiltfile".into(), ..ObjectMeta::default() },
        UISessionStatus { tiltfile_key: key.into(), ..UISessionStatus::default() },
    );
    Draft::session(Arc::new(session), None)
}

#[test]
fn only_changed_resources_are_read() {
    let (mut writer, reader) = store();
    put(&mut writer, [resource("a", 1)]);
    put(&mut writer, [resource("b", 1)]);
    let known = reader.changes_since(0);
    assert!(known.complete);
    assert_eq!(known.resources.len(), 2);
    put(&mut writer, [resource("b", 2)]);
    let changes = reader.changes_since(known.revision);
    assert!(!changes.complete);
    assert_eq!(changes.resources.iter().map(|r| r.metadata.name.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn equal_object_is_no_change() {
    let (mut writer, reader) = store();
    put(&mut writer, [resource("a", 1)]);
    let before = reader.revision();
    put(&mut writer, [resource("a", 1)]);
    assert_eq!(reader.revision(), before);
}

#[tokio::test]
async fn waiting_reader_is_woken() {
    let (mut writer, reader) = store();
    let waiting = tokio::spawn({
        let reader = reader.clone();
        async move { reader.changed(0).await }
    });
    put(&mut writer, [resource("a", 1)]);
    assert_eq!(waiting.await.unwrap(), 1);
}

#[test]
fn session_comes_when_it_changed() {
    let (mut writer, reader) = store();
    put(&mut writer, [session("one"), resource("a", 1)]);
    assert_eq!(reader.changes_since(0).session.map(|it| it.status.tiltfile_key.clone()), Some("one".into()));
    assert!(reader.changes_since(1).session.is_none());
    put(&mut writer, [session("one"), session("two")]);
    let changes = reader.changes_since(2);
    assert_eq!(changes.session.map(|it| it.status.tiltfile_key.clone()), Some("two".into()));
    assert!(changes.resources.is_empty());
}

#[test]
fn changes_of_other_kinds_are_empty() {
    let (mut writer, reader) = store();
    put(&mut writer, [resource("a", 1)]);
    put(&mut writer, [command("b", "1")]);
    let changes = reader.changes_since(1);
    assert!(changes.is_empty() && changes.revision == 2, "{changes:?}");
}

#[test]
fn reader_that_missed_too_many_deletions_starts_over() {
    let (mut writer, reader) = store();
    put(&mut writer, [resource("stays", 1), resource("goes", 1)]);
    let revision = reader.revision();
    delete(&mut writer, resource_key("goes"));
    assert_eq!(reader.changes_since(revision).removed, ["goes".into()]);
    for number in 0..5_000 {
        let name = number.to_string();
        put(&mut writer, [resource(&name, 1)]);
        delete(&mut writer, resource_key(&name));
    }
    let changes = reader.changes_since(revision);
    assert!(changes.complete && changes.removed.is_empty());
    assert_eq!(changes.resources.len(), 1);
    let recent = reader.changes_since(reader.revision() - 1);
    assert!(!recent.complete && recent.removed == ["4999".into()], "{recent:?}");
}

#[test]
fn position_of_another_session_starts_over() {
    let (mut writer, reader) = store();
    put(&mut writer, [resource("a", 1)]);
    assert!(reader.changes_since(99).complete);
}

#[test]
fn records_of_updates_are_no_change_of_objects() {
    let (mut writer, reader) = store();
    let record = UpdateRecord {
        update: 1,
        cause: String::new(),
        begin: Timestamp::ZERO,
        end: None,
        outcome: Outcome::Running,
        error: None,
        stages: Vec::new(),
    };
    writer.put_record("web".into(), record);
    assert!(reader.timeline(None).is_empty(), "nothing is visible before the commit");
    writer.commit(Timestamp::ZERO);
    assert_eq!((reader.revision(), reader.timeline(Some("web")).len()), (0, 1));
}
