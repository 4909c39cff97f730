//! A region: one watched root with its ignore rules. Subscriptions with the same root and rules share it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use lilt_model::Failure;
use lilt_model::files::IgnoreRule;
use lilt_model::ignore::Matcher;

use super::SubscriptionId;
use super::service::Job;
use super::table::NodeId;
use crate::error::Error;

/// How many links of one path are followed; the same number as in the kernel.
const MAX_LINKS: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RegionId(pub(super) u64);

#[derive(Debug)]
pub(super) struct Region {
    pub(super) root: PathBuf,
    pub(super) ignores: Vec<IgnoreRule>,
    pub(super) matcher: Arc<Matcher>,
    pub(super) subscribers: Vec<SubscriptionId>,
    /// Whether only the root itself is watched, not what is below it.
    pub(super) is_entry: bool,
    /// The watched directories it holds in the table: those of its tree, and those that report changes of the root
    /// itself.
    pub(super) held: HashSet<NodeId>,
    /// The result of the last resolution of the root.
    pub(super) resolved_root: ResolvedRoot,
    /// Whether some of it is polled.
    pub(super) is_polled: bool,
    /// The stack of directories still to be walked. Walking depth first keeps it short, where a walk by levels would
    /// hold the paths of nearly all directories at once.
    pub(super) pending_walks: Vec<Job>,
    /// How many directories are still to be walked or polled for the first time; at zero, the region is ready.
    pub(super) pending_jobs: usize,
    /// Why it misses changes. It then adds no further watches.
    pub(super) failure: Option<Failure>,
}

impl Region {
    pub(super) fn new(
        root: PathBuf,
        is_entry: bool,
        ignores: Vec<IgnoreRule>,
        matcher: Arc<Matcher>,
    ) -> Self {
        Self {
            resolved_root: ResolvedRoot { resolved: root.clone(), ..ResolvedRoot::default() },
            root,
            is_entry,
            ignores,
            matcher,
            subscribers: Vec::new(),
            held: HashSet::new(),
            is_polled: false,
            pending_walks: Vec::new(),
            pending_jobs: 0,
            failure: None,
        }
    }

    /// Returns whether the root may change when the entry at `path` is replaced, moved or deleted.
    pub(super) fn depends_on(&self, path: &Path) -> bool {
        let ResolvedRoot { resolved, links, .. } = &self.resolved_root;
        [&self.root, resolved].into_iter().chain(links).any(|part| part.starts_with(path))
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        let is_within = if self.is_entry { path == self.root } else { path.starts_with(&self.root) };
        is_within && !self.matcher.ignores(path)
    }
}

/// Which of the files that a walk finds are reported as changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// None: they existed before the subscription.
    Nothing,
    /// All: they are new with their directory.
    Everything,
    /// Those changed since this time, because events were lost.
    ChangedSince(SystemTime),
}

impl Report {
    pub(super) fn includes(self, path: &Path) -> bool {
        match self {
            Report::Nothing => false,
            Report::Everything => true,
            Report::ChangedSince(time) => changed_since(path, time),
        }
    }
}

/// Compares the change time of the inode, which no program can set back. An unknown time counts as changed.
fn changed_since(path: &Path, time: SystemTime) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(metadata), Ok(time)) = (fs::symlink_metadata(path), time.duration_since(SystemTime::UNIX_EPOCH))
    else {
        return true;
    };
    metadata.ctime() >= i64::try_from(time.as_secs()).unwrap_or(0)
}

/// What is at a root, and the links on the path to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResolvedRoot {
    /// `None` if nothing is there.
    pub(super) kind: Option<EntryKind>,
    /// The root with all links resolved. For a missing root, as far as possible.
    pub(super) resolved: PathBuf,
    /// The links that were followed, each with a resolved parent directory.
    pub(super) links: Vec<PathBuf>,
    /// The nearest directory above `resolved`, if the root is missing.
    pub(super) ancestor: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Directory { device: u64, inode: u64 },
}

impl EntryKind {
    pub(super) fn of(path: &Path) -> Option<EntryKind> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = fs::metadata(path).ok()?;
        Some(match metadata.is_dir() {
            true => EntryKind::Directory { device: metadata.dev(), inode: metadata.ino() },
            false => EntryKind::File,
        })
    }
}

impl ResolvedRoot {
    /// Follows links as the kernel does and records them: when one is retargeted, `root` leads elsewhere.
    pub(super) fn at(root: &Path) -> ResolvedRoot {
        let mut links = Vec::new();
        let mut resolved = PathBuf::new();
        let mut remaining: Vec<OsString> = components_reversed(root);
        while let Some(name) = remaining.pop() {
            if name == ".." {
                resolved.pop();
                continue;
            }
            let path = resolved.join(&name);
            match fs::read_link(&path) {
                Ok(target) if links.len() < MAX_LINKS => {
                    links.push(path);
                    // An absolute target begins with `/`, which replaces the path resolved so far.
                    remaining.extend(components_reversed(&target));
                }
                _ => resolved = path,
            }
        }
        let kind = EntryKind::of(root);
        let ancestor = match kind {
            None => resolved.ancestors().skip(1).find(|above| above.is_dir()).map(Path::to_path_buf),
            Some(_) => None,
        };
        ResolvedRoot { kind, resolved, links, ancestor }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.kind, Some(EntryKind::Directory { .. }))
    }

    /// Returns whether the former entry is gone. A file that replaced a file counts as changed, not as replaced.
    pub(super) fn replaces(&self, before: &ResolvedRoot) -> bool {
        before.kind.is_some() && before.kind != self.kind
    }
}

/// Returns the components of a path without `.`, the last one first.
fn components_reversed(path: &Path) -> Vec<OsString> {
    let is_part = |component: &Component<'_>| *component != Component::CurDir;
    path.components().rev().filter(is_part).map(|component| component.as_os_str().to_owned()).collect()
}

/// Returns the parent directory; for `/`, that is `/` itself.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Returns whether the directory no longer exists, which another event reports.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns whether `inotify_add_watch` failed because the user's watches are used up.
pub(super) fn is_limit(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StorageFull
}

pub(super) fn watch_failure(path: &Path, cause: io::Error) -> Failure {
    Error::NotWatched { what: path.display().to_string(), cause }.into()
}

/// Why a path is polled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum PollReason {
    /// It is on a file system of this kind, which does not report all changes.
    Mount(String),
    /// The limit of inotify watches is reached.
    Limit,
    /// The limit of inotify instances is reached.
    NoInstance,
}

impl PollReason {
    pub(super) fn notice(&self, path: &Path, watches: usize) -> Failure {
        let path = path.display();
        match self {
            PollReason::Mount(kind) => {
                Failure::environment(format!("{path} lies on {kind}: lilt looks for changes twice a second"))
                    .hint("--watch-mode=events trusts the file system")
            }
            PollReason::Limit => Failure::environment(format!(
                "the system's limit of watched directories is reached ({watches} watched by lilt): it looks for changes \
                 in {path} and others twice a second"
            ))
            .hint(
                "raise it with `sudo sysctl fs.inotify.max_user_watches=524288`, or name directories that need no \
                 watching in .tiltignore",
            ),
            PollReason::NoInstance => Failure::environment(
                "the system's limit of programs that watch files is reached: lilt looks for changes twice a second",
            )
            .hint("raise it with `sudo sysctl fs.inotify.max_user_instances=512`"),
        }
    }
}
