//! Which kinds the API has and which fields they have: the facts that validation, OpenAPI documents and `explain`
//! share. All of it is derived from the types of this crate.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;

use crate::object_kind::ObjectKind;
use crate::schema;

/// The names of a kind in paths and on the command line.
pub trait ApiKind: JsonSchema {
    /// The name in paths of the API.
    const PLURAL: &'static str;
    const SHORT_NAMES: &'static [&'static str] = &[];
}

/// One kind of object.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub kind: ObjectKind,
    pub name: &'static str,
    /// The name in paths of the API.
    pub plural: &'static str,
    pub short_names: &'static [&'static str],
    pub description: &'static str,
    /// Without `apiVersion`, `kind` and `metadata`, which all have: see [`COMMON_FIELDS`].
    pub fields: Vec<Field>,
}

/// The fields that all kinds have.
pub const COMMON_FIELDS: [Field; 3] = [
    Field {
        name: "apiVersion",
        of: Type::Text,
        required: false,
        description: "Group and version of the object.",
        position: 0,
    },
    Field { name: "kind", of: Type::Text, required: false, description: "What the object is.", position: 1 },
    Field {
        name: "metadata",
        of: Type::Part("ObjectMeta"),
        required: false,
        description: "Name, labels and what else all objects have.",
        position: 2,
    },
];

impl Kind {
    pub fn singular(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    /// Whether its objects have a status.
    pub fn has_status(&self) -> bool {
        self.fields.iter().any(|field| field.name == "status")
    }

    /// Whether `word` is its name, plural, singular or a short name, in any case.
    pub fn is_called(&self, word: &str) -> bool {
        let word = word.to_ascii_lowercase();
        word == self.plural || word == self.singular() || self.short_names.iter().any(|short| *short == word)
    }
}

/// A type that kinds consist of.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub description: &'static str,
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub of: Type,
    /// Always written, even if it is empty.
    pub required: bool,
    pub description: &'static str,
    /// Where the type declares it. Fields themselves are sorted by name.
    pub position: usize,
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
    parts: BTreeMap<&'static str, Part>,
}

/// The kinds of `tilt.dev/v1alpha1`.
pub fn kinds() -> &'static Kinds {
    static KINDS: OnceLock<Kinds> = OnceLock::new();
    KINDS.get_or_init(|| {
        let (kinds, parts) = schema::derive();
        Kinds { kinds, parts }
    })
}

impl Kinds {
    /// By name, in alphabetical order.
    pub fn all(&self) -> &[Kind] {
        &self.kinds
    }

    pub fn of(&self, kind: ObjectKind) -> &Kind {
        // Both lists are in the same order.
        &self.kinds[kind as usize]
    }

    pub fn named(&self, name: &str) -> Option<&Kind> {
        ObjectKind::named(name).map(|kind| self.of(kind))
    }

    pub fn with_plural(&self, plural: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.plural == plural)
    }

    /// By any name that people use, also `uiresources.tilt.dev` and `uiresources.v1alpha1.tilt.dev`.
    pub fn called(&self, word: &str) -> Option<&Kind> {
        let word = word.strip_suffix(".tilt.dev").unwrap_or(word);
        let word = word.strip_suffix(".v1alpha1").unwrap_or(word);
        self.kinds.iter().find(|kind| kind.is_called(word))
    }

    /// The fields of a part.
    pub fn part(&self, name: &str) -> &[Field] {
        self.parts.get(name).map_or(&[], |part| part.fields.as_slice())
    }

    /// The parts by name.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &Part)> {
        self.parts.iter().map(|(name, part)| (*name, part))
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
    fn kinds_are_complete_sorted_and_described() {
        let kinds = kinds();
        assert_eq!(kinds.all().len(), 22);
        assert!(kinds.all().is_sorted_by_key(|kind| kind.name));
        assert!(ObjectKind::ALL.iter().all(|kind| kinds.of(*kind).kind == *kind));
        let all = kinds.all().iter().map(|kind| (kind.name, kind.description, &kind.fields));
        let all = all.chain(kinds.parts().map(|(name, part)| (name, part.description, &part.fields)));
        for (name, description, fields) in all {
            assert!(!description.is_empty(), "{name} is not described");
            assert!(fields.is_sorted_by_key(|field| field.name), "{name}");
            for field in fields {
                assert!(!field.description.is_empty(), "{name}.{} is not described", field.name);
                if let Some(part) = part_of(&field.of) {
                    assert!(kinds.parts.contains_key(part), "{part} is used and not defined");
                }
            }
        }
    }

    #[test]
    fn kinds_have_several_names() {
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
