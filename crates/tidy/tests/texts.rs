//! Checks that no code branches on the text of a message, a hint or a detail.
#![allow(clippy::disallowed_methods, reason = "this test reads the repository's files")]

use std::path::{Path, PathBuf};

use regex::Regex;

/// Files that must parse messages of other programs, which have no error code, with the reason.
const ALLOWED: [(&str, &str); 8] = [
    ("cluster/src/apply/rejection.rs", "the API server's reason for a rejection, to pick a hint"),
    ("cluster/src/apply/target.rs", "the API server has no code for an immutable or an unknown field"),
    ("cluster/src/forward.rs", "the kubelet says only in words that a port refused the connection"),
    ("cluster/src/live/shell.rs", "container runtimes say only in words that there is no shell"),
    ("cluster/src/watch/notices.rs", "events do not say which probe failed but in their text"),
    ("tiltfile/src/failure.rs", "a panic of the interpreter is a text"),
    ("tiltfile/src/failure/translate.rs", "the interpreter's errors are texts"),
    ("tui/src/overview.rs", "cuts what the title says already; a message in other words is shown whole"),
];

/// Crates that are tests or measure.
const OTHERS: [&str; 4] = ["bench", "e2e", "testbed-env", "tidy"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/tidy lies in crates").to_owned()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if name != "tests" {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The comparisons to find.
struct Search {
    chain: Regex,
    comparisons: Vec<Regex>,
}

impl Search {
    fn new() -> Self {
        const TEXT: &str = r"(?:\b(?:message|hint|detail)\b|\b(?:failure|error|fault|cause)\.to_string\(\))";
        const ADAPTED: &str = r"(?:\.(?:as_deref|as_ref|as_str|clone|to_lowercase|to_ascii_lowercase|trim|trim_start|trim_end|unwrap_or_default)\(\)|\?)*";
        const METHOD: &str = r"\.(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once|find|matches|eq|is_some_and|is_none_or)\(";
        let comparisons = [
            format!("{TEXT}{ADAPTED}{METHOD}"),
            format!(r"{TEXT}{ADAPTED}\s*(?:==|!=)\s*[^\s\d]"),
            r"(?:==|!=)\s*[&*]?(?:[a-z_]+(?:\(\))?\.)*(?:message|hint|detail)\b[^(:]".to_owned(),
            format!(r#"\bmatch\s+[^{{;]*\b(?:message|hint|detail){ADAPTED}\s*\{{\s*(?:Some\()?""#),
            r#"\bmatches!\([^;]*\b(?:message|hint|detail):\s*(?:Some\()?""#.to_owned(),
        ];
        let regex = |pattern: &str| Regex::new(pattern).expect("a valid pattern");
        Self { chain: regex(r"\s*\n\s*\."), comparisons: comparisons.iter().map(|it| regex(it)).collect() }
    }

    /// Returns the lines in which a text for people is compared with another.
    fn comparisons(&self, text: &str) -> Vec<String> {
        let code = self.code(text);
        let found = self.comparisons.iter().flat_map(|pattern| pattern.find_iter(&code));
        found.map(|place| place.as_str().to_owned()).collect()
    }

    /// Returns the code of a file without tests and comments, each chain of calls in one line.
    fn code(&self, text: &str) -> String {
        let end = ["#[cfg(test)]\nmod ", "#[test]"].iter().filter_map(|mark| text.find(mark)).min();
        let lines = text[..end.unwrap_or(text.len())].lines();
        let code: Vec<&str> = lines.filter(|line| !line.trim_start().starts_with("//")).collect();
        self.chain.replace_all(&code.join("\n"), ".").into_owned()
    }
}

#[test]
fn comparisons_of_texts_are_found() {
    let search = Search::new();
    for code in [
        "failure.message.starts_with(PREFIX)",
        "failure.hint.as_deref().is_some_and(|hint| hint == MAY_NOT_WRITE)",
        "if failure.message == CANCELLED {",
        "if CANCELLED == failure.message {",
        "error.to_string().contains(\"denied\")",
        "match failure.hint.as_deref() { Some(\"log in\") => 1",
        "matches!(failure, Failure { message: \"x\", .. })",
        "failure\n    .message\n    .to_lowercase()\n    .contains(\"x\")",
    ] {
        assert!(!search.comparisons(code).is_empty(), "{code}");
    }
    for code in [
        "failure.kind == FailureKind::Cancelled",
        "match &failure.detail { Some(detail) => detail",
        "format!(\"{}: {}\", failure.message, hint)",
        "columns.message == 0",
        "// failure.message == CANCELLED",
        "#[cfg(test)]\nmod tests { assert!(failure.message == \"x\") }",
    ] {
        assert_eq!(search.comparisons(code), Vec::<String>::new(), "{code}");
    }
}

#[test]
fn no_code_decides_by_a_text_for_people() {
    let search = Search::new();
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(crates()).expect("crates/ is there") {
        let folder = entry.expect("an entry can be read").path();
        let is_other = OTHERS.iter().any(|other| folder.ends_with(other));
        if !is_other && folder.join("src").is_dir() {
            sources(&folder.join("src"), &mut paths);
        }
    }
    assert!(!paths.is_empty());
    let mut found = Vec::new();
    let mut unused: Vec<&str> = ALLOWED.iter().map(|(path, _)| *path).collect();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a source is text");
        let places = search.comparisons(&text);
        match ALLOWED.iter().find(|(allowed, _)| path.ends_with(allowed)) {
            Some((allowed, _)) if !places.is_empty() => unused.retain(|path| path != allowed),
            _ => found.extend(places.into_iter().map(|place| format!("{}: {place}", path.display()))),
        }
    }
    assert!(
        found.is_empty(),
        "branch on FailureKind, or on an enum of the edge where the text enters: {found:#?}"
    );
    assert!(unused.is_empty(), "these need no exception any more: {unused:?}");
}
