//! Conversions of paths, variables and names to and from their form in objects.

use std::path::{Component, Path, PathBuf};

use lilt_model::ImageName;

pub(crate) fn path_text(path: &Path) -> String {
    path.display().to_string()
}

/// Resolves a path of an object against `folder`. An empty path is `folder` itself.
pub(crate) fn resolve_path(folder: &Path, path: &str) -> PathBuf {
    if path.is_empty() { folder.to_owned() } else { folder.join(path) }
}

/// Returns the path of `target` relative to `base`, without accessing the file system.
pub(crate) fn relative_path(base: &Path, target: &Path) -> String {
    let shared = base.components().zip(target.components()).take_while(|(one, other)| one == other).count();
    let up = base.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(target.components().skip(shared)).collect();
    if relative.as_os_str().is_empty() { ".".to_owned() } else { path_text(&relative) }
}

/// Formats variables or build arguments as `NAME=value`.
pub(crate) fn assignments(pairs: &[(String, String)]) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Parses `NAME=value`. The value of a bare name is empty.
pub(crate) fn parse_assignments(texts: &[String]) -> Vec<(String, String)> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (name.to_owned(), value.to_owned())
    };
    texts.iter().map(pair).collect()
}

/// Returns `name` without characters that are not allowed in paths of the API.
pub fn sanitize_name(name: &str) -> String {
    match name {
        "." | ".." => name.replace('.', "_"),
        _ => name.replace(['/', '%'], "_"),
    }
}

/// Returns the names of the `ImageMap` objects of images.
pub(crate) fn image_map_names(images: &[ImageName]) -> Vec<String> {
    images.iter().map(|name| sanitize_name(name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_path_leads_from_base_to_target() {
        for (base, target, expected) in
            [("/a/b", "/a/b/c/d", "c/d"), ("/a/b", "/a/x", "../x"), ("/a", "/a", "."), ("/a/b", "/", "../..")]
        {
            assert_eq!(relative_path(Path::new(base), Path::new(target)), expected);
        }
    }

    #[test]
    fn names_of_extensions_become_names_of_objects() {
        assert_eq!(sanitize_name("tests/golang"), "tests_golang");
        assert_eq!(sanitize_name("a%b"), "a_b");
        assert_eq!(sanitize_name(".."), "__");
        assert_eq!(sanitize_name("cert_manager"), "cert_manager");
    }
}
