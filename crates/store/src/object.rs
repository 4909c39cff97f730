//! One object: as the writer stages it, as the table stores it, and as readers get it.
//!
//! An object has one body, either text or a typed struct. Typed objects are written as JSON only when they are read
//! through the object API, so that none is in memory twice.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use lilt_api::{ObjectKind, UIResource, UISession};
use lilt_model::Timestamp;
use serde_json::Value;

use crate::template::Template;
use crate::typed::Typed;

/// Identifies an object by its kind and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub kind: ObjectKind,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(kind: ObjectKind, name: &str) -> Self {
        Self { kind, name: Arc::from(name) }
    }
}

/// A new state of an object, without what the store adds: uid, version and time of creation.
#[derive(Clone, Debug)]
pub struct Draft {
    pub key: Key,
    pub(crate) uid: Option<Arc<str>>,
    pub(crate) owner: Option<Key>,
    pub(crate) distinct_word: Option<Arc<str>>,
    pub(crate) body: Body,
}

impl Draft {
    /// Creates a draft of an object that is stored as text.
    ///
    /// `metadata` and `rest` are the members of the object's metadata (with the name, without what the store adds) and
    /// of the object itself (`spec`, `status` …), written as JSON objects. `uid` only counts for an object that does not
    /// exist yet; without one the store generates it.
    pub fn new(key: Key, uid: Option<&str>, metadata: &str, rest: &str) -> Self {
        let inner = |object: &str| object.trim().trim_start_matches('{').to_owned();
        let (metadata, rest) = (inner(metadata), inner(rest));
        let comma = if rest.starts_with('}') { "" } else { "," };
        let text = Arc::from(format!("{metadata}{comma}{rest}"));
        Self { key, uid: uid.map(Arc::from), owner: None, distinct_word: None, body: Body::Text(text) }
    }

    /// Creates a draft of a resource. `managed_fields` is the part of its metadata that the type does not have.
    pub fn resource(resource: Arc<UIResource>, managed_fields: Option<Value>) -> Self {
        let key = Key::new(ObjectKind::UIResource, &resource.metadata.name);
        let body = Body::Resource(Typed::new(resource, managed_fields));
        Self { key, uid: None, owner: None, distinct_word: None, body }
    }

    /// Creates a draft of the session, like [`Draft::resource`].
    pub fn session(session: Arc<UISession>, managed_fields: Option<Value>) -> Self {
        let key = Key::new(ObjectKind::UISession, &session.metadata.name);
        let body = Body::Session(Typed::new(session, managed_fields));
        Self { key, uid: None, owner: None, distinct_word: None, body }
    }

    /// Sets the owner, which is in `ownerReferences` while it exists. The draft's metadata must not have owners then.
    #[must_use]
    pub fn owned_by(self, owner: Option<Key>) -> Self {
        Self { owner, ..self }
    }

    /// Declares that many objects have the same text except for this word, which is a part of their names.
    #[must_use]
    pub fn alike_but_for(self, word: &str) -> Self {
        Self { distinct_word: Some(Arc::from(word)), ..self }
    }
}

/// The content of an object that the writer determines.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// The JSON text that follows `"metadata":{…,` with what the store adds.
    Text(Arc<str>),
    /// The same, stored once for all objects that differ in one word.
    Template(Template),
    Resource(Typed<UIResource>),
    Session(Typed<UISession>),
}

impl Body {
    /// Returns whether two bodies of the object `name` are equal.
    pub(crate) fn is_same(&self, other: &Body, name: &str) -> bool {
        match (self, other) {
            (Body::Resource(one), Body::Resource(other)) => one == other,
            (Body::Session(one), Body::Session(other)) => one == other,
            (Body::Template(one), Body::Template(other)) if one.is_same(other) => true,
            (one, other) => one.is_typed() == other.is_typed() && one.text(name) == other.text(name),
        }
    }

    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Body::Resource(_) | Body::Session(_))
    }

    /// Returns the approximate length of its text, without writing it.
    pub(crate) fn length(&self) -> usize {
        match self {
            Body::Text(text) => text.len(),
            Body::Template(template) => template.length(),
            Body::Resource(resource) => resource.length(),
            Body::Session(session) => session.length(),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Arc<str> {
        match self {
            Body::Text(text) => Arc::clone(text),
            Body::Template(template) => template.text(name),
            Body::Resource(resource) => resource.text(),
            Body::Session(session) => session.text(),
        }
    }
}

/// A uid. Most are never read, so a generated one is stored as numbers.
#[derive(Clone, Debug)]
pub(crate) enum Uid {
    Given(Arc<str>),
    Random(u64, u64),
}

impl Uid {
    pub(crate) fn random() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        Self::Random(random(), random())
    }

    pub(crate) fn text(&self) -> Arc<str> {
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

/// Generates a random uid in the form of a UUID.
pub fn new_uid() -> Arc<str> {
    Uid::random().text()
}

/// An object as it was at a version.
///
/// Its JSON is written when it is first asked for, and not while the store is locked.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub key: Key,
    pub version: u64,
    pub(crate) uid: Uid,
    pub(crate) created: Timestamp,
    /// The owner with its uid, if it existed.
    pub(crate) owner: Option<(Arc<Key>, Uid)>,
    pub(crate) body: Body,
    pub(crate) text: OnceLock<Arc<str>>,
}

impl Snapshot {
    pub fn uid(&self) -> Arc<str> {
        self.uid.text()
    }

    /// Returns the whole object as JSON.
    pub fn text(&self) -> &Arc<str> {
        self.text.get_or_init(|| self.write())
    }

    /// Returns the approximate length of [`Snapshot::text`].
    pub(crate) fn length(&self) -> usize {
        /// `apiVersion`, `kind` and what the store adds to the metadata.
        const HEAD: usize = 200;
        HEAD + self.body.length()
    }

    fn write(&self) -> Arc<str> {
        let Key { kind, name } = &self.key;
        let (created, version, uid) = (self.created.whole_seconds(), self.version, self.uid());
        let owner = self.owner.as_ref().map(owner_reference).unwrap_or_default();
        let body = self.body.text(name);
        Arc::from(format!(
            "{{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"{kind}\",\"metadata\":{{\"creationTimestamp\":\"{created}\",\
             \"resourceVersion\":\"{version}\",\"uid\":\"{uid}\",{owner}{body}"
        ))
    }
}

/// Returns the member of the metadata with the owner.
fn owner_reference((owner, uid): &(Arc<Key>, Uid)) -> String {
    let (kind, name, uid) = (owner.kind, Value::from(&*owner.name), uid.text());
    format!(
        "\"ownerReferences\":[{{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"{kind}\",\"name\":{name},\
         \"uid\":\"{uid}\",\"controller\":true,\"blockOwnerDeletion\":true}}],"
    )
}
