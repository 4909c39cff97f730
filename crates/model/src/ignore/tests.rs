use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{Matcher, clean, parse_patterns};
use crate::files::IgnoreRule;

fn matcher(patterns: &[&str]) -> Matcher {
    let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    Matcher::new(&[IgnoreRule { base: "/src".into(), patterns }]).expect("the patterns are good")
}

fn ignores(patterns: &[&str], path: &str) -> bool {
    matcher(patterns).ignores(&Path::new("/src").join(path))
}

#[test]
fn single_patterns_match_as_moby_does() {
    let table: &[(&str, &str, bool)] = &[
        ("**", "file", true),
        ("**", "dir/file", true),
        ("**/", "file", true),
        ("**/", "dir/file", true),
        ("**/**", "dir/file", true),
        ("dir/**", "dir/file", true),
        ("dir/**", "dir/dir2/file", true),
        ("dir/**", "dir", false),
        ("dir/**", "dirx/file", false),
        ("**/dir2/*", "dir/dir2/file", true),
        ("**/dir2/*", "dir/dir2/dir2/file", true),
        ("**/dir2/**", "dir/dir2/dir2/file", true),
        ("**/dir2/**", "dir2", false),
        ("**file", "file", true),
        ("**file", "dir/file", true),
        ("**file", "dirfile", true),
        ("**/file", "file", true),
        ("**/file", "dir/dir/file", true),
        ("**/file", "dir/afile", false),
        ("**/file*", "dir/dir/file.txt", true),
        ("**/file*txt", "dir/dir/file.txt", true),
        ("**/file*.txt*", "dir/dir/file.txt.bak", true),
        ("**/**/*.txt", "dir/dir/file.txt", true),
        ("**/**/*.txt2", "dir/dir/file.txt", false),
        ("**/*.txt", "file.txt", true),
        ("**/**/*.txt*", "dir/dir/file.txt", true),
        ("a**/*.txt", "a/dir/file.txt", true),
        ("a**/*.txt", "a/file.txt", true),
        ("a**/*.txt", "b/file.txt", false),
        ("a[b-d]e", "ae", false),
        ("a[b-d]e", "ace", true),
        ("a[b-d]e", "aae", false),
        ("a[^b-d]e", "aze", true),
        ("a[^b-d]e", "ace", false),
        (".*", ".foo", true),
        (".*", "foo", false),
        ("abc.def", "abcdef", false),
        ("abc.def", "abc.def", true),
        ("abc.def", "abcZdef", false),
        ("abc?def", "abcZdef", true),
        ("abc?def", "abcdef", false),
        ("a?c", "a/c", false),
        ("a*c", "a/c", false),
        ("a\\*b", "a*b", true),
        ("a\\*b", "axb", false),
        ("a\\\\", "a\\", true),
        ("**/foo/bar", "foo/bar", true),
        ("**/foo/bar", "dir/dir2/foo/bar", true),
        ("abc/**", "abc/def/ghi", true),
        ("**/.foo", ".foo", true),
        ("**/.foo", "bar.foo", false),
        ("a(b)c/def", "a(b)c/def", true),
        ("a(b)c/def", "a(b)c/xyz", false),
        ("a.|)$(}+{bc", "a.|)$(}+{bc", true),
        (
            "dist/proxy.py-2.4.0rc3.dev36+g08acad9-py3-none-any.whl",
            "dist/proxy.py-2.4.0rc3.dev36+g08acad9-py3-none-any.whl",
            true,
        ),
        ("ünïcode?", "ünïcodeé", true),
        // Only the base's own entries, not any depth as in gitignore.
        ("*.md", "README.md", true),
        ("*.md", "docs/README.md", false),
        ("*/temp*", "somedir/temporary.txt", true),
        ("*/temp*", "somedir/temp/file", true),
        ("*/temp*", "temp", false),
        ("*/*/temp*", "somedir/subdir/temporary.txt", true),
        ("temp?", "tempa", true),
        ("temp?", "temp", false),
        // Cleaning, leading and trailing slashes, white space.
        ("/foo", "foo", true),
        ("/foo", "bar/foo", false),
        ("foo/", "foo", true),
        ("foo/", "foo/bar/baz", true),
        ("./foo", "foo", true),
        ("foo/../bar", "bar", true),
        (" foo ", "foo", true),
        ("foo//bar", "foo/bar", true),
        (".", "foo", false),
        ("/", "foo", false),
        ("../foo", "foo", false),
        // A match of a parent covers what is below it.
        ("node_modules", "node_modules/a/b.js", true),
        ("node_modules", "node_modules2/a", false),
        ("**/node_modules", "web/node_modules/a/b.js", true),
        ("a/*/c", "a/b/c/d/e", true),
        // The full path of something below the base.
        ("/src/foo", "foo/bar", true),
    ];
    for (pattern, path, expected) in table {
        assert_eq!(ignores(&[pattern], path), *expected, "pattern {pattern:?}, path {path:?}");
    }
}

#[test]
fn the_last_match_wins() {
    let table: &[(&[&str], &str, bool)] = &[
        (&["*.md", "!README.md"], "README.md", false),
        (&["*.md", "!README.md"], "OTHER.md", true),
        (&["*.md", "!README*.md", "README-secret.md"], "README-secret.md", true),
        (&["*.md", "README-secret.md", "!README*.md"], "README-secret.md", false),
        (&["docs", "!docs/README.md"], "docs/README.md", false),
        (&["docs", "!docs/README.md"], "docs/other.md", true),
        (&["docs", "!docs/api"], "docs/api/deep/file", false),
        (&["!docs/README.md", "docs"], "docs/README.md", true),
        (&["**", "!src"], "src/main.rs", false),
        (&["**", "!src"], "target/debug", true),
        (&["**", "!**/*.go"], "a/b/c.go", false),
        (&["util/docker/**", "!util/docker/web"], "util/docker/web/foo", false),
        (&["/a", "!/a/b"], "a/b", false),
        (&["a", "! a/b"], "a/b", false),
    ];
    for (patterns, path, expected) in table {
        assert_eq!(ignores(patterns, path), *expected, "patterns {patterns:?}, path {path:?}");
    }
}

#[test]
fn bad_patterns_are_refused_with_their_cause() {
    for pattern in ["[", "a[", "[]a]", "[-x]", "[x-]", "[x", "[a-b-c]", "a\\", "!", "! "] {
        let rule = IgnoreRule { base: "/src".into(), patterns: vec![pattern.into()] };
        let error = Matcher::new(&[rule]).expect_err(pattern);
        assert!(error.to_string().contains("bad ignore pattern"), "{error}");
    }
}

#[test]
fn a_rule_without_patterns_is_its_base_and_all_below() {
    let matcher = Matcher::new(&[IgnoreRule::path("/src/out")]).expect("no patterns");
    assert!(matcher.ignores(Path::new("/src/out")));
    assert!(matcher.ignores(Path::new("/src/out/a/b")));
    assert!(matcher.ignores_all_below(Path::new("/src/out")));
    assert!(matcher.ignores_all_below(Path::new("/src/out/a")));
    assert!(!matcher.ignores(Path::new("/src/output")));
    assert!(!matcher.ignores(Path::new("/src")));
    assert!(!matcher.ignores_all_below(Path::new("/src")));
}

#[test]
fn long_paths_may_have_wildcards() {
    let long = format!("{}x/**/*.js", "directory/".repeat(40));
    assert!(ignores(&[&long], &format!("{}x/a/b/c.js", "directory/".repeat(40))));
    assert!(!ignores(&[&long], &format!("{}y/a/b/c.js", "directory/".repeat(40))));
}

#[test]
fn rules_are_independent() {
    let rule = |base: &str, patterns: &[&str]| IgnoreRule {
        base: base.into(),
        patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
    };
    let matcher =
        Matcher::new(&[rule("/src", &["web"]), rule("/src", &["!web"]), rule("/src/web", &["!a", "b"])])
            .expect("the patterns are good");
    assert!(matcher.ignores(Path::new("/src/web/a")));
    assert!(matcher.ignores(Path::new("/src/web/b")));
    assert!(!matcher.ignores(Path::new("/src/b")));
    assert!(!matcher.ignores(Path::new("/other/web")));
}

#[test]
fn directories_are_skipped_only_when_nothing_below_comes_back() {
    let table: &[(&[&str], &str, bool)] = &[
        (&["node_modules"], "node_modules", true),
        (&["node_modules"], "node_modules/a", true),
        (&["node_modules"], "", false),
        (&["**/node_modules"], "web/node_modules", true),
        (&["target/**"], "target", true),
        (&["target/*"], "target", true),
        (&["target/*.o"], "target", false),
        (&["*"], "", true),
        (&["**"], "", true),
        (&["**", "!src"], "", false),
        (&["**", "!src"], "src", false),
        (&["**", "!src"], "docs", true),
        (&["**", "!src/*/keep"], "src", false),
        (&["**", "!src/*/keep"], "src/a", false),
        (&["**", "!src/*/keep"], "src/a/keep", false),
        (&["**", "!src/*/keep"], "src/a/lose", true),
        (&["**", "!**/*.go"], "docs", false),
        (&["docs", "!docs/README.md"], "docs", false),
        (&["docs", "!docs/README.md"], "docs/api", true),
        (&["docs", "!docs/README.md", "docs"], "docs", true),
        (&["docs", "!doc"], "docs", true),
        (&["**", "!docs/a/*.md"], "docs", false),
        (&["**", "!docs/a/*.md"], "docs/a", false),
        (&["**", "!docs/a/*.md"], "docs/b", true),
        (&["docs/a/*"], "docs", false),
    ];
    for (patterns, directory, expected) in table {
        let directory_path = Path::new("/src").join(directory);
        assert_eq!(
            matcher(patterns).ignores_all_below(&directory_path),
            *expected,
            "{patterns:?} {directory:?}"
        );
    }
}

#[test]
fn a_dockerignore_is_read_as_docker_reads_it() {
    let text = "\u{feff}# comment\n\n  node_modules/  \r\n/dist\n!  /dist/keep/\n #not a comment\n./a//b/../c\n/\n!\n";
    assert_eq!(
        parse_patterns(text),
        ["node_modules", "dist", "!dist/keep", "#not a comment", "a/c", "/", "!"]
    );
}

#[test]
fn paths_are_cleaned() {
    for (path, expected) in [
        ("a/./b", "a/b"),
        ("/..//a/", "/a"),
        ("a/..", "."),
        ("../../a", "../../a"),
        ("/", "/"),
        ("a/../../b", "../b"),
    ] {
        assert_eq!(clean(path), expected, "{path:?}");
    }
}

#[test]
fn a_thousand_rules_still_answer() {
    let rules: Vec<_> = (0..1_000).map(|number| IgnoreRule::path(format!("/src/{number}/out"))).collect();
    let matcher = Matcher::new(&rules).expect("no patterns");
    assert!(matcher.ignores(Path::new("/src/999/out/file")));
    assert!(!matcher.ignores(Path::new("/src/1000/out/file")));
}

fn name() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["a", "b", "ab", "ba", ".c"]).prop_map(str::to_owned)
}

fn pattern() -> impl Strategy<Value = String> {
    let part = proptest::sample::select(vec![
        "a", "b", "ab", "*", "**", "?", "a*", "*b", "[^a]", "[ab]", ".*", "**b", "a**",
    ]);
    (any::<bool>(), proptest::collection::vec(part, 1..4))
        .prop_map(|(exception, parts)| format!("{}{}", if exception { "!" } else { "" }, parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_skipped_is_ignored(
        patterns in proptest::collection::vec(pattern(), 1..5),
        directory in proptest::collection::vec(name(), 0..4),
        below in proptest::collection::vec(name(), 1..4),
    ) {
        let rule = IgnoreRule { base: "/base".into(), patterns };
        let matcher = Matcher::new(&[rule]).expect("the generated patterns are good");
        let directory: PathBuf = Path::new("/base").join(directory.join("/"));
        let path = directory.join(below.join("/"));
        if matcher.ignores_all_below(&directory) {
            prop_assert!(matcher.ignores(&path), "{} below {}", path.display(), directory.display());
        }
    }

    /// The automaton against moby's own way: a regular expression, tried on the path and each parent.
    #[test]
    fn agrees_with_the_regular_expression(pattern in pattern(), path in proptest::collection::vec(name(), 1..5)) {
        let pattern = pattern.trim_start_matches('!');
        let expression = regular_expression(&clean(pattern));
        let parents = (1..=path.len()).map(|length| path[..length].join("/"));
        let expected = parents.into_iter().any(|parent| expression.is_match(&parent));
        prop_assert_eq!(ignores(&[pattern], &path.join("/")), expected, "{} on {}", pattern, path.join("/"));
    }
}

/// moby's documented translation, without its shortcuts; `**suffix` is the one shortcut that means something else.
fn regular_expression(pattern: &str) -> regex::Regex {
    if let Some(suffix) = pattern.strip_prefix("**")
        && !suffix.is_empty()
        && !suffix.starts_with('/')
        && !suffix.contains(['*', '?', '[', ']', '\\'])
    {
        return regex::Regex::new(&format!("^.*{}$", regex::escape(suffix))).expect("an escaped suffix");
    }
    let expression = regex::escape(pattern)
        .replace(r"\[", "[")
        .replace(r"\]", "]")
        .replace(r"\^", "^")
        .replace(r"\?", "[^/]")
        .replace(r"\*\*/", "\u{1}")
        .replace(r"\*\*", "\u{1}")
        .replace(r"\*", "[^/]*");
    let expression = match expression.strip_suffix('\u{1}') {
        Some(start) => format!("{start}.*"),
        None => expression,
    };
    regex::Regex::new(&format!("^{}$", expression.replace('\u{1}', "(.*/)?"))).expect("a translated pattern")
}
