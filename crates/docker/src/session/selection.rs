//! Selects the part of the context that a build needs: the paths that BuildKit found in `COPY` and `ADD`.
//!
//! Links among them are resolved here, because the receiver sees only what is sent.
#![expect(clippy::disallowed_methods, reason = "links in the build context are followed here")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Longer chains of links are loops.
const MAX_LINKS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Relative paths, including everything below them; none: everything.
    wanted: Option<BTreeSet<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inclusion {
    /// The path and everything below it.
    All,
    /// Only as a parent of a selected path.
    ParentOnly,
    Nothing,
}

impl Selection {
    pub(super) fn all() -> Self {
        Self::default()
    }

    /// Selects the paths that a build needs; no paths means everything.
    pub(super) fn follow(root: &Path, paths: &[String]) -> Self {
        let mut wanted = BTreeSet::new();
        for path in paths {
            if !add(root, &clean("", path), &mut wanted, 0) {
                return Self::all();
            }
        }
        if paths.is_empty() {
            return Self::all();
        }
        // Patterns may match nothing; BuildKit reports that.
        Self { wanted: Some(wanted) }
    }

    pub(super) fn is_all(&self) -> bool {
        self.wanted.is_none()
    }

    pub(super) fn inclusion(&self, relative: &str) -> Inclusion {
        let Some(wanted) = &self.wanted else { return Inclusion::All };
        let parents = relative.match_indices('/').map(|(end, _)| &relative[..end]);
        if wanted.contains(relative) || parents.into_iter().any(|parent| wanted.contains(parent)) {
            return Inclusion::All;
        }
        let below = format!("{relative}/");
        match wanted.range(below.clone()..).next() {
            Some(next) if next.starts_with(&below) => Inclusion::ParentOnly,
            _ => Inclusion::Nothing,
        }
    }
}

/// Adds a path, the links in it and their targets. False if everything is selected.
fn add(root: &Path, path: &[String], wanted: &mut BTreeSet<String>, links: usize) -> bool {
    let mut current = String::new();
    for (index, part) in path.iter().enumerate() {
        let rest = &path[index + 1..];
        if part.contains(['*', '?', '[', '\\']) {
            return add_matching(root, &current, part, rest, wanted, links);
        }
        let next = join(&current, part);
        let full = root.join(&next);
        if let Ok(target) = fs::read_link(&full) {
            wanted.insert(next);
            if links > MAX_LINKS {
                return true;
            }
            let target = target.to_string_lossy();
            let mut followed = clean(&current, &target);
            followed.extend_from_slice(rest);
            return add(root, &followed, wanted, links + 1);
        }
        current = next;
    }
    if current.is_empty() {
        return false;
    }
    wanted.insert(current);
    true
}

fn add_matching(
    root: &Path,
    directory: &str,
    pattern: &str,
    rest: &[String],
    wanted: &mut BTreeSet<String>,
    links: usize,
) -> bool {
    let Ok(entries) = fs::read_dir(root.join(directory)) else { return true };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        if !may_match(pattern.as_bytes(), name.as_bytes()) {
            continue;
        }
        let mut path: Vec<String> =
            directory.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        path.push(name);
        path.extend_from_slice(rest);
        if !add_literal_then_rest(root, &path, rest.len(), wanted, links) {
            return false;
        }
    }
    true
}

/// A matched name may contain pattern characters; only the rest is a pattern.
fn add_literal_then_rest(
    root: &Path,
    path: &[String],
    rest: usize,
    wanted: &mut BTreeSet<String>,
    links: usize,
) -> bool {
    let literal = &path[..path.len() - rest];
    if literal.iter().any(|part| part.contains(['*', '?', '[', '\\'])) {
        wanted.insert(literal.join("/"));
        return true;
    }
    add(root, path, wanted, links)
}

/// Matches a name against one component of Go's path pattern. `[…]` and `\` match anything: selecting too much is
/// only slower.
fn may_match(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.first(), name.first()) {
        (None, None) => true,
        (Some(b'[' | b'\\'), _) => true,
        (Some(b'*'), _) => {
            may_match(&pattern[1..], name) || (!name.is_empty() && may_match(pattern, &name[1..]))
        }
        (Some(b'?'), Some(_)) => {
            let width =
                std::str::from_utf8(name).ok().and_then(|name| name.chars().next()).map_or(1, char::len_utf8);
            may_match(&pattern[1..], &name[width..])
        }
        (Some(expected), Some(found)) if expected == found => may_match(&pattern[1..], &name[1..]),
        _ => false,
    }
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// Resolves `.` and `..` of a path relative to `directory`, without leaving the context.
fn clean(directory: &str, path: &str) -> Vec<String> {
    let base = if path.starts_with('/') { "" } else { directory };
    let mut parts: Vec<String> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn wanted(root: &Path, paths: &[&str]) -> Vec<String> {
        let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        Selection::follow(root, &paths).wanted.into_iter().flatten().collect()
    }

    #[test]
    fn nothing_or_the_root_means_everything() {
        let root = tempfile::tempdir().unwrap();
        for paths in [&[][..], &["."], &["/"], &["a", ""], &["a/.."]] {
            let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
            assert!(Selection::follow(root.path(), &paths).is_all(), "{paths:?}");
        }
    }

    #[test]
    fn links_are_followed_and_sent() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("real/deep")).unwrap();
        symlink("real/deep", root.path().join("short")).unwrap();
        symlink("/real", root.path().join("absolute")).unwrap();
        symlink("loop", root.path().join("loop")).unwrap();
        assert_eq!(wanted(root.path(), &["short/x"]), ["real/deep/x", "short"]);
        assert_eq!(wanted(root.path(), &["absolute/y"]), ["absolute", "real/y"]);
        assert_eq!(wanted(root.path(), &["loop"]), ["loop"]);
    }

    #[test]
    fn patterns_select_what_they_may_match() {
        let root = tempfile::tempdir().unwrap();
        for name in ["package.json", "package-lock.json", "other.json", "pä.json"] {
            fs::write(root.path().join(name), "").unwrap();
        }
        symlink("other.json", root.path().join("package-link.json")).unwrap();
        let expected = ["other.json", "package-link.json", "package-lock.json", "package.json"];
        assert_eq!(wanted(root.path(), &["package*.json"]), expected);
        assert_eq!(wanted(root.path(), &["p?.json"]), ["pä.json"]);
    }
}
