//! Watch bookmarks: a watcher can resume from the last one.

use futures_util::TryStreamExt as _;
use kube::api::{Api, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use lilt_api::kinds::kinds;
use serde_json::json;

use crate::client::{Session, api, object, version};

/// Returns all events of a watch with a timeout of a second: names, and the version of bookmarks.
async fn watch(
    all: &Api<DynamicObject>,
    parameters: WatchParams,
    from: &str,
) -> (Vec<String>, Vec<(u64, bool)>) {
    let events = all.watch(&parameters.timeout(1), from).await.expect("a watch");
    let (mut names, mut bookmarks) = (Vec::new(), Vec::new());
    let mut events = Box::pin(events);
    while let Some(event) = events.try_next().await.expect("the watch goes on") {
        match event {
            WatchEvent::Bookmark(bookmark) => {
                let at = bookmark.metadata.resource_version.parse().expect("a number");
                let is_end = bookmark.metadata.annotations.contains_key("k8s.io/initial-events-end");
                assert_eq!(bookmark.types.kind, "ConfigMap");
                bookmarks.push((at, is_end));
            }
            WatchEvent::Added(object) => names.push(object.metadata.name.unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }
    (names, bookmarks)
}

#[tokio::test]
async fn a_watch_begins_and_ends_with_a_bookmark_for_those_who_want_it() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    session.lilt.wait_until_ready("one");
    let client = session.client().await;
    let kind = kinds().with_plural("configmaps").expect("a kind");
    let maps = api(&client, kind);
    let made = maps.create(&PostParams::default(), &object(kind, "mine", &json!({"data": {}}))).await;
    let made = version(&made.expect("a creation"));
    let (names, bookmarks) = watch(&maps, WatchParams::default().initial_events(), "0").await;
    assert_eq!(names, ["mine", "one-disable", "tilt-trigger-queue"]);
    let [(begin, true), (end, false)] = bookmarks[..] else { panic!("{bookmarks:?}") };
    assert!(begin >= made && end >= begin, "{made} {bookmarks:?}");
    // The watch resumes there, without repeated or missed events.
    maps.create(&PostParams::default(), &object(kind, "next", &json!({"data": {}})))
        .await
        .expect("a creation");
    let (names, bookmarks) = watch(&maps, WatchParams::default(), &end.to_string()).await;
    assert_eq!(names, ["next"]);
    assert!(matches!(bookmarks[..], [(at, false)] if at > end), "{bookmarks:?}");
    let from = maps.list(&ListParams::default()).await.expect("a list").metadata.resource_version;
    let quiet = watch(&maps, WatchParams::default().disable_bookmarks(), &from.expect("a version")).await;
    assert_eq!(quiet, (Vec::new(), Vec::new()));
    session.lilt.quit();
}
