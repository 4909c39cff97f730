//! Lists a build context in the order of BuildKit's file sync: depth first, parents before children, names sorted by
//! bytes. Modes are those of Go's `os.FileMode`.
#![expect(clippy::disallowed_methods, reason = "the build context is listed here")]

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use bollard_buildkit_proto::fsutil::types::Stat;
use lilt_model::ignore::Matcher;

use super::diff_copy::Source;
use super::selection::{Inclusion, Selection};

const GO_DIRECTORY: u32 = 1 << 31;
const GO_SYMLINK: u32 = 1 << 27;
const GO_NAMED_PIPE: u32 = 1 << 25;
const GO_SETUID: u32 = 1 << 23;
const GO_SETGID: u32 = 1 << 22;
const GO_STICKY: u32 = 1 << 20;
/// The mode bits of everything that is not a regular file.
const GO_NOT_A_FILE: u32 = GO_DIRECTORY | GO_SYMLINK | GO_NAMED_PIPE;

/// Whether the receiver may request the content.
pub(crate) fn has_content(stat: &Stat) -> bool {
    stat.mode & GO_NOT_A_FILE == 0
}

pub(crate) fn is_directory(stat: &Stat) -> bool {
    stat.mode & GO_DIRECTORY != 0
}

/// Lists everything that is not ignored.
pub(crate) fn list_all(source: &Source) -> Result<Vec<Stat>, String> {
    walk(&source.context, &source.ignores, &Selection::all())
}

/// Like [`list_all`]; none if there are more than `limit` files, or if they cannot be read.
pub(crate) fn list_up_to(root: &Path, ignores: &Matcher, limit: usize) -> Option<Vec<Stat>> {
    walk_up_to(root, ignores, &Selection::all(), limit).ok()
}

/// Lists what is below `root`, without ignored and unselected paths.
pub(super) fn walk(root: &Path, ignores: &Matcher, selection: &Selection) -> Result<Vec<Stat>, String> {
    walk_up_to(root, ignores, selection, usize::MAX)
}

fn walk_up_to(
    root: &Path,
    ignores: &Matcher,
    selection: &Selection,
    limit: usize,
) -> Result<Vec<Stat>, String> {
    let mut walk = Walk { root, ignores, selection, limit, found: Vec::new(), pending: Vec::new() };
    walk.directory(root, "", selection.is_all())?;
    Ok(walk.found)
}

/// Returns the topmost ignored paths.
pub(crate) fn ignored(source: &Source) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    collect_ignored(source, &source.context, "", &mut found)?;
    Ok(found)
}

/// Collects ignored paths below a directory; whether anything in it is not ignored.
fn collect_ignored(
    source: &Source,
    directory: &Path,
    relative: &str,
    found: &mut Vec<String>,
) -> Result<bool, String> {
    let mut seen = false;
    for name in names(directory, directory == source.context)? {
        let path = directory.join(&name);
        let relative = if relative.is_empty() { name } else { format!("{relative}/{name}") };
        let ignored = source.ignores.ignores(&path);
        let before = found.len();
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|about| about.is_dir());
        let below = is_directory
            && !source.ignores.ignores_all_below(&path)
            && collect_ignored(source, &path, &relative, found)?;
        if ignored && !below {
            found.truncate(before);
            found.push(relative);
        } else {
            seen = true;
        }
    }
    Ok(seen)
}

/// Returns the names in a directory, sorted by bytes. A deleted directory counts as empty, unless it is the root.
fn names(directory: &Path, is_root: bool) -> Result<Vec<String>, String> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_root => return Ok(Vec::new()),
        entries => entries.map_err(|error| unreadable(directory, &error))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| unreadable(directory, &error))?.file_name();
        names.push(name.into_string().map_err(|name| {
            format!("the name {name:?} in {} is not UTF-8, which BuildKit cannot take", directory.display())
        })?);
    }
    names.sort_unstable();
    Ok(names)
}

struct Walk<'a> {
    root: &'a Path,
    ignores: &'a Matcher,
    selection: &'a Selection,
    /// Fails if there are more.
    limit: usize,
    found: Vec<Stat>,
    /// Directories that are only listed if something below them is: ignored ones with exceptions, and parents of
    /// selected paths.
    pending: Vec<Stat>,
}

impl Walk<'_> {
    /// `all`: everything below is selected.
    fn directory(&mut self, directory: &Path, relative: &str, all: bool) -> Result<(), String> {
        for name in names(directory, directory == self.root)? {
            let path = directory.join(&name);
            let relative = if relative.is_empty() { name } else { format!("{relative}/{name}") };
            self.entry(&path, relative, all)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, relative: String, all: bool) -> Result<(), String> {
        if self.found.len() >= self.limit {
            return Err(format!("{} has more than {} files", self.root.display(), self.limit));
        }
        let inclusion = if all { Inclusion::All } else { self.selection.inclusion(&relative) };
        if inclusion == Inclusion::Nothing {
            return Ok(());
        }
        let ignored = self.ignores.ignores(path);
        let metadata = match fs::symlink_metadata(path) {
            // Deleted since the directory was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => metadata.map_err(|error| unreadable(path, &error))?,
        };
        if !metadata.is_dir() {
            // Expected to be the parent of a selected path, but not a directory.
            if !ignored
                && inclusion == Inclusion::All
                && let Some(stat) = describe(path, &relative, &metadata)?
            {
                self.found.append(&mut self.pending);
                self.found.push(stat);
            }
            return Ok(());
        }
        let Some(stat) = describe(path, &relative, &metadata)? else { return Ok(()) };
        let pending = self.pending.len();
        if ignored || inclusion == Inclusion::ParentOnly {
            self.pending.push(stat);
        } else {
            self.found.append(&mut self.pending);
            self.found.push(stat);
        }
        if !self.ignores.ignores_all_below(path) {
            self.directory(path, &relative, inclusion == Inclusion::All)?;
        }
        self.pending.truncate(pending);
        Ok(())
    }
}

/// Returns none for sockets and devices, which images do not contain.
fn describe(path: &Path, relative: &str, metadata: &Metadata) -> Result<Option<Stat>, String> {
    let kind = metadata.file_type();
    let mut stat = Stat {
        path: relative.to_owned(),
        mode: go_permissions(metadata.mode()),
        // As with `docker build`, everything in the image belongs to root.
        uid: 0,
        gid: 0,
        mod_time: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
        ..Stat::default()
    };
    if kind.is_dir() {
        stat.mode |= GO_DIRECTORY;
    } else if kind.is_symlink() {
        let target = fs::read_link(path).map_err(|error| unreadable(path, &error))?;
        stat.linkname = target.into_os_string().into_string().map_err(|target| {
            format!(
                "the target {target:?} of the link {} is not UTF-8, which BuildKit cannot take",
                path.display()
            )
        })?;
        stat.mode |= GO_SYMLINK;
        stat.size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
    } else if kind.is_file() {
        stat.size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
    } else if kind.is_fifo() {
        stat.mode |= GO_NAMED_PIPE;
    } else {
        return Ok(None);
    }
    Ok(Some(stat))
}

fn go_permissions(mode: u32) -> u32 {
    let mut go = mode & 0o777;
    for (unix, bit) in [(0o4000, GO_SETUID), (0o2000, GO_SETGID), (0o1000, GO_STICKY)] {
        if mode & unix != 0 {
            go |= bit;
        }
    }
    go
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    lilt_model::os_error::plain(&format!("cannot read {} for the build: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn paths(root: &Path, selection: &Selection) -> Vec<String> {
        let stats = walk(root, &Matcher::new(&[]).unwrap(), selection).unwrap();
        stats.into_iter().map(|stat| stat.path).collect()
    }

    fn touch(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
    }

    #[test]
    fn order_is_depth_first_by_bytes() {
        let root = tempfile::tempdir().unwrap();
        touch(root.path(), &["a/z", "a-b", "a.txt", "B", "a/b/c", "é"]);
        let all = Selection::all();
        assert_eq!(paths(root.path(), &all), ["B", "a", "a/b", "a/b/c", "a/z", "a-b", "a.txt", "é"]);
    }

    #[test]
    fn only_selected_paths_and_their_parents_are_listed() {
        let root = tempfile::tempdir().unwrap();
        touch(root.path(), &["src/a", "src/deep/b", "other/c", "lib/x/y", "lib/z", "top"]);
        let selection =
            Selection::follow(root.path(), &["src".to_owned(), "/lib/x".to_owned(), "gone/x".to_owned()]);
        assert_eq!(
            paths(root.path(), &selection),
            ["lib", "lib/x", "lib/x/y", "src", "src/a", "src/deep", "src/deep/b"]
        );
    }

    #[test]
    fn kinds_and_modes_are_those_of_go() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("empty")).unwrap();
        fs::write(root.path().join("run.sh"), "#!/bin/sh").unwrap();
        fs::set_permissions(root.path().join("run.sh"), fs::Permissions::from_mode(0o4755)).unwrap();
        symlink("../nowhere", root.path().join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
        let stats = walk(root.path(), &Matcher::new(&[]).unwrap(), &Selection::all()).unwrap();
        let by_name: Vec<_> = stats.iter().map(|stat| (stat.path.as_str(), stat.mode & !0o777)).collect();
        assert_eq!(by_name, [("empty", GO_DIRECTORY), ("link", GO_SYMLINK), ("run.sh", GO_SETUID)]);
        assert_eq!(stats[1].linkname, "../nowhere");
        assert_eq!(stats[2].mode & 0o777, 0o755);
        assert_eq!(stats[2].size, 9);
        assert!(has_content(&stats[2]) && !has_content(&stats[0]) && !has_content(&stats[1]));
    }

    #[test]
    fn missing_root_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let gone = root.path().join("gone");
        assert!(walk(&gone, &Matcher::new(&[]).unwrap(), &Selection::all()).is_err());
    }
}
