//! A region: one root with its ignore rules. Subscriptions that name the same one share it.

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

/// How many links of one path are followed; the system follows as many.
const MOST_LINKS: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RegionId(pub(super) u64);

#[derive(Debug)]
pub(super) struct Region {
    pub(super) root: PathBuf,
    pub(super) ignores: Vec<IgnoreRule>,
    pub(super) matcher: Arc<Matcher>,
    pub(super) subscribers: Vec<SubscriptionId>,
    /// Whether only the root itself counts, not what is below it.
    pub(super) is_entry: bool,
    /// The directories it holds in the table: those of its tree, and those that report changes of the root itself.
    pub(super) held: HashSet<NodeId>,
    /// What was at the root when it was last resolved.
    pub(super) found: Found,
    /// Some of it is looked at again and again.
    pub(super) looked_at: bool,
    /// Directories still to be walked. The last comes first: so few wait at a time, where a walk by levels would keep
    /// the paths of nearly all directories at once.
    pub(super) walks: Vec<Job>,
    /// Directories still to be walked or looked at for the first time; zero: it is ready.
    pub(super) jobs: usize,
    /// Why it does not see everything. It then places no further watches.
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
            found: Found { resolved: root.clone(), ..Found::default() },
            root,
            is_entry,
            ignores,
            matcher,
            subscribers: Vec::new(),
            held: HashSet::new(),
            looked_at: false,
            walks: Vec::new(),
            jobs: 0,
            failure: None,
        }
    }

    /// Whether the root may be another one when the entry at `path` is replaced, moved or deleted.
    pub(super) fn depends_on(&self, path: &Path) -> bool {
        let Found { resolved, links, .. } = &self.found;
        [&self.root, resolved].into_iter().chain(links).any(|part| part.starts_with(path))
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        let is_within = if self.is_entry { path == self.root } else { path.starts_with(&self.root) };
        is_within && !self.matcher.ignores(path)
    }
}

/// What to tell of the files that a walk finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// They were there before the subscription.
    Nothing,
    /// They are new with their directory.
    Everything,
    /// Events were lost: those that were touched since.
    ChangedSince(SystemTime),
}

impl Report {
    pub(super) fn wants(self, path: &Path) -> bool {
        match self {
            Report::Nothing => false,
            Report::Everything => true,
            Report::ChangedSince(time) => changed_since(path, time),
        }
    }
}

/// By the time of the last change of the inode, which no program can set back. Unsure counts as changed.
fn changed_since(path: &Path, time: SystemTime) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(metadata), Ok(time)) = (fs::symlink_metadata(path), time.duration_since(SystemTime::UNIX_EPOCH))
    else {
        return true;
    };
    metadata.ctime() >= i64::try_from(time.as_secs()).unwrap_or(0)
}

/// What is at a root, and how its path leads there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// None: nothing is there.
    pub(super) kind: Option<Kind>,
    /// The root without links. Of a missing root, as far as the links lead.
    pub(super) resolved: PathBuf,
    /// The links that were followed, each without links in the path of its directory.
    pub(super) links: Vec<PathBuf>,
    /// The nearest directory above `resolved`, if the root is missing.
    pub(super) ancestor: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory { device: u64, inode: u64 },
}

impl Kind {
    pub(super) fn of(path: &Path) -> Option<Kind> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = fs::metadata(path).ok()?;
        Some(match metadata.is_dir() {
            true => Kind::Directory { device: metadata.dev(), inode: metadata.ino() },
            false => Kind::File,
        })
    }
}

impl Found {
    /// Follows links as the system does, and notes those on the way: when one is retargeted, something else is at `root`.
    pub(super) fn at(root: &Path) -> Found {
        let mut links = Vec::new();
        let mut resolved = PathBuf::new();
        let mut ahead: Vec<OsString> = names(root);
        while let Some(name) = ahead.pop() {
            if name == ".." {
                resolved.pop();
                continue;
            }
            let path = resolved.join(&name);
            match fs::read_link(&path) {
                Ok(target) if links.len() < MOST_LINKS => {
                    links.push(path);
                    // A target that is absolute begins with `/`, which replaces what is resolved so far.
                    ahead.extend(names(&target));
                }
                _ => resolved = path,
            }
        }
        let kind = Kind::of(root);
        let ancestor = match kind {
            None => resolved.ancestors().skip(1).find(|above| above.is_dir()).map(Path::to_path_buf),
            Some(_) => None,
        };
        Found { kind, resolved, links, ancestor }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.kind, Some(Kind::Directory { .. }))
    }

    /// Whether what was there before is gone. A file that replaced a file counts as changed, not as gone.
    pub(super) fn replaces(&self, before: &Found) -> bool {
        before.kind.is_some() && before.kind != self.kind
    }
}

/// The parts of a path, the last one first, without `.`.
fn names(path: &Path) -> Vec<OsString> {
    let is_part = |component: &Component<'_>| *component != Component::CurDir;
    path.components().rev().filter(is_part).map(|component| component.as_os_str().to_owned()).collect()
}

/// The directory that has this path as an entry; the root of the file system has none and is its own.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// The directory is no longer there: another event tells of that.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What `inotify_add_watch` says when the user's watches are used up.
pub(super) fn is_limit(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StorageFull
}

pub(super) fn watch_failure(path: &Path, cause: io::Error) -> Failure {
    Error::NotWatched { what: path.display().to_string(), cause }.into()
}

/// Why a place is looked at again and again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// It lies on this.
    Mount(String),
    /// The system gives no more watches.
    Limit,
    /// The system gives no inotify instance.
    NoInstance,
}

impl Reason {
    pub(super) fn notice(&self, path: &Path, watches: usize) -> Failure {
        let path = path.display();
        match self {
            Reason::Mount(kind) => {
                Failure::environment(format!("{path} lies on {kind}: lilt looks for changes twice a second"))
                    .hint("LILT_WATCH=events trusts the file system")
            }
            Reason::Limit => Failure::environment(format!(
                "the system's limit of watched directories is reached ({watches} watched by lilt): it looks for changes \
                 in {path} and others twice a second"
            ))
            .hint(
                "raise it with `sudo sysctl fs.inotify.max_user_watches=524288`, or name directories that need no \
                 watching in .tiltignore",
            ),
            Reason::NoInstance => Failure::environment(
                "the system's limit of programs that watch files is reached: lilt looks for changes twice a second",
            )
            .hint("raise it with `sudo sysctl fs.inotify.max_user_instances=512`"),
        }
    }
}
