//! Kinds of the API and their fields, as used by validation, OpenAPI documents and `explain`.
//!
//! They are derived from the types of this crate.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;

use crate::object_kind::ObjectKind;
use crate::schema;

/// Names of a kind in API paths and on the command line.
pub trait ApiKind: JsonSchema {
    /// Name in API paths.
    const PLURAL: &'static str;
    const SHORT_NAMES: &'static [&'static str] = &[];
}

/// A kind of object.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub kind: ObjectKind,
    pub name: &'static str,
    /// Name in API paths.
    pub plural: &'static str,
    pub short_names: &'static [&'static str],
    pub description: &'static str,
    /// All fields except [`COMMON_FIELDS`].
    pub fields: Vec<Field>,
}

/// Fields that every kind has.
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

    /// Returns whether objects of this kind have a status.
    pub fn has_status(&self) -> bool {
        self.fields.iter().any(|field| field.name == "status")
    }

    /// Returns whether `word` is the plural, singular or a short name, ignoring case.
    pub fn is_called(&self, word: &str) -> bool {
        let word = word.to_ascii_lowercase();
        word == self.plural || word == self.singular() || self.short_names.iter().any(|short| *short == word)
    }
}

/// An object type that is used in fields of kinds.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub description: &'static str,
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub of: Type,
    /// Whether the field is always written, even if it is empty.
    pub required: bool,
    pub description: &'static str,
    /// Position in the declaration of the type. Lists of fields are sorted by name.
    pub position: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Text,
    Bool,
    Int32,
    Int64,
    /// A time in whole seconds.
    Time,
    MicroTime,
    /// A duration in Go's format, such as `1m30s`.
    Duration,
    /// A map of strings.
    Map,
    Any,
    List(Box<Type>),
    Part(&'static str),
}

/// All kinds, and the parts that they use.
#[derive(Debug)]
pub struct Kinds {
    kinds: Vec<Kind>,
    parts: BTreeMap<&'static str, Part>,
}

/// Returns the kinds of `tilt.dev/v1alpha1`.
pub fn kinds() -> &'static Kinds {
    static KINDS: OnceLock<Kinds> = OnceLock::new();
    KINDS.get_or_init(|| {
        let (kinds, parts) = schema::derive();
        Kinds { kinds, parts }
    })
}

impl Kinds {
    /// Returns all kinds, sorted by name.
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

    /// Returns a kind by any of its names, optionally qualified as in `uiresources.v1alpha1.tilt.dev`.
    pub fn called(&self, word: &str) -> Option<&Kind> {
        let word = word.strip_suffix(".tilt.dev").unwrap_or(word);
        let word = word.strip_suffix(".v1alpha1").unwrap_or(word);
        self.kinds.iter().find(|kind| kind.is_called(word))
    }

    /// Returns the fields of a part.
    pub fn part(&self, name: &str) -> &[Field] {
        self.parts.get(name).map_or(&[], |part| part.fields.as_slice())
    }

    /// Returns the parts, sorted by name.
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
