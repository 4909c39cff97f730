//! Reads `v1alpha1.txt`: which functions there are, and their fields.

use std::sync::LazyLock;

use starlark::eval::{ParametersSpec, ParametersSpecParam};
use starlark::values::FrozenValue;

use super::METADATA;

pub(super) static TABLE: LazyLock<Vec<Maker>> = LazyLock::new(|| parse(include_str!("../v1alpha1.txt")));

/// A function that makes an object or a part.
pub(super) struct Maker {
    /// `v1alpha1.cmd`.
    pub(super) name: &'static str,
    /// Of the object; none for a part.
    pub(super) kind: Option<&'static str>,
    pub(super) documentation: &'static str,
    pub(super) fields: Vec<Field>,
    pub(super) signature: ParametersSpec<FrozenValue>,
}

pub(super) struct Field {
    pub(super) parameter: &'static str,
    /// In the object. None: the fields of the part become fields of the object.
    pub(super) name: Option<&'static str>,
    pub(super) kind: Type,
    /// Written also if it is empty.
    pub(super) always: bool,
    pub(super) documentation: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    /// Written if it was given, also if it is empty.
    GivenText,
    Texts,
    Number,
    Flag,
    Map,
    Path,
    /// The directory of this file unless given.
    Directory,
    Paths,
    Duration,
    Time,
    Part(&'static str),
    Parts(&'static str),
}

impl Maker {
    pub(super) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// With what they say, in order.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let metadata = METADATA.iter().copied().filter(|_| self.kind.is_some());
        metadata.chain(self.fields.iter().map(|field| (field.parameter, field.documentation)))
    }

    pub(super) fn field(&self, parameter: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.parameter == parameter)
    }
}

pub(super) fn part(short_name: &str) -> &'static Maker {
    TABLE
        .iter()
        .find(|maker| maker.kind.is_none() && maker.short_name() == short_name)
        .expect("invariant: the table names parts of its own only, which a test checks")
}

fn parse(text: &'static str) -> Vec<Maker> {
    let mut makers: Vec<(&str, Option<&str>, &str, Vec<Field>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("    ") {
            None => {
                let (head, documentation) = line.split_once(": ").unwrap_or((line, ""));
                let (name, kind) =
                    head.split_once(" = ").map_or((head, None), |(name, kind)| (name, Some(kind)));
                makers.push((name, kind, documentation, Vec::new()));
            }
            Some(line) => {
                if let Some((_, _, _, fields)) = makers.last_mut() {
                    fields.push(field(line));
                }
            }
        }
    }
    makers
        .into_iter()
        .map(|(name, kind, documentation, fields)| maker(name, kind, documentation, fields))
        .collect()
}

fn maker(
    name: &'static str,
    kind: Option<&'static str>,
    documentation: &'static str,
    fields: Vec<Field>,
) -> Maker {
    let metadata = METADATA.iter().filter(|_| kind.is_some()).map(|(name, _)| match *name {
        "name" => ("name", ParametersSpecParam::Required),
        name => (name, ParametersSpecParam::Optional),
    });
    let own = fields.iter().map(|field| (field.parameter, ParametersSpecParam::Optional));
    let signature = ParametersSpec::new_parts(name, [], metadata.chain(own), false, [], false);
    Maker { name, kind, documentation, fields, signature }
}

fn field(line: &'static str) -> Field {
    let mut words = line.splitn(4, ' ');
    let mut next = || words.next().unwrap_or_default();
    let (parameter, name, kind, documentation) = (next(), next(), next(), next());
    let always = kind.ends_with('!');
    let kind = match kind.trim_end_matches('!') {
        "string" => Type::Text,
        "string?" => Type::GivenText,
        "strings" => Type::Texts,
        "int" => Type::Number,
        "bool" => Type::Flag,
        "map" => Type::Map,
        "path" => Type::Path,
        "path=." => Type::Directory,
        "paths" => Type::Paths,
        "duration" => Type::Duration,
        "time" => Type::Time,
        part => match part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) {
            Some(part) => Type::Parts(part),
            None => Type::Part(part),
        },
    };
    Field { parameter, name: Some(name).filter(|name| *name != "."), kind, always, documentation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(TABLE.len(), 36);
        assert_eq!(TABLE.iter().filter(|maker| maker.kind.is_some()).count(), 8);
        for maker in TABLE.iter() {
            assert!(maker.name.starts_with("v1alpha1."), "{}", maker.name);
            assert!(maker.documentation.ends_with('.'), "{}", maker.name);
            for field in &maker.fields {
                assert!(field.documentation.ends_with('.'), "{} {}", maker.name, field.parameter);
                if let Type::Part(name) | Type::Parts(name) = field.kind {
                    assert_eq!(part(name).short_name(), name);
                }
            }
        }
    }
}
