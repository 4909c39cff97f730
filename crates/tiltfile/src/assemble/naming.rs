//! Names of resources from names of objects: as short as can be without confusion.

use std::collections::HashMap;

use super::object::Object;

/// From short to full: `web`, `web:deployment`, `web:deployment:default`, `web:deployment:default:apps`.
pub(super) fn fragments(object: &Object) -> Vec<String> {
    let parts = [object.name(), object.kind(), object.namespace(), object.group()].map(escaped);
    (1..=parts.len()).map(|count| parts[..count].join(":")).collect()
}

fn escaped(part: &str) -> String {
    part.to_lowercase().replace('\\', "\\\\").replace(':', "\\:")
}

/// As messages name an object: `web:deployment:default`.
pub(super) fn full_name(object: &Object) -> String {
    fragments(object).swap_remove(2)
}

/// For each object the shortest fragment that no other could have.
pub(super) fn unique_names(objects: &[Object]) -> Vec<String> {
    let fragments: Vec<Vec<String>> = objects.iter().map(fragments).collect();
    let mut wanted: HashMap<&str, usize> = HashMap::new();
    for fragment in fragments.iter().flatten() {
        *wanted.entry(fragment).or_default() += 1;
    }
    let shortest = |(index, fragments): (usize, &Vec<String>)| {
        let unique = fragments.iter().find(|fragment| wanted[fragment.as_str()] == 1);
        // The same object twice, which is allowed with allow_duplicates.
        unique.cloned().unwrap_or_else(|| format!("{}:{index}", fragments[fragments.len() - 1]))
    };
    fragments.iter().enumerate().map(shortest).collect()
}
