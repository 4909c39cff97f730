//! Templates: texts that many objects share except for one word, stored once.
//!
//! Each of ten thousand resources has the same buttons and switches, which differ only in its name.

use std::sync::Arc;

use crate::interner::Interner;

/// Replaces the word. JSON never contains this character.
const PLACEHOLDER: char = '\u{1}';

#[derive(Clone, Debug)]
pub(crate) struct Template {
    text: Arc<str>,
    /// The offset of the word in the object's name.
    begin: u32,
    end: u32,
}

impl Template {
    /// Returns the template of a text, if `word` is a part of the object's name.
    pub(crate) fn new(text: &str, name: &str, word: &str, known: &mut Interner<str>) -> Option<Self> {
        let begin = name.find(word).filter(|_| !word.is_empty() && !text.contains(PLACEHOLDER))?;
        let (begin, end) = (u32::try_from(begin).ok()?, u32::try_from(begin + word.len()).ok()?);
        let text = known.intern(text.replace(word, PLACEHOLDER.encode_utf8(&mut [0; 4])));
        Some(Self { text, begin, end })
    }

    /// Substitutes the word, for the object `name`.
    pub(crate) fn text(&self, name: &str) -> Arc<str> {
        let word = name.get(self.begin as usize..self.end as usize).unwrap_or_default();
        Arc::from(self.text.replace(PLACEHOLDER, word))
    }

    /// Returns the approximate length of the text.
    pub(crate) fn length(&self) -> usize {
        self.text.len()
    }

    /// Returns whether both result in the same text for an object. May return false although they do.
    pub(crate) fn is_same(&self, other: &Template) -> bool {
        Arc::ptr_eq(&self.text, &other.text) && (self.begin, self.end) == (other.begin, other.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_is_shared_and_dropped_with_its_last_object() {
        let mut known = Interner::default();
        let text = |word: &str| format!("{{\"{word}\":\"off-{word}-{word}\"}}");
        let templates: Vec<Template> = ["web", "off", "é", "-"]
            .map(|word| {
                let name = format!("toggle-{word}-disable");
                let template = Template::new(&text(word), &name, word, &mut known).expect("a template");
                assert_eq!(*template.text(&name), *text(word));
                template
            })
            .into();
        assert_eq!(known.len(), 3, "two words share one, a word that is elsewhere too has another");
        drop(templates);
        known.prune();
        assert_eq!(known.len(), 0);
    }

    #[test]
    fn text_without_the_word_in_its_name_has_no_template() {
        let mut known = Interner::default();
        for (text, word) in [("{}", ""), ("{}", "other"), ("a placeholder \u{1}", "name")] {
            assert!(Template::new(text, "name", word, &mut known).is_none(), "{text}");
        }
        assert_eq!(known.len(), 0);
    }
}
