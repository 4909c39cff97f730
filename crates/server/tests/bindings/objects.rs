//! The kinds of the object API that the page looks at, as TypeScript, from the table that the API itself checks by.

use std::collections::BTreeSet;

use lilt_api::kinds::{Field, Type, kinds};

const HEAD: &str = "// Written by `cargo test -p lilt-server --features ts`; do not edit.\n\
    \nimport type { ObjectMeta, Timestamp } from \"./protocol\";\n";

const KINDS: [&str; 3] = ["KubernetesDiscovery", "PortForward", "UIButton"];

/// The table does not tell which parts are there with something in them; the page may rely on these.
const NEVER_NULL: [(&str, &str); 2] = [("UIButtonSpec", "location"), ("Container", "state")];

pub(crate) fn declarations() -> String {
    let mut text = HEAD.to_owned();
    let mut parts = BTreeSet::new();
    for name in KINDS {
        let kind = kinds().named(name).expect("the API has it");
        text.push_str(&format!("\nexport interface {name} {{\n  apiVersion?: string;\n  kind?: string;\n"));
        text.push_str("  metadata: ObjectMeta;\n");
        for field in &kind.fields {
            let Type::Part(part) = field.of else { panic!("{name}.{} is no part", field.name) };
            collect(part, &mut parts);
            // What is asked for is always there; what became of it comes later.
            let (mark, null) = if field.name == "spec" { ("", "") } else { ("?", " | null") };
            text.push_str(&format!("  {}{mark}: {part}{null};\n", field.name));
        }
        text.push_str("}\n");
    }
    for part in parts {
        text.push_str(&format!("\nexport interface {part} {{\n"));
        for field in kinds().part(part) {
            text.push_str(&format!("  {}\n", member(part, field)));
        }
        text.push_str("}\n");
    }
    text
}

/// With all parts within it.
fn collect(part: &'static str, parts: &mut BTreeSet<&'static str>) {
    if !parts.insert(part) {
        return;
    }
    for field in kinds().part(part) {
        if let Some(inner) = part_of(&field.of) {
            collect(inner, parts);
        }
    }
}

fn part_of(of: &Type) -> Option<&'static str> {
    match of {
        Type::Part(name) => Some(name),
        Type::List(inner) => part_of(inner),
        _ => None,
    }
}

fn member(part: &str, field: &Field) -> String {
    let mark = if field.required { "" } else { "?" };
    let may_be_null = matches!(field.of, Type::List(_) | Type::Part(_) | Type::Time | Type::MicroTime);
    let null = if may_be_null && !NEVER_NULL.contains(&(part, field.name)) { " | null" } else { "" };
    format!("{}{mark}: {}{null};", field.name, words(&field.of))
}

fn words(of: &Type) -> String {
    match of {
        Type::Text | Type::Duration => "string".to_owned(),
        Type::Bool => "boolean".to_owned(),
        Type::Int32 | Type::Int64 => "number".to_owned(),
        Type::Time | Type::MicroTime => "Timestamp".to_owned(),
        Type::Map => "Record<string, string>".to_owned(),
        Type::Any => "unknown".to_owned(),
        Type::List(inner) => format!("{}[]", words(inner)),
        Type::Part(name) => (*name).to_owned(),
    }
}
