//! Objects that are stored as structs, because the page and the terminal read them as such.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use lilt_api::{ObjectMeta, UIResource, UIResourceStatus, UISession, UISessionStatus};
use serde::Serialize;
use serde_json::Value;

/// A kind whose objects have only metadata and a status.
pub(crate) trait StatusObject: PartialEq {
    type Status: Serialize;

    fn metadata(&self) -> &ObjectMeta;
    fn status(&self) -> &Self::Status;
}

impl StatusObject for UIResource {
    type Status = UIResourceStatus;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn status(&self) -> &Self::Status {
        &self.status
    }
}

impl StatusObject for UISession {
    type Status = UISessionStatus;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn status(&self) -> &Self::Status {
        &self.status
    }
}

#[derive(Debug)]
pub(crate) struct Typed<T> {
    pub(crate) object: Arc<T>,
    /// The `managedFields` of its metadata, which are not a part of the type.
    managed_fields: Option<Arc<Value>>,
    length: usize,
}

impl<T> Clone for Typed<T> {
    fn clone(&self) -> Self {
        let (object, managed_fields) = (Arc::clone(&self.object), self.managed_fields.clone());
        Self { object, managed_fields, length: self.length }
    }
}

impl<T: StatusObject> PartialEq for Typed<T> {
    fn eq(&self, other: &Self) -> bool {
        // Equal objects have texts of equal length.
        self.length == other.length
            && self.managed_fields == other.managed_fields
            && self.object == other.object
    }
}

impl<T: StatusObject> Typed<T> {
    pub(crate) fn new(object: Arc<T>, managed_fields: Option<Value>) -> Self {
        let mut typed = Self { object, managed_fields: managed_fields.map(Arc::new), length: 0 };
        let mut length = Length(0);
        typed.write(&mut length);
        typed.length = length.0;
        typed
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The JSON text that follows `"metadata":{…,` with what the store adds.
    pub(crate) fn text(&self) -> Arc<str> {
        let mut bytes = Vec::with_capacity(self.length);
        self.write(&mut bytes);
        Arc::from(String::from_utf8(bytes).expect("invariant: JSON is UTF-8"))
    }

    fn write(&self, out: &mut impl Write) {
        self.try_write(out).expect("invariant: these types have a JSON form, and memory can be written to");
    }

    fn try_write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut metadata = serde_json::to_string(&own_metadata(self.object.metadata()))?;
        metadata.pop();
        write!(out, "{}", metadata.trim_start_matches('{'))?;
        if let Some(managed_fields) = &self.managed_fields {
            write!(out, ",\"managedFields\":{managed_fields}")?;
        }
        write!(out, "}},\"spec\":{{}},\"status\":")?;
        serde_json::to_writer(&mut *out, self.object.status())?;
        write!(out, "}}")
    }
}

/// Returns the metadata without what the store adds, which only objects of loaded snapshots have.
fn own_metadata(metadata: &ObjectMeta) -> Cow<'_, ObjectMeta> {
    if metadata.uid.is_empty()
        && metadata.resource_version.is_empty()
        && metadata.creation_timestamp.is_none()
    {
        return Cow::Borrowed(metadata);
    }
    let mut metadata = metadata.clone();
    metadata.uid.clear();
    metadata.resource_version.clear();
    metadata.creation_timestamp = None;
    Cow::Owned(metadata)
}

/// Counts the bytes that are written to it.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(order: i32) -> Arc<UIResource> {
        let labels = [("app".to_owned(), "web".to_owned())].into();
        Arc::new(UIResource::new(
            ObjectMeta { name: "web \"1\"".into(), labels, ..ObjectMeta::default() },
            UIResourceStatus { order, ..UIResourceStatus::default() },
        ))
    }

    #[test]
    fn text_has_metadata_managed_fields_and_status() {
        let typed = Typed::new(resource(3), Some(json!([{"manager": "me"}])));
        let status = serde_json::to_string(&resource(3).status).expect("JSON");
        let expected = format!(
            "\"name\":\"web \\\"1\\\"\",\"labels\":{{\"app\":\"web\"}},\"managedFields\":[{{\"manager\":\"me\"}}]}},\
             \"spec\":{{}},\"status\":{status}}}"
        );
        assert_eq!(*typed.text(), *expected);
        assert_eq!(typed.length(), expected.len());
    }

    #[test]
    fn metadata_that_the_store_adds_is_not_written_twice() {
        let mut object = (*resource(3)).clone();
        object.metadata.uid = "u".into();
        object.metadata.resource_version = "7".into();
        object.metadata.creation_timestamp = Some(lilt_model::Timestamp(1));
        assert_eq!(Typed::new(Arc::new(object), None).text(), Typed::new(resource(3), None).text());
    }

    #[test]
    fn objects_differ_by_content_and_by_managed_fields() {
        let typed = |order, managed_fields| Typed::new(resource(order), managed_fields);
        assert!(typed(1, None) == typed(1, None));
        assert!(typed(1, None) != typed(2, None));
        assert!(typed(1, None) != typed(1, Some(json!([]))));
    }
}
