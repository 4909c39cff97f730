//! The language against tables of snippets: what each prints, and how it fails, as the Starlark specification (in the
//! dialect that Tilt runs) wants it.
//!
//! A table is a text: `## title`, the code, `--`, the lines it prints, and perhaps `error: message` at the end.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use lilt_tiltfile::{LoadRequest, load};
use support::TestSystem;

struct Case<'t> {
    title: &'t str,
    code: &'t str,
    expected: String,
}

fn cases(table: &str) -> Vec<Case<'_>> {
    let blocks = table.strip_prefix("## ").unwrap().split("\n## ");
    blocks
        .map(|block| {
            let (title, rest) = block.split_once('\n').unwrap();
            let (code, expected) = rest.split_once("--\n").or(rest.split_once("--")).expect(title);
            Case { title, code, expected: expected.trim_end_matches('\n').to_owned() }
        })
        .collect()
}

fn outcome(directory: &Path, code: &str) -> String {
    let path = directory.join("Tiltfile");
    fs::write(&path, code).unwrap();
    let request = LoadRequest { path, args: Vec::new(), subcommand: "up".into(), ..LoadRequest::default() };
    let mut lines = Vec::new();
    let loaded = load(&request, &TestSystem::default(), &|| false, &mut |line| lines.push(line.to_string()));
    if let Err(failure) = loaded.project {
        lines.push(format!("error: {}", failure.message));
    }
    lines.join("\n").trim_end_matches('\n').to_owned()
}

fn check(table: &str) {
    let mut wrong = String::new();
    for case in cases(table) {
        let directory = tempfile::tempdir().unwrap();
        let got = outcome(directory.path(), case.code);
        if got != case.expected {
            writeln!(wrong, "## {}\n{}-- wanted\n{}\n-- got\n{got}", case.title, case.code, case.expected)
                .unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

macro_rules! tables {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(include_str!(concat!("language/", stringify!($name), ".txt")));
        }
    )*};
}

tables!(syntax printing numbers strings format collections functions);
