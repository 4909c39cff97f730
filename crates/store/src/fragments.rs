//! An object that ends with a list to which every resource contributes a fragment.
//!
//! With a thousand resources, a change of one must not write the whole list. So the table keeps the fragments and joins
//! them when the object is read. Watchers get the newest state only.

use lilt_api::ObjectKind;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kind of this object.
pub(crate) const FRAGMENTED_KIND: ObjectKind = ObjectKind::Session;

#[derive(Debug, Default)]
pub(crate) struct Fragments {
    /// Items of the list by the contributing resource.
    texts: BTreeMap<Arc<str>, Arc<str>>,
    /// The version of the last change of a fragment.
    pub(crate) version: u64,
}

impl Fragments {
    /// Replaces a fragment; none or an empty one removes it. Returns whether that is a change.
    pub(crate) fn put(&mut self, resource: Arc<str>, text: Option<Arc<str>>) -> bool {
        match text.filter(|text| !text.is_empty()) {
            Some(text) if self.texts.get(&resource) == Some(&text) => false,
            Some(text) => {
                self.texts.insert(resource, text);
                true
            }
            None => self.texts.remove(&resource).is_some(),
        }
    }

    /// Appends the fragments to the list at the end of an object's text.
    pub(crate) fn append_to(&self, text: &str) -> Arc<str> {
        // The list is the last member of the last member.
        const END: &str = "]}}";
        let begin = text.strip_suffix(END).unwrap_or(text);
        let fragments: Vec<&str> = self.texts.values().map(|fragment| &**fragment).collect();
        let comma = if begin.ends_with('[') || fragments.is_empty() { "" } else { "," };
        Arc::from(format!("{begin}{comma}{}{END}", fragments.join(",")))
    }
}
