//! Names resources after objects: as short as possible while unique.

use std::collections::HashMap;

use super::object::Object;

/// Returns the fragments from short to full: `web`, `web:deployment`, `web:deployment:default`, `web:deployment:default:apps`.
pub(super) fn fragments(object: &Object) -> Vec<String> {
    let parts = [object.name(), object.kind(), object.namespace(), object.group()].map(escaped);
    (1..=parts.len()).map(|count| parts[..count].join(":")).collect()
}

fn escaped(part: &str) -> String {
    part.to_lowercase().replace('\\', "\\\\").replace(':', "\\:")
}

/// Splits a fragment into its parts, without the escapes.
pub(super) fn split(fragment: &str) -> Result<Vec<String>, String> {
    let mut parts = vec![String::new()];
    let mut characters = fragment.chars();
    let push = |parts: &mut Vec<String>, character| match parts.last_mut() {
        Some(part) => part.push(character),
        None => parts.push(String::from(character)),
    };
    while let Some(character) = characters.next() {
        match character {
            ':' => parts.push(String::new()),
            '\\' => match characters.next() {
                Some(escaped @ (':' | '\\')) => push(&mut parts, escaped),
                Some(other) => return Err(format!("a backslash stands before : or \\, not before {other}")),
                None => {}
            },
            other => push(&mut parts, other),
        }
    }
    Ok(parts)
}

/// Returns the name of an object for messages: `web:deployment:default`.
pub(super) fn full_name(object: &Object) -> String {
    fragments(object).swap_remove(2)
}

/// Returns for each object the shortest fragment that no other object has.
pub(super) fn unique_names<'o>(objects: impl Iterator<Item = &'o Object>) -> Vec<String> {
    let fragments: Vec<Vec<String>> = objects.map(fragments).collect();
    let mut wanted: HashMap<&str, usize> = HashMap::new();
    for fragment in fragments.iter().flatten() {
        *wanted.entry(fragment).or_default() += 1;
    }
    let shortest = |(index, fragments): (usize, &Vec<String>)| {
        let unique = fragments.iter().find(|fragment| wanted[fragment.as_str()] == 1);
        // A duplicate object (see allow_duplicates).
        unique.cloned().unwrap_or_else(|| format!("{}:{index}", fragments[fragments.len() - 1]))
    };
    fragments.iter().enumerate().map(shortest).collect()
}
