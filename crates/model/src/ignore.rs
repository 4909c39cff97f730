//! Which paths a set of [`IgnoreRule`]s leaves out, by `.dockerignore` semantics (moby's pattern matcher).

use std::path::Path;

use crate::files::IgnoreRule;

/// Compiled rules. A path is ignored if any rule's base contains it and that rule's last matching pattern is not
/// an exception (`!…`).
#[derive(Debug, Default)]
pub struct Matcher {}

#[derive(Debug, thiserror::Error)]
#[error("bad ignore pattern {pattern:?}: {cause}")]
pub struct PatternError {
    pub pattern: String,
    pub cause: String,
}

impl Matcher {
    pub fn new(_rules: &[IgnoreRule]) -> Result<Self, PatternError> {
        Ok(Self {})
    }

    /// Whether this path (absolute) is left out.
    pub fn ignores(&self, _path: &Path) -> bool {
        false
    }

    /// Whether everything below this directory is left out for certain, so that it need not be walked or watched.
    pub fn ignores_all_below(&self, _directory: &Path) -> bool {
        false
    }
}
