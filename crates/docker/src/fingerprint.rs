//! Fingerprints the inputs of a build: its options and all files of its context.
//!
//! Small contexts are fingerprinted by content, so that rewriting a file with the same content changes nothing.
//! Larger ones are fingerprinted by names, sizes, modes and times, like in BuildKit: it must cost less than the build
//! that it may avoid.
#![expect(clippy::disallowed_methods, reason = "files of the build context are read here")]

use std::path::Path;

use bollard_buildkit_proto::fsutil::types::Stat;
use lilt_model::Timestamp;
use lilt_model::ignore::Matcher;
use lilt_model::image::DockerBuild;
use sha2::{Digest as _, Sha256};

use crate::address::hex;
use crate::session::{has_content, list_up_to};

/// Contexts up to this size are read.
const MAX_FILES_READ: usize = 4_000;
const MAX_BYTES_READ: i64 = 16 * 1024 * 1024;
/// Larger contexts have no fingerprint.
const MAX_FILES: usize = 100_000;
/// In microseconds. On any file system, writes at least this far apart have different times.
const TIME_GRANULARITY: i64 = 2_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Equal if the inputs are equal, also in later sessions.
    pub key: String,
    /// Detects writes that times cannot: compared with a fingerprint of the same `since`, equal if nothing was
    /// written between the two.
    pub check: String,
}

/// Fingerprints a build; none if the context is too large or cannot be read. Blocks.
///
/// Files written shortly before `since` or later are always read.
pub fn fingerprint(build: &DockerBuild, since: Timestamp) -> Option<Fingerprint> {
    let [root] = build.context.roots.as_slice() else { return None };
    let ignores = Matcher::new(&build.context.ignores).ok()?;
    let listed = list_up_to(root, &ignores, MAX_FILES)?;
    let is_read = listed.len() <= MAX_FILES_READ
        && listed.iter().map(|entry| entry.size).sum::<i64>() <= MAX_BYTES_READ;
    let since = since.0.saturating_sub(TIME_GRANULARITY);
    let (mut key, mut check) = (Hasher::default(), Hasher::default());
    key.add(serde_json::to_string(build).ok()?.as_bytes());
    for entry in listed {
        add_name(&mut key, &entry);
        if is_read && has_content(&entry) {
            key.add(&content(root, &entry)?);
        }
        // Times of files that are read do not count, and directories change with their content.
        if !is_read && has_content(&entry) {
            key.add(&entry.size.to_le_bytes());
            key.add(&entry.mod_time.to_le_bytes());
            // BuildKit's times are in nanoseconds.
            if entry.mod_time / 1_000 >= since {
                add_name(&mut check, &entry);
                check.add(&content(root, &entry)?);
            }
        }
    }
    Some(Fingerprint { key: key.end(), check: check.end() })
}

fn add_name(sum: &mut Hasher, entry: &Stat) {
    sum.add(entry.path.as_bytes());
    sum.add(&entry.mode.to_le_bytes());
    sum.add(entry.linkname.as_bytes());
}

fn content(root: &Path, entry: &Stat) -> Option<Vec<u8>> {
    std::fs::read(root.join(&entry.path)).ok()
}

#[derive(Default)]
struct Hasher(Sha256);

impl Hasher {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes.len().to_le_bytes());
        self.0.update(bytes);
    }

    fn end(self) -> String {
        hex(&self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    use lilt_model::files::{FileSet, IgnoreRule};

    use super::*;

    fn build(root: &Path) -> DockerBuild {
        let ignores = vec![IgnoreRule::path(root.join("ignored"))];
        DockerBuild {
            context: FileSet::new(vec![root.to_owned()], ignores),
            dockerfile: "FROM scratch\nCOPY . /\n".into(),
            ..DockerBuild::default()
        }
    }

    fn key(build: &DockerBuild) -> String {
        fingerprint(build, Timestamp::ZERO).unwrap().key
    }

    fn touch(path: &Path, seconds: u64) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn small_context_ignores_times() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/b"), "one").unwrap();
        fs::write(root.join("ignored"), "one").unwrap();
        let first = key(&build(root));
        touch(&root.join("a/b"), 77);
        fs::write(root.join("ignored"), "two").unwrap();
        assert_eq!(key(&build(root)), first);

        fs::write(root.join("a/b"), "two").unwrap();
        let second = key(&build(root));
        assert_ne!(second, first);
        fs::set_permissions(root.join("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(key(&build(root)), second);
        let mut other = build(root);
        other.build_args = vec![("A".into(), "1".into())];
        assert_ne!(key(&other), key(&build(root)));
    }

    #[test]
    fn large_context_includes_times() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let large = fs::File::create(root.join("large")).unwrap();
        large.set_len(16 * 1024 * 1024 + 1).unwrap();
        fs::write(root.join("small"), "one").unwrap();
        touch(&root.join("large"), 5);
        touch(&root.join("small"), 5);
        let since = Timestamp(60_000_000);
        let first = fingerprint(&build(root), since).unwrap();
        assert_eq!(fingerprint(&build(root), since).unwrap(), first);
        touch(&root.join("small"), 6);
        assert_ne!(fingerprint(&build(root), since).unwrap().key, first.key);

        // Two writes with the same time.
        touch(&root.join("small"), 59);
        let before = fingerprint(&build(root), since).unwrap();
        fs::write(root.join("small"), "two").unwrap();
        touch(&root.join("small"), 59);
        let after = fingerprint(&build(root), since).unwrap();
        assert_eq!(after.key, before.key);
        assert_ne!(after.check, before.check);

        assert_eq!(fingerprint(&build(&root.join("gone")), since), None);
    }
}
