//! Decides which paths a set of [`IgnoreRule`]s ignores, with the semantics of `.dockerignore` (moby's pattern matcher,
//! not gitignore's).
//!
//! A pattern is a path relative to the rule's base. One that matches a directory covers everything below it. The last
//! pattern that matches wins, and `!` makes it an exception. Nothing here accesses the file system: paths are texts.

mod pattern;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::files::IgnoreRule;
use pattern::Pattern;

/// Compiled rules. A path is ignored if any rule's base contains it and that rule's last matching pattern is not
/// an exception (`!…`).
///
/// Rules are indexed by base, so that a check costs one lookup per ancestor of the path, however many rules there are.
#[derive(Debug, Default)]
pub struct Matcher {
    bases: HashMap<PathBuf, Base>,
}

/// All rules of one directory.
#[derive(Debug, Default)]
struct Base {
    /// Whether a rule has no patterns, which ignores the base and everything below it.
    whole: bool,
    /// One list per rule: exceptions apply within their own list only.
    lists: Vec<Vec<Pattern>>,
}

#[derive(Debug, thiserror::Error)]
#[error("bad ignore pattern {pattern:?}: {cause}")]
pub struct PatternError {
    pub pattern: String,
    pub cause: String,
}

impl Matcher {
    pub fn new(rules: &[IgnoreRule]) -> Result<Self, PatternError> {
        let mut bases: HashMap<PathBuf, Base> = HashMap::new();
        for rule in rules {
            let patterns = compile(rule)?;
            let base = bases.entry(rule.base.clone()).or_default();
            if rule.patterns.is_empty() {
                base.whole = true;
            } else if patterns.iter().any(|pattern| !pattern.exception) {
                base.lists.push(patterns);
            }
        }
        Ok(Self { bases })
    }

    /// Returns whether an absolute path is ignored.
    pub fn ignores(&self, path: &Path) -> bool {
        self.any_base(path, |base, below| {
            base.whole || (!below.is_empty() && base.lists.iter().any(|list| list_ignores(list, below)))
        })
    }

    /// Returns whether everything below this directory is certainly ignored, so that it need not be walked or watched.
    pub fn ignores_all_below(&self, directory: &Path) -> bool {
        self.any_base(directory, |base, below| {
            base.whole || base.lists.iter().any(|list| list_ignores_all_below(list, below))
        })
    }

    /// Returns whether `ask` holds for any base that contains the path, with the path relative to it (empty for the base).
    fn any_base(&self, path: &Path, mut ask: impl FnMut(&Base, &str) -> bool) -> bool {
        if self.bases.is_empty() {
            return false;
        }
        path.ancestors().any(|ancestor| {
            let Some(base) = self.bases.get(ancestor) else { return false };
            let below = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            // A name that is not UTF-8 can only match a wildcard, and so does the replacement character.
            ask(base, &below.to_string_lossy())
        })
    }
}

fn compile(rule: &IgnoreRule) -> Result<Vec<Pattern>, PatternError> {
    let mut compiled = Vec::with_capacity(rule.patterns.len());
    for text in &rule.patterns {
        let (exception, body) = split_exception(text);
        if body.is_empty() {
            if exception {
                return Err(PatternError {
                    pattern: text.clone(),
                    cause: "an exception needs a pattern".into(),
                });
            }
            continue;
        }
        let cleaned = relative_to_base(&clean(body), &rule.base);
        // "." is the base itself, which patterns cannot ignore. Paths outside the base are never checked.
        if cleaned == "." || cleaned == ".." || cleaned.starts_with("../") {
            continue;
        }
        let pattern = Pattern::parse(&cleaned, exception)
            .map_err(|cause| PatternError { pattern: text.clone(), cause: cause.into() })?;
        compiled.push(pattern);
    }
    Ok(compiled)
}

/// Resolves a pattern against the base. A leading `/` means the base, as in a `.dockerignore`; in a Tiltfile, a pattern
/// may also be an absolute path below the base.
fn relative_to_base(cleaned: &str, base: &Path) -> String {
    if !cleaned.starts_with('/') {
        return cleaned.to_owned();
    }
    if let Ok(below) = Path::new(cleaned).strip_prefix(base)
        && base != Path::new("/")
        && let Some(text) = below.to_str()
    {
        return if text.is_empty() { "**".to_owned() } else { text.to_owned() };
    }
    match cleaned.trim_start_matches('/') {
        "" => ".".to_owned(),
        text => text.to_owned(),
    }
}

fn list_ignores(patterns: &[Pattern], path: &str) -> bool {
    let mut ignored = false;
    for pattern in patterns {
        // Only a pattern that would change the result needs matching.
        if pattern.exception == ignored && pattern.matches_path_or_parent(path) {
            ignored = !pattern.exception;
        }
    }
    ignored
}

fn list_ignores_all_below(patterns: &[Pattern], directory: &str) -> bool {
    let mut ignored = false;
    for pattern in patterns {
        if pattern.exception {
            ignored = ignored && !pattern.may_match_below(directory);
        } else {
            ignored = ignored || pattern.matches_all_below(directory);
        }
    }
    ignored
}

fn split_exception(text: &str) -> (bool, &str) {
    let text = text.trim();
    match text.strip_prefix('!') {
        Some(rest) => (true, rest.trim()),
        None => (false, text),
    }
}

/// Returns the patterns of a `.dockerignore` in order, without comments and blank lines, cleaned and relative.
pub fn parse_patterns(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.map(normalise_line).collect()
}

fn normalise_line(line: &str) -> String {
    let (exception, body) = split_exception(line);
    let cleaned = if body.is_empty() { String::new() } else { clean(body) };
    let relative = if cleaned.len() > 1 { cleaned.trim_start_matches('/') } else { &cleaned };
    if exception { format!("!{relative}") } else { relative.to_owned() }
}

/// Returns the shortest equivalent path: no empty or `.` parts, no trailing `/`, `..` resolved if possible.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}
