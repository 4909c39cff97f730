//! The table of objects, as its readers see it.

#[path = "objects/changes.rs"]
mod changes;
#[path = "objects/properties.rs"]
mod properties;
#[path = "objects/queries.rs"]
mod queries;
#[path = "objects/table.rs"]
mod table;
#[path = "objects/watch.rs"]
mod watch;

use std::sync::Arc;

use lilt_api::{ObjectKind, ObjectMeta, UIResource, UIResourceStatus};
use lilt_model::Timestamp;
use lilt_store::{Draft, Key, LogWriter, Reader, SessionQueries, Writer, open};

fn store_with_queries() -> (Writer, SessionQueries, Reader) {
    let (_, logs) = LogWriter::open(None, || Timestamp::ZERO);
    open(logs)
}

fn store() -> (Writer, Reader) {
    let (writer, _, reader) = store_with_queries();
    (writer, reader)
}

fn resource(name: &str, order: i32) -> Draft {
    let resource = UIResource::new(
        ObjectMeta { name: name.into(), ..ObjectMeta::default() },
        UIResourceStatus { order, ..UIResourceStatus::default() },
    );
    Draft::resource(Arc::new(resource), None)
}

fn resource_key(name: &str) -> Key {
    Key::new(ObjectKind::UIResource, name)
}

/// A `Cmd` with the uid `uid-NAME`.
fn command(name: &str, spec: &str) -> Draft {
    let metadata = format!("{{\"name\":\"{name}\"}}");
    let rest = format!("{{\"spec\":\"{spec}\"}}");
    Draft::new(command_key(name), Some(&format!("uid-{name}")), &metadata, &rest)
}

fn command_key(name: &str) -> Key {
    Key::new(ObjectKind::Cmd, name)
}

fn put(writer: &mut Writer, drafts: impl IntoIterator<Item = Draft>) {
    drafts.into_iter().for_each(|draft| writer.put(draft));
    writer.commit(Timestamp::ZERO);
}

fn delete(writer: &mut Writer, key: Key) {
    writer.remove(key);
    writer.commit(Timestamp::ZERO);
}
