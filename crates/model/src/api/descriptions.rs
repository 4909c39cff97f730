//! What kinds, parts and fields are for, in words: what `explain` shows.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Of a kind or a part.
pub fn of_part(name: &str) -> Option<&'static str> {
    lines().get(name).copied()
}

/// Of a field of it.
pub fn of_field(part: &str, field: &str) -> Option<&'static str> {
    lines().get(format!("{part}.{field}").as_str()).or_else(|| lines().get(field)).copied()
}

fn lines() -> &'static HashMap<&'static str, &'static str> {
    static LINES: OnceLock<HashMap<&str, &str>> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines = include_str!("descriptions.txt").lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once(' ')).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::kinds::{Field, kinds};

    #[test]
    fn everything_is_described_and_nothing_else() {
        let all = kinds().all().iter().map(|kind| (kind.name, kind.fields.as_slice())).chain(kinds().parts());
        let all: Vec<(&str, &[Field])> = all.collect();
        let mut used: BTreeSet<String> = ["apiVersion", "kind", "metadata"].map(str::to_owned).into();
        for (part, fields) in all {
            assert!(of_part(part).is_some(), "{part} is not described");
            used.insert(part.to_owned());
            for field in fields {
                let (name, own) = (field.name, format!("{part}.{}", field.name));
                assert!(of_field(part, name).is_some(), "{own} is not described");
                used.insert(if lines().contains_key(own.as_str()) { own } else { name.to_owned() });
            }
        }
        let unused: Vec<&&str> = lines().keys().filter(|name| !used.contains(**name)).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }
}
