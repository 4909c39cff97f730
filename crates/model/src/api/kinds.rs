//! Which kinds the API has and which fields they have: the facts that validation, OpenAPI documents and `explain`
//! share.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One kind of object.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    /// As it stands in addresses.
    pub plural: &'static str,
    pub short_names: Vec<&'static str>,
    /// Without `apiVersion`, `kind` and `metadata`, which all have.
    pub fields: Vec<Field>,
}

impl Kind {
    pub fn singular(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    /// Whether it tells what became of its specification.
    pub fn has_status(&self) -> bool {
        self.fields.iter().any(|field| field.name == "status")
    }

    /// Whether people call it so: by its name, its plural, its singular or a short name, whatever the case.
    pub fn is_called(&self, word: &str) -> bool {
        let word = word.to_ascii_lowercase();
        word == self.plural || word == self.singular() || self.short_names.iter().any(|short| *short == word)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub of: Type,
    /// Always there, if only with nothing in it.
    pub required: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Text,
    Bool,
    Int32,
    Int64,
    /// Whole seconds.
    Time,
    MicroTime,
    /// As Go writes it: `1m30s`.
    Duration,
    /// Of texts.
    Map,
    Any,
    List(Box<Type>),
    Part(&'static str),
}

/// All kinds and parts.
#[derive(Debug)]
pub struct Kinds {
    kinds: Vec<Kind>,
    parts: BTreeMap<&'static str, Vec<Field>>,
}

/// The kinds of `tilt.dev/v1alpha1`.
pub fn kinds() -> &'static Kinds {
    static KINDS: OnceLock<Kinds> = OnceLock::new();
    KINDS.get_or_init(|| Kinds::read(include_str!("kinds.txt")))
}

impl Kinds {
    /// By name, in alphabetical order.
    pub fn all(&self) -> &[Kind] {
        &self.kinds
    }

    pub fn named(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    pub fn with_plural(&self, plural: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.plural == plural)
    }

    /// By whatever people call it, also `uiresources.tilt.dev` and `uiresources.v1alpha1.tilt.dev`.
    pub fn called(&self, word: &str) -> Option<&Kind> {
        let word = word.strip_suffix(".tilt.dev").unwrap_or(word);
        let word = word.strip_suffix(".v1alpha1").unwrap_or(word);
        self.kinds.iter().find(|kind| kind.is_called(word))
    }

    /// The fields of a part.
    pub fn part(&self, name: &str) -> &[Field] {
        self.parts.get(name).map_or(&[], Vec::as_slice)
    }

    /// The parts by name.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &[Field])> {
        self.parts.iter().map(|(name, fields)| (*name, fields.as_slice()))
    }

    fn read(table: &'static str) -> Self {
        let mut kinds: Vec<Kind> = Vec::new();
        let mut parts = BTreeMap::new();
        let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut of_part = None;
        for line in lines {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap_or_default();
            if !line.starts_with(' ') {
                let Some(plural) = words.next() else {
                    parts.insert(name, Vec::new());
                    of_part = Some(name);
                    continue;
                };
                of_part = None;
                kinds.push(Kind { name, plural, short_names: words.collect(), fields: Vec::new() });
                continue;
            }
            let field = Field::read(name, words.next().unwrap_or_default());
            let fields = match of_part {
                Some(part) => parts.get_mut(part),
                None => kinds.last_mut().map(|kind| &mut kind.fields),
            };
            fields.expect("invariant: the table begins with a kind").push(field);
        }
        Self { kinds, parts }
    }
}

impl Field {
    fn read(name: &'static str, word: &'static str) -> Self {
        let required = word.ends_with('!');
        Self { name, of: Type::read(word.trim_end_matches('!')), required }
    }
}

impl Type {
    fn read(word: &'static str) -> Self {
        if let Some(inner) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
            return Type::List(Box::new(Type::read(inner)));
        }
        match word {
            "string" => Type::Text,
            "bool" => Type::Bool,
            "int32" => Type::Int32,
            "int64" => Type::Int64,
            "Time" => Type::Time,
            "MicroTime" => Type::MicroTime,
            "Duration" => Type::Duration,
            "map" => Type::Map,
            "any" => Type::Any,
            part => Type::Part(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part_of(of: &Type) -> Option<&'static str> {
        match of {
            Type::Part(name) => Some(name),
            Type::List(inner) => part_of(inner),
            _ => None,
        }
    }

    #[test]
    fn the_table_is_whole() {
        let kinds = kinds();
        assert_eq!(kinds.all().len(), 22);
        let fields = kinds.all().iter().flat_map(|kind| &kind.fields);
        let fields = fields.chain(kinds.parts().flat_map(|(_, fields)| fields));
        for part in fields.filter_map(|field| part_of(&field.of)) {
            assert!(kinds.parts.contains_key(part), "{part} is used and not told");
        }
    }

    #[test]
    fn kinds_go_by_many_names() {
        for word in [
            "UIResource",
            "uiresource",
            "uiresources",
            "uiresources.tilt.dev",
            "uiresource.v1alpha1.tilt.dev",
        ] {
            assert_eq!(kinds().called(word).map(|kind| kind.name), Some("UIResource"), "{word}");
        }
        assert_eq!(kinds().called("ka").map(|kind| kind.plural), Some("kubernetesapplys"));
        assert_eq!(kinds().called("pods"), None);
        assert!(!kinds().named("ConfigMap").expect("a kind").has_status());
    }
}
