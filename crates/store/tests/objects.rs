//! Readers see exactly what changed since the revision they know.

use std::collections::BTreeMap;

use lilt_api::{ObjectMeta, UIResource, UIResourceStatus};
use lilt_model::ResourceName;
use lilt_store::{Commit, LogWriter, Reader, Writer, open};
use proptest::prelude::*;
use serde_json::json;

fn resource(name: &str, order: i32) -> UIResource {
    UIResource::new(
        ObjectMeta { name: name.into(), ..ObjectMeta::default() },
        UIResourceStatus { order, ..UIResourceStatus::default() },
    )
}

fn store() -> (Writer, Reader) {
    let (_, logs) = LogWriter::open(None, || lilt_model::Timestamp::ZERO);
    open(logs)
}

fn put(writer: &Writer, name: &str, order: i32) {
    writer.commit(Commit { resources: vec![resource(name, order).into()], ..Commit::default() });
}

/// What is done for somebody who has gone can end.
#[tokio::test]
async fn who_asked_and_went_is_noticed() {
    let (mut writer, reader) = store();
    let asker = tokio::spawn(async move { reader.objects(ResourceName::new("web")).await });
    let mut inspection = writer.inspected().await;
    asker.abort();
    inspection.given_up().await;
    inspection.answer(serde_json::Value::Null);
}

#[test]
fn only_what_changed_is_told() {
    let (writer, reader) = store();
    put(&writer, "a", 1);
    put(&writer, "b", 1);
    let known = reader.changes_since(0);
    assert!(known.complete);
    assert_eq!(known.resources.len(), 2);
    put(&writer, "b", 2);
    let changes = reader.changes_since(known.revision);
    assert!(!changes.complete);
    assert_eq!(changes.resources.iter().map(|r| r.metadata.name.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn an_equal_object_is_no_change() {
    let (writer, reader) = store();
    put(&writer, "a", 1);
    let before = reader.revision();
    put(&writer, "a", 1);
    assert_eq!(reader.revision(), before);
}

#[tokio::test]
async fn a_waiting_reader_is_woken() {
    let (writer, reader) = store();
    let waiting = tokio::spawn({
        let reader = reader.clone();
        async move { reader.changed(0).await }
    });
    put(&writer, "a", 1);
    assert_eq!(waiting.await.unwrap(), 1);
}

#[tokio::test]
async fn what_the_cluster_reported_is_known_when_the_writer_is_gone() {
    let (writer, reader) = store();
    writer.leave_notices(vec![(ResourceName::new("web"), json!(["pulled"]))]);
    drop(writer);
    assert_eq!(reader.notices("web".into()).await, Some(json!(["pulled"])));
    assert_eq!(reader.notices("other".into()).await, None);
    assert_eq!(reader.objects("web".into()).await, None, "nobody can ask the cluster");
}

proptest! {
    /// A reader that applies changes at random moments ends up with what a reader of everything sees.
    #[test]
    fn following_gives_what_reading_all_gives(steps in proptest::collection::vec((0u8..8, 0u8..5, any::<bool>()), 1..80)) {
        let (writer, reader) = store();
        let mut followed: BTreeMap<String, i32> = BTreeMap::new();
        let mut revision = 0;
        for (name, order, look) in steps {
            let name = format!("r{name}");
            if order == 0 {
                writer.commit(Commit { removed: vec![ResourceName::new(&name)], ..Commit::default() });
            } else {
                put(&writer, &name, i32::from(order));
            }
            if look {
                revision = follow(&reader, revision, &mut followed);
            }
        }
        follow(&reader, revision, &mut followed);
        let all: BTreeMap<String, i32> = reader
            .changes_since(0)
            .resources
            .iter()
            .map(|r| (r.metadata.name.clone(), r.status.order))
            .collect();
        prop_assert_eq!(followed, all);
    }
}

fn follow(reader: &Reader, revision: u64, known: &mut BTreeMap<String, i32>) -> u64 {
    let changes = reader.changes_since(revision);
    if changes.complete {
        known.clear();
    }
    for name in &changes.removed {
        known.remove(name.as_str());
    }
    for resource in &changes.resources {
        known.insert(resource.metadata.name.clone(), resource.status.order);
    }
    changes.revision
}
