//! The part of an object's text that is its own, kept small: of ten thousand resources each has the same buttons and
//! switches, in which nothing differs but its name.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Stands for the name; JSON never has it.
const MARK: char = '\u{1}';

#[derive(Debug)]
pub(super) enum Tail {
    Own(Arc<str>),
    /// A form that others have too, and where in the object's name that word is which takes the place of the mark.
    Form {
        form: Arc<str>,
        begin: u32,
        end: u32,
    },
}

impl Tail {
    /// The text, of an object of this name.
    pub(super) fn text(&self, name: &str) -> Arc<str> {
        match self {
            Self::Own(text) => Arc::clone(text),
            Self::Form { form, begin, end } => {
                let word = name.get(*begin as usize..*end as usize).unwrap_or_default();
                Arc::from(form.replace(MARK, word))
            }
        }
    }
}

/// All forms there are, each once.
#[derive(Debug, Default)]
pub(super) struct Forms(BTreeSet<Arc<str>>);

impl Forms {
    /// `word` is what the object shares its form with others but for, if that is a part of its name.
    pub(super) fn tail(&mut self, text: Arc<str>, name: &str, word: Option<&str>) -> Tail {
        let place = word.filter(|word| !word.is_empty()).and_then(|word| Some((name.find(word)?, word)));
        let Some((begin, word)) = place.filter(|_| !text.contains(MARK)) else { return Tail::Own(text) };
        let (Ok(first), Ok(end)) = (u32::try_from(begin), u32::try_from(begin + word.len())) else {
            return Tail::Own(text);
        };
        Tail::Form { form: self.shared(&text.replace(word, &MARK.to_string())), begin: first, end }
    }

    fn shared(&mut self, form: &str) -> Arc<str> {
        if let Some(known) = self.0.get(form) {
            return Arc::clone(known);
        }
        let form: Arc<str> = Arc::from(form);
        self.0.insert(Arc::clone(&form));
        form
    }

    /// A tail is no longer used: with the last of its form that goes too.
    pub(super) fn forget(&mut self, tail: Tail) {
        let Tail::Form { form, .. } = tail else { return };
        // This one and the table's.
        if Arc::strong_count(&form) == 2 {
            self.0.remove(&form);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_kept_once_and_goes_with_the_last_that_has_it() {
        let mut forms = Forms::default();
        let text = |word: &str| -> Arc<str> { Arc::from(format!("{{\"{word}\":\"off-{word}-{word}\"}}")) };
        let tails: Vec<(String, Tail)> = ["web", "off", "é", "-"]
            .map(|word| {
                let name = format!("toggle-{word}-disable");
                let tail = forms.tail(text(word), &name, Some(word));
                assert_eq!(tail.text(&name), text(word));
                (name, tail)
            })
            .into();
        assert_eq!(forms.0.len(), 3, "two words share one, a word that is elsewhere too makes another");
        for (_, tail) in tails {
            forms.forget(tail);
        }
        assert!(forms.0.is_empty());
    }

    #[test]
    fn what_has_no_such_word_is_its_own() {
        let mut forms = Forms::default();
        for (text, word) in
            [("{}", None), ("{}", Some("")), ("{}", Some("other")), ("a mark \u{1}", Some("name"))]
        {
            let tail = forms.tail(Arc::from(text), "name", word);
            assert!(matches!(&tail, Tail::Own(own) if **own == *text), "{tail:?}");
        }
        assert!(forms.0.is_empty());
    }
}
