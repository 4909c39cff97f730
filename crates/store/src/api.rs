//! The objects of the API: all kinds in one sequence of versions, with the newest changes for those who watch.
//!
//! An object is kept as text. Every change is written out once, whoever reads it; a watcher holds a place in the
//! sequence and nothing else, so that a slow one costs nothing and one that fell behind what is remembered starts anew.

mod tail;

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::{Arc, PoisonError, RwLock};

use lilt_model::Timestamp;
use tokio::sync::watch;

use tail::{Forms, Tail};

/// How much of the newest changes is remembered, in bytes.
const REMEMBERED: usize = 2 * 1024 * 1024;

/// Which object: its kind and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub kind: &'static str,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(kind: &'static str, name: &str) -> Self {
        Self { kind, name: Arc::from(name) }
    }
}

/// An object as it is to be shown, without what the store adds: uid, version and time of creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub key: Key,
    /// Only counts for an object that is not there yet; without one the store makes one.
    pub uid: Option<Arc<str>>,
    /// What it belongs to. Written out for those who read it, if that is there: most objects have one, and never are asked.
    owner: Option<Key>,
    /// The word by which its text differs from those of others.
    word: Option<Arc<str>>,
    /// What follows in the text behind `"metadata":{"creationTimestamp":…,`; see [`Draft::new`].
    tail: Arc<str>,
}

impl Draft {
    /// `metadata` and `rest` are the members of the object's metadata (with the name, without what the store adds) and
    /// of the object itself (`spec`, `status` …), written as JSON objects.
    pub fn new(key: Key, uid: Option<&str>, metadata: &str, rest: &str) -> Self {
        let inner = |object: &str| object.trim().trim_start_matches('{').to_owned();
        let metadata = inner(metadata);
        let rest = inner(rest);
        let comma = if rest.starts_with('}') { "" } else { "," };
        let tail = Arc::from(format!("{metadata}{comma}{rest}"));
        Self { key, uid: uid.map(Arc::from), owner: None, word: None, tail }
    }

    /// `metadata` must not name owners then.
    #[must_use]
    pub fn owned_by(self, owner: Option<Key>) -> Self {
        Self { owner, ..self }
    }

    /// There are many objects like it, that differ in nothing but this word of their names.
    #[must_use]
    pub fn alike_but_for(self, word: &str) -> Self {
        Self { word: Some(Arc::from(word)), ..self }
    }
}

/// An object as it was at a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub key: Key,
    pub uid: Arc<str>,
    pub version: u64,
    /// The whole object as JSON.
    pub text: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    Added,
    Modified,
    Deleted,
}

/// One change, as watchers see it.
#[derive(Clone, Debug)]
pub struct Change {
    pub happening: Happening,
    pub object: Snapshot,
    /// The object before, if it was there.
    pub before: Option<Arc<str>>,
}

/// The version asked for is older than what is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The newest version there is.
    pub newest: u64,
}

/// The kind whose objects end with a list that is told piece by piece: with a thousand pieces, a change of one must not
/// write them all. Its text is put together for those who read it, and its changes are told as the newest state.
const PIECED: &str = "Session";

#[derive(Debug, Default)]
struct Pieces {
    /// By owner: members of the list.
    texts: BTreeMap<Arc<str>, Arc<str>>,
    version: u64,
}

/// Most objects are never asked for theirs: one of ours is written out for those who read it.
#[derive(Clone, Debug)]
enum Uid {
    Given(Arc<str>),
    Random(u64, u64),
}

impl Uid {
    fn random() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        Self::Random(random(), random())
    }

    fn text(&self) -> Arc<str> {
        match self {
            Self::Given(uid) => Arc::clone(uid),
            Self::Random(one, other) => {
                let (high, middle, low) = (one >> 32, (one >> 16) & 0xffff, one & 0xfff);
                let (variant, node) = ((other >> 48) & 0x3fff | 0x8000, other & 0xffff_ffff_ffff);
                Arc::from(format!("{high:08x}-{middle:04x}-4{low:03x}-{variant:04x}-{node:012x}"))
            }
        }
    }
}

#[derive(Debug)]
struct Entry {
    uid: Uid,
    created: Timestamp,
    version: u64,
    owner: Option<Arc<Key>>,
    tail: Tail,
}

#[derive(Debug, Default)]
struct Inner {
    version: u64,
    objects: BTreeMap<Key, Entry>,
    /// Each once: a thousand objects have the same.
    owners: BTreeSet<Arc<Key>>,
    forms: Forms,
    history: VecDeque<Arc<Change>>,
    history_size: usize,
    /// Changes up to this version may have been forgotten.
    forgotten: u64,
    pieces: Pieces,
}

/// Makes an empty table of objects. The writer is unique.
pub fn open() -> (ApiWriter, ApiReader) {
    let inner = Arc::new(RwLock::new(Inner::default()));
    let (announce, announced) = watch::channel(0);
    (ApiWriter { inner: Arc::clone(&inner), announce }, ApiReader { inner, announced })
}

#[derive(Debug)]
pub struct ApiWriter {
    inner: Arc<RwLock<Inner>>,
    announce: watch::Sender<u64>,
}

impl ApiWriter {
    /// Puts and removes objects, and pieces of the session's list, in one step; what is as it was is no change. Each
    /// change gets a version of its own.
    pub fn commit(
        &self,
        now: Timestamp,
        put: impl IntoIterator<Item = Draft>,
        removed: impl IntoIterator<Item = Key>,
        pieces: impl IntoIterator<Item = (Arc<str>, Option<Arc<str>>)>,
    ) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let before = inner.version;
        for key in removed {
            inner.remove(&key);
        }
        for draft in put {
            inner.put(now, draft);
        }
        for (owner, piece) in pieces {
            inner.tell(owner, piece);
        }
        let version = inner.version;
        drop(inner);
        if version > before {
            self.announce.send_replace(version);
        }
    }
}

impl Inner {
    fn tell(&mut self, owner: Arc<str>, piece: Option<Arc<str>>) {
        let changed = match piece.filter(|piece| !piece.is_empty()) {
            Some(piece) if self.pieces.texts.get(&owner) == Some(&piece) => false,
            Some(piece) => {
                self.pieces.texts.insert(owner, piece);
                true
            }
            None => self.pieces.texts.remove(&owner).is_some(),
        };
        if changed {
            self.version += 1;
            self.pieces.version = self.version;
        }
    }

    fn snapshot(&self, key: &Key, entry: &Entry) -> Snapshot {
        if key.kind != PIECED {
            return self.plain_snapshot(key, entry);
        }
        let version = entry.version.max(self.pieces.version);
        let whole = self.text(key, entry, version);
        // The list is the last of the last: what follows its members closes it.
        const END: &str = "]}}";
        let begin = whole.strip_suffix(END).unwrap_or(&whole);
        let pieces: Vec<&str> = self.pieces.texts.values().map(|piece| &**piece).collect();
        let comma = if begin.ends_with('[') || pieces.is_empty() { "" } else { "," };
        let text = Arc::from(format!("{begin}{comma}{}{END}", pieces.join(",")));
        Snapshot { key: key.clone(), uid: entry.uid.text(), version, text }
    }

    /// The newest state of objects that are told piece by piece, if it is newer.
    fn pieced_changes(&self, after: u64) -> Vec<Arc<Change>> {
        let objects = self.objects.range(Key::new(PIECED, "")..).take_while(|(key, _)| key.kind == PIECED);
        let newer = objects.map(|(key, entry)| self.snapshot(key, entry)).filter(|it| it.version > after);
        let changed = |object| Change { happening: Happening::Modified, object, before: None };
        newer.map(|object| Arc::new(changed(object))).collect()
    }

    fn put(&mut self, now: Timestamp, draft: Draft) {
        let owner = draft.owner.map(|owner| self.shared(owner));
        let known = self.objects.get(&draft.key);
        let is_same = |known: &Entry| known.owner == owner && known.tail.text(&draft.key.name) == draft.tail;
        if known.is_some_and(is_same) {
            return;
        }
        self.version += 1;
        let (uid, created) = match known {
            Some(known) => (known.uid.clone(), known.created),
            None => (draft.uid.map_or_else(Uid::random, Uid::Given), now),
        };
        let before = known.map(|known| self.text(&draft.key, known, known.version));
        let tail = self.forms.tail(draft.tail, &draft.key.name, draft.word.as_deref());
        let entry = Entry { uid, created, version: self.version, owner, tail };
        let happening = if before.is_some() { Happening::Modified } else { Happening::Added };
        if draft.key.kind != PIECED {
            self.remember(Change { happening, object: self.plain_snapshot(&draft.key, &entry), before });
        }
        if let Some(former) = self.objects.insert(draft.key, entry) {
            self.forms.forget(former.tail);
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(mut entry) = self.objects.remove(key) else { return };
        let before = Some(self.text(key, &entry, entry.version));
        self.version += 1;
        entry.version = self.version;
        let object = self.plain_snapshot(key, &entry);
        self.remember(Change { happening: Happening::Deleted, object, before });
        self.forms.forget(entry.tail);
    }

    fn shared(&mut self, owner: Key) -> Arc<Key> {
        if let Some(known) = self.owners.get(&owner) {
            return Arc::clone(known);
        }
        let owner = Arc::new(owner);
        self.owners.insert(Arc::clone(&owner));
        owner
    }

    fn plain_snapshot(&self, key: &Key, entry: &Entry) -> Snapshot {
        let text = self.text(key, entry, entry.version);
        Snapshot { key: key.clone(), uid: entry.uid.text(), version: entry.version, text }
    }

    fn text(&self, key: &Key, entry: &Entry, version: u64) -> Arc<str> {
        let (created, uid) = (entry.created.whole_seconds(), entry.uid.text());
        let tail = entry.tail.text(&key.name);
        let kind = key.kind;
        let owner = entry.owner.as_ref().and_then(|owner| self.reference(owner)).unwrap_or_default();
        Arc::from(format!(
            "{{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"{kind}\",\"metadata\":{{\"creationTimestamp\":\"{created}\",\
             \"resourceVersion\":\"{version}\",\"uid\":\"{uid}\",{owner}{tail}"
        ))
    }

    /// The member of the metadata that names an owner; none while that is not there.
    fn reference(&self, owner: &Key) -> Option<String> {
        let uid = self.objects.get(owner)?.uid.text();
        let (kind, name) = (owner.kind, serde_json::Value::from(&*owner.name));
        Some(format!(
            "\"ownerReferences\":[{{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"{kind}\",\"name\":{name},\
             \"uid\":\"{uid}\",\"controller\":true,\"blockOwnerDeletion\":true}}],"
        ))
    }

    /// And forgets at once what is too much: a commit may be much larger than what is remembered.
    fn remember(&mut self, change: Change) {
        self.history_size += size(&change);
        self.history.push_back(Arc::new(change));
        while self.history_size > REMEMBERED {
            let Some(oldest) = self.history.pop_front() else { break };
            self.history_size -= size(&oldest);
            self.forgotten = oldest.object.version;
        }
    }
}

/// A random one, in the form of a UUID.
pub fn new_uid() -> Arc<str> {
    Uid::random().text()
}

fn size(change: &Change) -> usize {
    change.object.text.len() + change.before.as_ref().map_or(0, |before| before.len())
}

#[derive(Clone, Debug)]
pub struct ApiReader {
    inner: Arc<RwLock<Inner>>,
    announced: watch::Receiver<u64>,
}

impl ApiReader {
    /// The version of the newest change.
    pub fn version(&self) -> u64 {
        *self.announced.borrow()
    }

    /// Waits until there is a version after this one. Never returns once the writer is gone.
    pub async fn changed(&self, after: u64) -> u64 {
        let mut announced = self.announced.clone();
        let found = announced.wait_for(|version| *version > after).await.map(|found| *found);
        match found {
            Ok(found) => found,
            Err(_) => std::future::pending().await,
        }
    }

    pub fn get(&self, key: &Key) -> Option<Snapshot> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.objects.get(key).map(|entry| inner.snapshot(key, entry))
    }

    /// The objects of a kind by name, from behind `after` on, at most so many; and the version at which this is so.
    pub fn list(&self, kind: &'static str, after: Option<&str>, at_most: usize) -> (u64, Vec<Snapshot>) {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let from = Key::new(kind, after.unwrap_or_default());
        let objects = inner.objects.range(from..).take_while(|(key, _)| key.kind == kind);
        let objects = objects.filter(|(key, _)| after.is_none_or(|after| *key.name != *after));
        (inner.version, objects.take(at_most).map(|(key, entry)| inner.snapshot(key, entry)).collect())
    }

    /// How many objects of a kind there are.
    pub fn count(&self, kind: &'static str) -> usize {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.objects.range(Key::new(kind, "")..).take_while(|(key, _)| key.kind == kind).count()
    }

    /// The changes to objects of a kind after a version, and the version up to which that is all.
    pub fn changes(&self, kind: &'static str, after: u64) -> Result<(u64, Vec<Arc<Change>>), Expired> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        if after < inner.forgotten || after > inner.version {
            return Err(Expired { newest: inner.version });
        }
        if kind == PIECED {
            return Ok((inner.version, inner.pieced_changes(after)));
        }
        let first = inner.history.partition_point(|change| change.object.version <= after);
        let changes = inner.history.range(first..).filter(|change| change.object.key.kind == kind);
        Ok((inner.version, changes.cloned().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(name: &str, spec: &str) -> Draft {
        let metadata = format!("{{\"name\":\"{name}\"}}");
        Draft::new(
            Key::new("Cmd", name),
            Some(&format!("uid-{name}")),
            &metadata,
            &format!("{{\"spec\":\"{spec}\"}}"),
        )
    }

    fn names(objects: &[Snapshot]) -> Vec<&str> {
        objects.iter().map(|object| &*object.key.name).collect()
    }

    #[test]
    fn objects_are_whole_and_versions_grow() {
        let (writer, reader) = open();
        let at = Timestamp(1_500_000);
        writer.commit(at, [draft("a", "1"), draft("b", "1")], [], []);
        writer.commit(at, [draft("a", "1")], [], []);
        assert_eq!(reader.version(), 2, "what is as it was is no change");
        writer.commit(Timestamp(9_000_000), [draft("a", "2")], [], []);
        let object = reader.get(&Key::new("Cmd", "a")).expect("it is there");
        assert_eq!(
            &*object.text,
            "{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"Cmd\",\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:01Z\",\
             \"resourceVersion\":\"3\",\"uid\":\"uid-a\",\"name\":\"a\"},\"spec\":\"2\"}"
        );
        let no_rest = Draft::new(Key::new("Cmd", "c"), Some("u"), "{\"name\":\"c\"}", "{}");
        writer.commit(at, [no_rest], [], []);
        assert!(reader.get(&Key::new("Cmd", "c")).expect("it is there").text.ends_with("\"name\":\"c\"}}"));
    }

    #[test]
    fn the_session_is_put_together_from_its_pieces() {
        let (writer, reader) = open();
        let key = Key::new("Session", "Tiltfile");
        let rest = "{\"status\":{\"targets\":[1]}}";
        let draft = Draft::new(key.clone(), Some("u"), "{\"name\":\"Tiltfile\"}", rest);
        writer.commit(Timestamp::ZERO, [draft], [], []);
        let piece = |text: &str| Some(Arc::from(text));
        writer.commit(
            Timestamp::ZERO,
            [],
            [],
            [(Arc::from("b"), piece("3,4")), (Arc::from("a"), piece("2"))],
        );
        let session = reader.get(&key).expect("it is there");
        assert!(session.text.ends_with("{\"targets\":[1,2,3,4]}}"), "{}", session.text);
        let (version, changes) = reader.changes("Session", 1).expect("all is remembered");
        assert_eq!((version, changes.len(), changes[0].object.version), (3, 1, 3));
        writer.commit(Timestamp::ZERO, [], [], [(Arc::from("b"), None), (Arc::from("a"), piece("2"))]);
        assert!(reader.get(&key).expect("it is there").text.ends_with("[1,2]}}"));
        assert!(reader.changes("Session", 4).expect("nothing since").1.is_empty());
    }

    #[test]
    fn an_object_names_its_owner_as_long_as_that_is_there() {
        let (writer, reader) = open();
        let owner = || Some(Key::new("Cmd", "a"));
        let names_owner = || {
            reader.get(&Key::new("Cmd", "b")).expect("it is there").text.contains(
            "\"uid\":\"uid-b\",\"ownerReferences\":[{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"Cmd\",\
             \"name\":\"a\",\"uid\":\"uid-a\",\"controller\":true,\"blockOwnerDeletion\":true}],\"name\":\"b\"",
        )
        };
        writer.commit(Timestamp::ZERO, [draft("b", "").owned_by(owner())], [], []);
        assert!(!names_owner());
        writer.commit(Timestamp::ZERO, [draft("a", ""), draft("b", "").owned_by(owner())], [], []);
        assert!(names_owner());
        writer.commit(Timestamp::ZERO, [], [Key::new("Cmd", "a")], []);
        assert!(!names_owner());
    }

    #[test]
    fn lists_come_in_pages_of_one_kind() {
        let (writer, reader) = open();
        writer.commit(Timestamp::ZERO, [draft("a", ""), draft("b", ""), draft("c", "")], [], []);
        writer.commit(
            Timestamp::ZERO,
            [Draft::new(Key::new("ConfigMap", "x"), Some("u"), "{\"name\":\"x\"}", "{}")],
            [],
            [],
        );
        let (version, page) = reader.list("Cmd", None, 2);
        assert_eq!((version, names(&page)), (4, vec!["a", "b"]));
        assert_eq!(names(&reader.list("Cmd", Some("b"), 2).1), ["c"]);
        assert_eq!((reader.count("Cmd"), reader.count("ConfigMap"), reader.count("UIButton")), (3, 1, 0));
    }

    #[test]
    fn watchers_see_every_change_until_they_fall_behind() {
        let (writer, reader) = open();
        writer.commit(Timestamp::ZERO, [draft("a", "1")], [], []);
        writer.commit(Timestamp::ZERO, [draft("a", "2")], [], []);
        writer.commit(Timestamp::ZERO, [], [Key::new("Cmd", "a"), Key::new("Cmd", "unknown")], []);
        let (version, changes) = reader.changes("Cmd", 0).expect("all is remembered");
        let seen: Vec<_> = changes.iter().map(|change| (change.happening, change.object.version)).collect();
        assert_eq!(version, 3);
        assert_eq!(seen, [(Happening::Added, 1), (Happening::Modified, 2), (Happening::Deleted, 3)]);
        assert!(reader.changes("Cmd", 3).expect("nothing since").1.is_empty());
        assert_eq!(reader.changes("Cmd", 4).map(|_| ()), Err(Expired { newest: 3 }), "of another session");
        let big = "x".repeat(REMEMBERED / 3);
        for round in 0..4 {
            writer.commit(Timestamp::ZERO, [draft("b", &format!("{big}{round}"))], [], []);
        }
        assert_eq!(reader.changes("Cmd", 3).map(|_| ()), Err(Expired { newest: 7 }));
        assert_eq!(reader.changes("Cmd", 6).expect("the newest is remembered").1.len(), 1);
    }
}
