//! Readers that follow changes end with the same state as readers of everything, whenever they read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use lilt_api::ObjectKind;
use lilt_model::Timestamp;
use lilt_store::{Key, Reader, WatchEventType, Writer};
use proptest::prelude::*;

use super::{command, command_key, put, resource, resource_key, store};

const KINDS: [ObjectKind; 2] = [ObjectKind::UIResource, ObjectKind::Cmd];

/// What one change of a commit does.
#[derive(Clone, Debug)]
struct Step {
    is_typed: bool,
    name: u8,
    /// None deletes.
    content: Option<u8>,
    /// Long ones make readers fall behind.
    is_long: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (any::<bool>(), 0u8..6, proptest::option::weighted(0.8, 0u8..4), proptest::bool::weighted(0.1));
    let step = step.prop_map(|(is_typed, name, content, is_long)| Step { is_typed, name, content, is_long });
    proptest::collection::vec(step, 1..5)
}

fn apply(writer: &mut Writer, steps: &[Step]) {
    for Step { is_typed, name, content, is_long } in steps {
        let name = format!("r{name}");
        match content {
            None if *is_typed => writer.remove(resource_key(&name)),
            None => writer.remove(command_key(&name)),
            Some(content) if *is_typed => writer.put(resource(&name, i32::from(*content))),
            Some(content) => {
                let padding = if *is_long { 400_000 } else { 1 };
                writer.put(command(&name, &content.to_string().repeat(padding)));
            }
        }
    }
    writer.commit(Timestamp::ZERO);
}

/// A watcher of the object API: the texts of all objects by key, and the version up to which it knows.
#[derive(Default)]
struct Watcher {
    objects: BTreeMap<Key, String>,
    versions: BTreeMap<ObjectKind, u64>,
}

impl Watcher {
    fn follow(&mut self, reader: &Reader) {
        for kind in KINDS {
            let events = self.versions.get(&kind).and_then(|from| reader.events_since(kind, *from).ok());
            let Some((version, events)) = events else {
                self.list(reader, kind);
                continue;
            };
            for event in events {
                let (key, text) = (event.object.key.clone(), event.object.text().to_string());
                let known = match event.event_type {
                    WatchEventType::Deleted => self.objects.remove(&key),
                    WatchEventType::Added | WatchEventType::Modified => self.objects.insert(key, text),
                };
                let before = event.before.as_ref().map(|before| before.text().to_string());
                assert_eq!(before, known, "{:?}", event.event_type);
                assert_eq!(known.is_none(), event.event_type == WatchEventType::Added);
            }
            self.versions.insert(kind, version);
        }
    }

    /// Starts over.
    fn list(&mut self, reader: &Reader, kind: ObjectKind) {
        let (version, objects) = reader.list(kind, None, usize::MAX);
        self.objects.retain(|key, _| key.kind != kind);
        self.objects.extend(objects.into_iter().map(|it| (it.key.clone(), it.text().to_string())));
        self.versions.insert(kind, version);
    }
}

/// A page: the orders of all resources.
#[derive(Default)]
struct Page {
    orders: BTreeMap<String, i32>,
    revision: u64,
}

impl Page {
    fn follow(&mut self, reader: &Reader) {
        let changes = reader.changes_since(self.revision);
        if changes.complete {
            self.orders.clear();
        }
        for name in &changes.removed {
            self.orders.remove(name.as_str());
        }
        for resource in &changes.resources {
            self.orders.insert(resource.metadata.name.clone(), resource.status.order);
        }
        self.revision = changes.revision;
    }
}

proptest! {
    /// Page and watcher start at any revision, skip any number of changes, and end with the same state.
    #[test]
    fn following_equals_reading_everything(
        commits in proptest::collection::vec((steps(), any::<bool>()), 1..40),
    ) {
        let (mut writer, reader) = store();
        let (mut page, mut watcher) = (Page::default(), Watcher::default());
        for (steps, is_followed) in &commits {
            apply(&mut writer, steps);
            if *is_followed {
                page.follow(&reader);
                watcher.follow(&reader);
            }
        }
        page.follow(&reader);
        watcher.follow(&reader);
        let mut expected = Page::default();
        expected.follow(&reader);
        prop_assert_eq!(&page.orders, &expected.orders);
        let mut listed = Watcher::default();
        KINDS.into_iter().for_each(|kind| listed.list(&reader, kind));
        prop_assert_eq!(&watcher.objects, &listed.objects);
        // Both kinds of readers see the same resources.
        let watched: Vec<&str> =
            listed.objects.keys().filter(|key| key.kind == ObjectKind::UIResource).map(|key| &*key.name).collect();
        prop_assert_eq!(watched, expected.orders.keys().map(String::as_str).collect::<Vec<_>>());
    }

    /// Whatever position the events are read from, they lead to the newest state.
    #[test]
    fn events_from_any_position_lead_to_the_newest_state(
        commits in proptest::collection::vec(steps(), 1..20),
        position in any::<prop::sample::Index>(),
    ) {
        let (mut writer, reader) = store();
        let mut states = Vec::new();
        for steps in &commits {
            apply(&mut writer, steps);
            let mut watcher = Watcher::default();
            watcher.follow(&reader);
            states.push(watcher);
        }
        let index = position.index(states.len());
        let mut watcher = states.swap_remove(index);
        watcher.follow(&reader);
        let mut listed = Watcher::default();
        KINDS.into_iter().for_each(|kind| listed.list(&reader, kind));
        prop_assert_eq!(watcher.objects, listed.objects);
    }
}

/// Readers on other threads see all of a commit or nothing of it.
#[test]
fn commit_is_visible_in_one_step() {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let (mut writer, reader) = store();
    put(&mut writer, NAMES.map(|name| resource(name, 0)));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut page = Page::default();
            while !is_over.load(Ordering::Relaxed) {
                page.follow(&reader);
                let orders: Vec<i32> = page.orders.values().copied().collect();
                assert!(orders.iter().all(|order| *order == orders[0]), "{orders:?}");
                let (version, objects) = reader.list(ObjectKind::UIResource, None, usize::MAX);
                assert_eq!(objects.iter().map(|object| object.version).max(), Some(version));
                assert_eq!(version % 3, 0, "a position between two changes of a commit");
            }
        });
        for order in 1..2_000 {
            put(&mut writer, NAMES.map(|name| resource(name, order)));
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
