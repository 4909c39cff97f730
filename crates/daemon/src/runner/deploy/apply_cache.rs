//! Remembers across sessions what was applied: unchanged objects are not applied again.
//!
//! A lost or unreadable entry costs one apply.

use std::collections::HashMap;
use std::path::PathBuf;

use lilt_cluster::{Applied, KnownObject};
use lilt_host::{environment, files};
use lilt_model::ResourceName;
use lilt_model::kubernetes::ObjectRef;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::Context;

/// The cache file of one resource.
pub(super) struct ApplyCache {
    /// None if there is no cache folder.
    path: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    object: ObjectRef,
    manifest: String,
    mark: String,
}

impl ApplyCache {
    /// Returns the cache of a resource of this session's Tiltfile in a cluster.
    pub(super) fn of(context: &Context, resource: &ResourceName, server: &str) -> Self {
        let settings = &context.settings;
        let key = json!([settings.tiltfile, server, settings.namespace, resource]);
        let name = lilt_cluster::digest(&key);
        let folder = environment::cache_folder().map(|cache| cache.join("applied"));
        Self { path: folder.map(|folder| folder.join(name)) }
    }

    pub(super) fn read(&self) -> HashMap<ObjectRef, KnownObject> {
        let text = self.path.as_deref().and_then(files::read).unwrap_or_default();
        let entries: Vec<Entry> = serde_json::from_slice(&text).unwrap_or_default();
        let pair = |Entry { object, manifest, mark }| (object, KnownObject { manifest, fingerprint: mark });
        entries.into_iter().map(pair).collect()
    }

    /// Writes the state after an apply. Keys are as in the manifest: without a namespace if it has none.
    pub(super) fn write(
        &self,
        before: &HashMap<ObjectRef, KnownObject>,
        objects: &[Value],
        applied: &[Applied],
    ) {
        let named = objects.iter().filter_map(ObjectRef::of).zip(applied);
        let now: HashMap<ObjectRef, KnownObject> = named
            .map(|(object, applied)| {
                let (manifest, mark) = (applied.manifest.clone(), applied.fingerprint.clone());
                (object, KnownObject { manifest, fingerprint: mark })
            })
            .collect();
        let Some(path) = self.path.as_deref().filter(|_| now != *before) else { return };
        let entry = |(object, it): (ObjectRef, KnownObject)| Entry {
            object,
            manifest: it.manifest,
            mark: it.fingerprint,
        };
        let entries: Vec<Entry> = now.into_iter().map(entry).collect();
        let saved = serde_json::to_vec(&entries).map_err(std::io::Error::other);
        if let Err(error) = saved.and_then(|text| files::save_private(path, &text)) {
            tracing::warn!(%error, path = %path.display(), "what was applied is not remembered");
        }
    }
}
