//! The object that ends with a list to which every resource contributes a fragment.
//!
//! With a thousand resources, a change of one must not write the whole list. So the table keeps the fragments, joins them
//! for those who read the object, and tells its watchers the newest state alone.

use lilt_api::ObjectKind;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kind of this object.
pub(crate) const FRAGMENTED_KIND: ObjectKind = ObjectKind::Session;

#[derive(Debug, Default)]
pub(crate) struct Fragments {
    /// Members of the list, by the resource that contributes them.
    texts: BTreeMap<Arc<str>, Arc<str>>,
    /// The version at which one changed last.
    pub(crate) version: u64,
}

impl Fragments {
    /// Replaces a contribution; none and an empty one remove it. Returns whether that is a change.
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

    /// Adds the fragments to the list at the end of an object's text.
    pub(crate) fn append_to(&self, text: &str) -> Arc<str> {
        // The list is the last member of the last member.
        const END: &str = "]}}";
        let begin = text.strip_suffix(END).unwrap_or(text);
        let fragments: Vec<&str> = self.texts.values().map(|fragment| &**fragment).collect();
        let comma = if begin.ends_with('[') || fragments.is_empty() { "" } else { "," };
        Arc::from(format!("{begin}{comma}{}{END}", fragments.join(",")))
    }
}
