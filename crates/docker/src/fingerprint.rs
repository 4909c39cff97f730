//! What a build is made from, as one digest: the recipe, and the names, modes and contents of all files of its context.
//!
//! Times do not count: a file that was written anew with the same content is the same. Small contexts only; it must cost
//! less than the build that it may spare.
#![expect(clippy::disallowed_methods, reason = "files of the build context are read here")]

use lilt_model::ignore::Matcher;
use lilt_model::image::DockerBuild;
use sha2::{Digest as _, Sha256};

use crate::address::hex;
use crate::session::{has_content, list_at_most};

/// Larger contexts have none: BuildKit finds out what changed in them without reading it all.
const MOST_FILES: usize = 4_000;
const MOST_BYTES: i64 = 16 * 1024 * 1024;

/// None if there is none: the context is large, or something of it cannot be read. Blocks.
pub fn fingerprint(build: &DockerBuild) -> Option<String> {
    let [root] = build.context.roots.as_slice() else { return None };
    let ignores = Matcher::new(&build.context.ignores).ok()?;
    let listed = list_at_most(root, &ignores, MOST_FILES)?;
    if listed.iter().map(|entry| entry.size).sum::<i64>() > MOST_BYTES {
        return None;
    }
    let mut digest = Sha256::new();
    let mut add = |bytes: &[u8]| {
        digest.update(bytes.len().to_le_bytes());
        digest.update(bytes);
    };
    add(serde_json::to_string(build).ok()?.as_bytes());
    for entry in listed {
        add(entry.path.as_bytes());
        add(&entry.mode.to_le_bytes());
        add(entry.linkname.as_bytes());
        if has_content(&entry) {
            add(&std::fs::read(root.join(&entry.path)).ok()?);
        }
    }
    Some(hex(&digest.finalize()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use lilt_model::files::{FileSet, IgnoreRule};

    use super::*;

    fn build(root: &Path) -> DockerBuild {
        let ignores = vec![IgnoreRule::path(root.join("ignored"))];
        DockerBuild {
            context: FileSet { roots: vec![root.to_owned()], ignores },
            dockerfile: "FROM scratch\nCOPY . /\n".into(),
            ..DockerBuild::default()
        }
    }

    #[test]
    fn content_counts_and_time_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/b"), "one").unwrap();
        fs::write(root.join("ignored"), "one").unwrap();
        let first = fingerprint(&build(root)).unwrap();
        let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(77);
        let file = fs::File::options().write(true).open(root.join("a/b")).unwrap();
        file.set_modified(later).unwrap();
        fs::write(root.join("ignored"), "two").unwrap();
        assert_eq!(fingerprint(&build(root)).unwrap(), first);

        fs::write(root.join("a/b"), "two").unwrap();
        let second = fingerprint(&build(root)).unwrap();
        assert_ne!(second, first);
        fs::set_permissions(root.join("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(fingerprint(&build(root)).unwrap(), second);
        let mut other = build(root);
        other.build_args = vec![("A".into(), "1".into())];
        assert_ne!(fingerprint(&other), fingerprint(&build(root)));
    }

    #[test]
    fn large_contexts_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let large = fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(16 * 1024 * 1024 + 1).unwrap();
        assert_eq!(fingerprint(&build(folder.path())), None);
        assert_eq!(fingerprint(&build(&folder.path().join("gone"))), None);
    }
}
