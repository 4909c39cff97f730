//! `docs/reference/environment.md` is generated from `lilt_host::environment`. When it differs, the test writes it and fails
//! once, so that the change is seen and committed.

#![allow(clippy::disallowed_methods, reason = "the page is a file of the project")]

use std::fmt::Write as _;
use std::path::Path;

use lilt_host::environment::{READ, REMOVED, SET, Variable};

const HEAD: &str = "<!-- Written by `cargo test -p lilt-host --test environment_page`; do not edit. -->\n\n";

fn table(text: &mut String, variables: &[Variable]) {
    text.push_str("\n| variable | meaning |\n|---|---|\n");
    for Variable { name, description } in variables {
        let description: Vec<&str> = description.iter().map(|line| line.trim()).collect();
        let _ = writeln!(text, "| `{name}` | {} |", description.join(" ").replace('|', "\\|"));
    }
}

fn page() -> String {
    let mut text = format!(
        "{HEAD}# Environment variables\n\nAn empty variable counts as not set. What a project wants is said in its \
         [Tiltfile](README.md), what a person wants by [flags](../cli/README.md).\n"
    );
    for group in READ {
        let _ = write!(text, "\n## {}\n", group.title);
        table(&mut text, group.variables);
    }
    text.push_str("\n## Set for commands\n\nCommands that a session runs get these.\n");
    table(&mut text, SET);
    text.push_str("\n## Removed\n\nlilt ignores these and prints a warning where one is set.\n");
    text.push_str("\n| variable | replacement |\n|---|---|\n");
    for (name, replacement) in REMOVED {
        let _ = writeln!(text, "| `{name}` | {replacement} |");
    }
    text
}

#[test]
fn environment_page_matches_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/environment.md");
    let wanted = page();
    if std::fs::read_to_string(&path).is_ok_and(|found| found == wanted) {
        return;
    }
    std::fs::write(&path, wanted).expect("write the page");
    panic!("docs/reference/environment.md was out of date and has been written: commit it");
}
