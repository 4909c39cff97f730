//! Watch events under load, compared with the writes.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::TryStreamExt as _;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use lilt_api::kinds::kinds;
use lilt_e2e::seeded_random::SeededRandom;
use serde_json::json;

use crate::client::{Session, api, object, version};

const WRITERS: u64 = 4;
const WRITES: u64 = 600;
const NAMES: usize = 10;
const LAST: &str = "the-last-one";

/// The last state of an object: its version and value, or deleted.
type Facts = BTreeMap<u64, (String, Option<String>)>;

/// Random writes without pauses; each writer has its own names.
async fn write(maps: Api<DynamicObject>, writer: u64) -> Facts {
    let kind = kinds().with_plural("configmaps").expect("a kind");
    let mut random = SeededRandom::new(writer);
    let mut facts = Facts::new();
    let mut there: BTreeSet<String> = BTreeSet::new();
    for number in 0..WRITES {
        let name = format!("w{writer}-{}", random.below(NAMES));
        let value = number.to_string();
        let data = json!({"data": {"value": value}});
        if !there.contains(&name) {
            let made = maps.create(&PostParams::default(), &object(kind, &name, &data)).await;
            facts.insert(version(&made.expect("a creation")), (name.clone(), Some(value)));
            there.insert(name);
        } else if random.below(4) == 0 {
            let gone = maps.delete(&name, &DeleteParams::default()).await.expect("a deletion");
            // The response lacks the version; the watchers know it.
            drop(gone);
            there.remove(&name);
        } else {
            let patched = maps.patch(&name, &PatchParams::default(), &Patch::Merge(&data)).await;
            facts.insert(version(&patched.expect("a patch")), (name, Some(value)));
        }
    }
    facts
}

/// Watches until the last object arrives. A restless one disconnects and resumes from time to time.
async fn watch(maps: Api<DynamicObject>, mut from: String, restless: Option<u64>) -> Facts {
    let mut random = SeededRandom::new(restless.unwrap_or_default());
    let mut facts = Facts::new();
    loop {
        let mut patience = restless.map_or(usize::MAX, |_| 1 + random.below(200));
        let events = maps.watch(&WatchParams::default(), &from).await.expect("a watch");
        let mut events = Box::pin(events);
        while patience > 0 {
            patience -= 1;
            let Some(event) = events.try_next().await.expect("the watch goes on") else { break };
            let (object, there) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
                WatchEvent::Deleted(object) => (object, false),
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(error) => panic!("{error:?}"),
            };
            let name = object.metadata.name.clone().unwrap_or_default();
            if name == LAST {
                return facts;
            }
            let number = version(&object);
            assert!(from.parse::<u64>().expect("a number") < number, "versions grow: {number} after {from}");
            from = number.to_string();
            // Objects of the session itself, which may appear late.
            if name == "one-disable" {
                continue;
            }
            let value =
                object.data.pointer("/data/value").and_then(|value| value.as_str()).map(str::to_owned);
            let known = facts.insert(number, (name, value.filter(|_| there)));
            assert!(known.is_none(), "{number} came twice");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_missed_and_nothing_comes_twice() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let client = session.client().await;
    let kind = kinds().with_plural("configmaps").expect("a kind");
    let maps = api(&client, kind);
    let from = maps.list(&ListParams::default()).await.expect("a list").metadata.resource_version;
    let from = from.expect("a version");
    let steady = (0..4).map(|_| tokio::spawn(watch(maps.clone(), from.clone(), None)));
    let restless = (1..5).map(|salt| tokio::spawn(watch(maps.clone(), from.clone(), Some(salt))));
    let watchers: Vec<_> = steady.chain(restless).collect();
    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(maps.clone(), writer))).collect();
    let mut written = Facts::new();
    for writer in writers {
        written.extend(writer.await.expect("a writer"));
    }
    maps.create(&PostParams::default(), &object(kind, LAST, &json!({"data": {}})))
        .await
        .expect("the last one");
    let mut seen = Vec::new();
    for watcher in watchers {
        seen.push(watcher.await.expect("a watcher"));
    }
    for other in &seen[1..] {
        assert_eq!(*other, seen[0], "all see the same");
    }
    let kept: Facts =
        seen[0].iter().filter(|(_, (_, value))| value.is_some()).map(|(at, it)| (*at, it.clone())).collect();
    assert_eq!(kept, written, "what was written is what was seen");
    check_chain(&seen[0]);
    session.lilt.quit();
}

/// Between two deletions of an object there must be a creation.
fn check_chain(facts: &Facts) {
    let mut there = BTreeSet::new();
    for (name, value) in facts.values() {
        match value {
            Some(_) => {
                there.insert(name);
            }
            None => assert!(there.remove(name), "{name} was deleted and not there"),
        }
    }
}
