//! Reads changed files of this machine, and maps them to paths in the container.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use lilt_cluster::{Changes, Content, Put};
use lilt_host::files::{self, FileEntry, read_entry_below};
use lilt_model::Failure;
use lilt_model::files::{ChangedPath, FileSet};
use lilt_model::ignore::Matcher;
use lilt_model::image::{LiveUpdate, Sync};
use lilt_model::log::Level;
use lilt_store::Span;

use super::file_reader::{Root, Roots};

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot read {}: {error}", path.display())).caused_by(error)
}

/// Returns all synced files, and the changed paths, of which some may be gone.
pub(super) fn all_files(
    update: &LiveUpdate,
    files: &FileSet,
    changed: &[PathBuf],
) -> Result<Vec<PathBuf>, Failure> {
    let matcher = Matcher::new(&files.ignores).map_err(|error| Failure::user(error.to_string()))?;
    let mut found: BTreeSet<PathBuf> = changed.iter().cloned().collect();
    for Sync { local, .. } in &update.syncs {
        let unreadable = |error| unreadable(local, &error);
        let folder = |path: &Path| !matcher.ignores_all_below(path);
        found.extend(files::walk(local, folder).map_err(unreadable)?);
    }
    found.retain(|path| !matcher.ignores(path));
    Ok(found.into_iter().collect())
}

/// Up to this many files are listed for each container.
const FEW: usize = 20;

/// The changes of a container, and the files that lead to them.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) changes: Changes,
    copied: Vec<PathBuf>,
    removed: Vec<(PathBuf, String)>,
    /// Files whose names cannot be used in a container.
    unnamable: Vec<PathBuf>,
    /// What the syncs' own paths are, as far as they were read.
    roots: Roots,
}

#[derive(Default)]
struct Gathered {
    removals: Vec<String>,
    puts: Vec<Put>,
    copied: Vec<PathBuf>,
    removed: Vec<(PathBuf, String)>,
    unnamable: Vec<PathBuf>,
    roots: Roots,
}

impl Changed {
    /// Reads the changed paths.
    ///
    /// `reported`: those of them that the file watch reported. `known`: what the paths of syncs were at the container's last
    /// update.
    pub(super) fn read(
        live_update: &LiveUpdate,
        paths: &[PathBuf],
        reported: &[PathBuf],
        known: &Roots,
    ) -> Result<Self, Failure> {
        let mut gathered = Gathered::default();
        let had_content = |root: &Path| paths.iter().any(|it| it != root && it.starts_with(root));
        let replaced: HashSet<&Path> =
            reported.iter().map(PathBuf::as_path).filter(|path| !ChangedPath::takes_no_place(path)).collect();
        for path in paths {
            // A path may be reported in both spellings.
            if ChangedPath::takes_no_place(path) && replaced.contains(&**path) {
                continue;
            }
            let is_replaced = || replaced.contains(&**path);
            let path = path.components().as_path();
            match destination(live_update, path) {
                Some((sync, Some(target))) => {
                    let before = known.get(&sync.local).copied();
                    gathered.add(sync, path, target, is_replaced, before, had_content)?;
                }
                Some((_, None)) => gathered.unnamable.push(path.to_owned()),
                None => {}
            }
        }
        let Gathered { removals, puts, copied, removed, unnamable, roots } = gathered;
        Ok(Self { changes: Changes::new(removals, puts), copied, removed, unnamable, roots })
    }

    /// What the syncs' own paths are, as far as they were read.
    pub(super) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Prints the changes. Many files are listed only if `lists` is set: once for several containers.
    ///
    /// Prints all lines at once: there may be thousands, and readers would be woken for each.
    pub(super) fn print(&self, name: &str, lists: bool, span: &mut Span) {
        let mut lines = Vec::new();
        if !self.copied.is_empty() {
            lines.push(format!("Will copy {} file(s) to container: [{name}]", self.copied.len()));
            let copied = self.copied.iter().zip(self.changes.puts());
            let copied = copied.filter(|_| lists || self.copied.len() <= FEW);
            lines.extend(copied.map(|(path, put)| format!("- '{}' --> '{}'", path.display(), put.path)));
        }
        if !self.removed.is_empty() {
            lines.push(format!("Will delete {} file(s) from container: [{name}]", self.removed.len()));
            let line = |(path, destination): &(PathBuf, String)| {
                format!("- '{destination}' (matched local path: '{}')", path.display())
            };
            lines.extend(self.removed.iter().map(line));
        }
        if !lines.is_empty() {
            span.info(&lines.join("\n"));
        }
        for path in &self.unnamable {
            let message = "is not copied: its name, or what it leads to, is no UTF-8, and a build brings it";
            span.print(Level::Warn, &format!("WARNING: '{}' {message}", path.display()));
        }
    }
}

impl Gathered {
    /// Adds the change of one path.
    ///
    /// `before`: what the path of the sync was at the container's last update. `had_content`: whether something below a path
    /// changed, too.
    fn add(
        &mut self,
        sync: &Sync,
        path: &Path,
        mut destination: String,
        is_replaced: impl Fn() -> bool,
        before: Option<Root>,
        had_content: impl Fn(&Path) -> bool,
    ) -> Result<(), Failure> {
        let is_root = path == sync.local;
        let found = read_entry_below(&sync.local, path).map_err(|error| unreadable(path, &error))?;
        let (modified, what) = match found {
            FileEntry::Missing => {
                if is_root {
                    let before = before.or_else(|| had_content(path).then_some(Root::Directory));
                    destination = removal_path(sync, destination, before)?;
                } else if before == Some(Root::File) {
                    // It was created and deleted before it was copied: a file of this name in the container is not the sync's.
                    return Ok(());
                }
                self.removed.push((path.to_owned(), destination.clone()));
                self.removals.push(destination);
                return Ok(());
            }
            FileEntry::File { mode, modified, content } => {
                if is_root {
                    if before.is_some_and(|before| before != Root::File) && is_replaced() {
                        self.removals.push(removal_path(sync, destination.clone(), before)?);
                    }
                    self.roots.insert(path.to_owned(), Root::File);
                }
                (modified, Content::File { mode, bytes: content.into() })
            }
            // It may have replaced something else, such as another directory with other files. Its content is reported,
            // too.
            FileEntry::Directory { mode, modified } => {
                let as_file = destination.clone();
                if is_root {
                    destination = sync.container.trim_end_matches('/').to_owned();
                    let among_others = !matches!(before, None | Some(Root::Directory));
                    let root = if among_others { Root::DirectoryAmongOthers } else { Root::Directory };
                    self.roots.insert(path.to_owned(), root);
                }
                let root_directory = destination.is_empty();
                if is_replaced() {
                    match before {
                        _ if !is_root => self.removals.push(as_file),
                        Some(Root::File) => self.removals.push(as_file),
                        // The container's root directory is never removed.
                        _ if root_directory => {}
                        None if sync.container.ends_with('/') => {}
                        _ => self.removals.push(removal_path(sync, as_file, before)?),
                    }
                }
                if root_directory {
                    return Ok(());
                }
                (modified, Content::Directory { mode })
            }
            FileEntry::Link { target, modified } => match target.into_os_string().into_string() {
                Ok(target) => (modified, Content::Link { target }),
                Err(_) => {
                    self.unnamable.push(path.to_owned());
                    return Ok(());
                }
            },
            FileEntry::Other => return Ok(()),
        };
        self.copied.push(path.to_owned());
        self.puts.push(Put { path: destination, modified, content: what });
        Ok(())
    }
}

/// Returns what to remove for a path of a sync that is gone.
///
/// With a trailing slash, the target is the directory itself, or the one that contains a single file: together with other
/// files, which were not removed.
fn removal_path(sync: &Sync, as_file: String, before: Option<Root>) -> Result<String, Failure> {
    let directory = sync.container.trim_end_matches('/');
    let local = sync.local.display();
    match before {
        _ if !sync.container.ends_with('/') => Ok(as_file),
        Some(Root::File) => Ok(as_file),
        Some(Root::Directory) if !directory.is_empty() => Ok(directory.to_owned()),
        Some(Root::Directory) => Err(Failure::user(format!(
            "{local} is gone, and what of the container's root directory was synced from it is not known"
        ))),
        Some(Root::DirectoryAmongOthers) => Err(Failure::user(format!(
            "{local} was a file, then a directory: what of {} was synced from it is not known",
            sync.container
        ))),
        None => Err(Failure::user(format!(
            "{local} is gone, and whether {} or a file in it is to go with it is not known",
            sync.container
        ))),
    }
}

/// Returns the first sync that contains a path, as in Tilt, and the path in the container if it is valid UTF-8.
fn destination<'a>(live_update: &'a LiveUpdate, path: &Path) -> Option<(&'a Sync, Option<String>)> {
    let sync = live_update.syncs.iter().find(|sync| path.starts_with(&sync.local))?;
    let rest = path.strip_prefix(&sync.local).ok()?;
    let base = sync.container.trim_end_matches('/');
    let target = if rest.as_os_str().is_empty() {
        // A single file is copied into the target if that has a trailing slash.
        match (sync.container.ends_with('/'), path.file_name()) {
            (true, Some(name)) => name.to_str().map(|name| format!("{base}/{name}")),
            _ => Some(sync.container.clone()),
        }
    } else {
        rest.to_str().map(|rest| format!("{base}/{rest}"))
    };
    Some((sync, target))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    fn to(syncs: &[(&str, &str)], path: &str) -> Option<String> {
        let syncs = syncs
            .iter()
            .map(|(local, container)| Sync { local: local.into(), container: (*container).into() });
        let live_update = LiveUpdate { syncs: syncs.collect(), ..LiveUpdate::default() };
        destination(&live_update, Path::new(path)).and_then(|(_, target)| target)
    }

    fn read(live_update: &LiveUpdate, paths: &[PathBuf], reported: &[PathBuf]) -> Result<Changed, Failure> {
        Changed::read(live_update, paths, reported, &Roots::new())
    }

    #[test]
    fn only_a_replaced_directory_is_emptied_in_the_container() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = tempfile::tempdir_in(folder.path()).expect("a folder");
        let local = inner.path().to_owned();
        let target = format!("/app/{}", local.file_name().expect("a name").display());
        let syncs =
            |container: &str| vec![Sync { local: folder.path().to_owned(), container: container.to_owned() }];
        let removals = |reported: PathBuf, container: &str| -> Result<Vec<String>, Failure> {
            let live_update = LiveUpdate { syncs: syncs(container), ..LiveUpdate::default() };
            let changed =
                read(&live_update, std::slice::from_ref(&reported), std::slice::from_ref(&reported))?;
            assert!(changed.changes.puts().iter().all(|put| put.path == target));
            Ok(changed.changes.removals().to_vec())
        };
        assert!(removals(local.join(""), "/app").expect("it is read").is_empty(), "it is new");
        assert_eq!(removals(local.clone(), "/app").expect("it is read"), [target.as_str()]);
        assert!(removals(folder.path().to_owned(), "/").expect("it is read").is_empty());
    }

    /// Such a file is not copied under another name.
    #[test]
    fn file_without_a_utf8_name_is_not_copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = |bytes: &[u8]| folder.path().join(std::ffi::OsStr::from_bytes(bytes));
        let (strange, link, plain) = (name(b"strange-\xff"), name(b"link"), name(b"plain"));
        files::save(&strange, b"").expect("a file");
        files::save(&plain, b"").expect("a file");
        std::os::unix::fs::symlink(&strange, &link).expect("a link");
        let syncs = vec![Sync { local: folder.path().to_owned(), container: "/app".to_owned() }];
        let live_update = LiveUpdate { syncs, ..LiveUpdate::default() };
        let changed = read(&live_update, &[link.clone(), plain, strange.clone()], &[]).expect("it is read");
        assert_eq!(changed.unnamable, [link, strange]);
        assert_eq!(
            changed.changes.puts().iter().map(|put| put.path.as_str()).collect::<Vec<_>>(),
            ["/app/plain"]
        );
    }

    /// A removed file leaves its siblings alone; a removed directory is removed with its content.
    #[test]
    fn removed_sync_path_is_removed_as_what_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let local = folder.path().join("dist");
        let removals = |container: &str, known: Option<Root>, paths: &[PathBuf]| {
            let syncs = vec![Sync { local: local.clone(), container: container.to_owned() }];
            let live_update = LiveUpdate { syncs, ..LiveUpdate::default() };
            let known = known.map(|known| (local.clone(), known)).into_iter().collect();
            let changed = Changed::read(&live_update, paths, paths, &known);
            changed.map(|it| it.changes.removals().to_vec()).map_err(|failure| failure.message)
        };
        let gone = std::slice::from_ref(&local);
        assert_eq!(removals("/www/", Some(Root::Directory), gone), Ok(vec!["/www".to_owned()]));
        assert_eq!(removals("/www/", Some(Root::File), gone), Ok(vec!["/www/dist".to_owned()]));
        for known in [None, Some(Root::Directory), Some(Root::File), Some(Root::DirectoryAmongOthers)] {
            assert_eq!(removals("/www", known, gone), Ok(vec!["/www".to_owned()]));
        }
        // The removed directory together with its content.
        let more = [local.clone(), local.join("file")];
        let both = vec!["/www".to_owned(), "/www/file".to_owned()];
        assert_eq!(removals("/www/", None, &more), Ok(both));
        assert_eq!(removals("/www/", Some(Root::File), &more), Ok(vec!["/www/dist".to_owned()]));
        // Unknown: the failure leads to a build.
        assert!(
            removals("/www/", None, gone).is_err_and(|message| message.contains("/www/ or a file in it"))
        );
        let among_others = removals("/www/", Some(Root::DirectoryAmongOthers), gone);
        assert!(among_others.is_err_and(|message| message.contains("was a file")));
        let root = removals("/", Some(Root::Directory), gone);
        assert!(root.is_err_and(|message| message.contains("root directory")));
        assert_eq!(removals("/", Some(Root::File), gone), Ok(vec!["/dist".to_owned()]));
    }

    /// Returns the removed and written paths for a path that is synced to `/etc/`, and what it is now.
    fn replace(local: &Path, before: Option<Root>, paths: &[PathBuf]) -> (Vec<String>, Vec<String>, Root) {
        let syncs = vec![Sync { local: local.to_owned(), container: "/etc/".to_owned() }];
        let live_update = LiveUpdate { syncs, ..LiveUpdate::default() };
        let known = before.map(|known| (local.to_owned(), known)).into_iter().collect();
        let changed = Changed::read(&live_update, paths, paths, &known).expect("it is read");
        let puts = changed.changes.puts().iter().map(|put| put.path.clone()).collect();
        (changed.changes.removals().to_vec(), puts, changed.roots()[local])
    }

    #[test]
    fn synced_file_that_becomes_a_directory_keeps_its_siblings() {
        let folder = tempfile::tempdir().expect("a folder");
        let local = folder.path().join("two.txt");
        files::save(&local.join("new"), b"").expect("a file");
        let paths = [local.clone(), local.join("new"), local.join("passwd")];
        let strings = |paths: &[&str]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        let puts = strings(&["/etc", "/etc/new"]);
        for (before, removals, root) in [
            (Some(Root::File), vec!["/etc/two.txt"], Root::DirectoryAmongOthers),
            (None, vec!["/etc/passwd"], Root::Directory),
            (Some(Root::Directory), vec!["/etc", "/etc/passwd"], Root::Directory),
        ] {
            assert_eq!(replace(&local, before, &paths), (strings(&removals), puts.clone(), root));
        }
    }

    #[test]
    fn synced_directory_that_becomes_a_file_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let local = folder.path().join("www");
        files::save(&local, b"").expect("a file");
        let put = vec!["/etc/www".to_owned()];
        let paths = std::slice::from_ref(&local);
        let expected = (vec!["/etc".to_owned()], put.clone(), Root::File);
        assert_eq!(replace(&local, Some(Root::Directory), paths), expected);
        for before in [None, Some(Root::File)] {
            assert_eq!(replace(&local, before, paths), (vec![], put.clone(), Root::File));
        }
    }

    #[test]
    fn file_is_copied_by_the_first_sync_that_contains_it() {
        let syncs = [
            ("/p/www", "/srv/www/"),
            ("/p/one.txt", "/etc/one.txt"),
            ("/p/two.txt", "/etc/"),
            ("/p", "/app"),
            ("/p/a", "/never"),
            ("/p", "/never"),
        ];
        assert_eq!(to(&syncs, "/p/a/b.py").as_deref(), Some("/app/a/b.py"));
        assert_eq!(to(&syncs, "/p/www/index.html").as_deref(), Some("/srv/www/index.html"));
        assert_eq!(to(&syncs, "/p/one.txt").as_deref(), Some("/etc/one.txt"));
        assert_eq!(to(&syncs, "/p/two.txt").as_deref(), Some("/etc/two.txt"));
        assert_eq!(to(&syncs, "/q/a"), None);
    }
}
