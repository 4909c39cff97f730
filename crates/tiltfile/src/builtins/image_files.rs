//! The files of an image: ignore rules for its context and for what triggers a build.

use std::path::{Path, PathBuf};

use lilt_model::files::IgnoreRule;

use crate::failure::raise;
use crate::load_state::LoadState;

/// The files that the user excludes, below each of the directories of an image.
#[derive(Debug, Default)]
pub(super) struct Filters {
    pub(super) ignore: Vec<String>,
    pub(super) only: Vec<String>,
    /// Its `<Dockerfile>.dockerignore` takes precedence over the directory's `.dockerignore`.
    pub(super) dockerfile: Option<PathBuf>,
}

/// Returns the rules of an image: the Tiltfile itself, git folders, and what the user excludes.
pub(super) fn ignores(
    state: &LoadState<'_>,
    directories: &[PathBuf],
    filters: &Filters,
) -> starlark::Result<Vec<IgnoreRule>> {
    let mut rules = vec![IgnoreRule::path(state.current_file())];
    rules.extend(ignores_in(state, directories, filters)?);
    Ok(rules)
}

/// Returns rules for git folders and for what the user excludes.
pub(super) fn ignores_in(
    state: &LoadState<'_>,
    directories: &[PathBuf],
    filters: &Filters,
) -> starlark::Result<Vec<IgnoreRule>> {
    let paths: Vec<PathBuf> = filters.dockerfile.iter().chain(directories).cloned().collect();
    let mut rules = git_dir_rules(state, &paths);
    let mut seen: Vec<&PathBuf> = Vec::new();
    for directory in directories {
        if seen.contains(&directory) || !state.system.is_dir(directory) {
            continue;
        }
        seen.push(directory);
        rules.extend(below(state, directory, filters)?);
    }
    Ok(rules)
}

fn below(state: &LoadState<'_>, directory: &Path, filters: &Filters) -> starlark::Result<Vec<IgnoreRule>> {
    let rule = |patterns: Vec<String>| IgnoreRule { base: directory.to_owned(), patterns };
    let mut rules = Vec::new();
    if !filters.ignore.is_empty() {
        rules.push(rule(filters.ignore.clone()));
    }
    if !filters.only.is_empty() {
        let exceptions = filters.only.iter().map(|path| format!("!{path}"));
        rules.push(rule(std::iter::once("**".to_owned()).chain(exceptions).collect()));
    }
    let file = dockerignore(state, directory, filters.dockerfile.as_deref());
    match state.read(&file) {
        Ok(content) => {
            let patterns = lilt_model::ignore::parse_patterns(&String::from_utf8_lossy(&content));
            if !patterns.is_empty() {
                rules.push(rule(patterns));
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(raise(state.unreadable(&file, &error))),
    }
    Ok(rules)
}

fn dockerignore(state: &LoadState<'_>, directory: &Path, dockerfile: Option<&Path>) -> PathBuf {
    let own = dockerfile.map(|dockerfile| {
        let mut own = dockerfile.as_os_str().to_owned();
        own.push(".dockerignore");
        PathBuf::from(own)
    });
    own.filter(|own| state.system.exists(own)).unwrap_or_else(|| directory.join(".dockerignore"))
}

/// Returns a rule for the `.git` folder of each path that is the root of a repository.
pub(super) fn git_dir_rules(state: &LoadState<'_>, paths: &[PathBuf]) -> Vec<IgnoreRule> {
    let mut found: Vec<IgnoreRule> = Vec::new();
    for path in paths {
        let rule = IgnoreRule::path(path.join(".git"));
        if state.is_git_dir(&rule.base) && !found.contains(&rule) {
            found.push(rule);
        }
    }
    found
}
